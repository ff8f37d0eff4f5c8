package turnmodel

import "fmt"

// Kind is what was asked for.
type Kind string

// The kinds of Op.
const (
	Claim   Kind = "claim"   // claimTurn
	Renew   Kind = "renew"   // renewClaim
	Say     Kind = "say"     // an unfinished message, or a trace
	Final   Kind = "final"   // a message that ends the turn
	Release Kind = "release" // releaseClaim for another attempt
	Yield   Kind = "yield"   // releaseClaim that ends the turn
	Cancel  Kind = "cancel"  // cancelTurn; or a turn that the hub has ended by itself, which may be told so
)

// Result is what was answered.
type Result string

// The results of Op.
const (
	// Unknown is a call without an answer, or with outcome_unknown: it may have happened, and later than the caller's waiting.
	Unknown Result = ""
	// Done is success.
	Done Result = "done"
	// Lost is claim_lost: the claim did not stand.
	Lost Result = "lost"
	// Over is turn_closed: the turn had ended.
	Over Result = "over"
	// Refused is any other refusal: nothing happened, and nothing more is learned.
	Refused Result = "refused"
)

// Op is one call. Calls that a client has repeated by itself under the same key are one Op.
type Op struct {
	Conversation string `json:"conversation"`
	// Client names who called, for the report.
	Client string `json:"client"`
	Kind   Kind   `json:"kind"`
	// Turn is the turn that the call named, or, of a success, that it was told.
	Turn int64 `json:"turn"`
	// Claim is the claimId that was named; for a Say that was given a claim, that one. Empty for who speaks without.
	Claim string `json:"claim,omitempty"`
	// Takes is true for a Say that took Claim by itself.
	Takes bool `json:"takes,omitempty"`
	// Key tells repetitions: Ops of a conversation with the same one are one event. Empty is none. A Claim's key is its claim.
	Key string `json:"key,omitempty"`
	// Begin and End are on one clock for all callers; the End of an Unknown does not count.
	Begin  int64  `json:"begin"`
	End    int64  `json:"end,omitempty"`
	Result Result `json:"result,omitempty"`
	// Seq is what a success was told; 0 is nothing.
	Seq int64 `json:"seq,omitempty"`
	// Closes is true for a Final that closed the conversation.
	Closes bool `json:"closes,omitempty"`
}

// String writes the call in one line.
func (o Op) String() string {
	result := string(o.Result)
	if o.Result == Unknown {
		result = "unknown"
	}
	s := fmt.Sprintf("%s: %s of turn %d", o.Client, o.Kind, o.Turn)
	if o.Claim != "" {
		s += " under " + o.Claim
	}
	s += ": " + result
	if o.Seq > 0 {
		s += fmt.Sprintf(", seq %d", o.Seq)
	}
	return s
}

// ends reports whether the call ends its turn when it succeeds.
func (o Op) ends() bool { return o.Kind == Final || o.Kind == Yield || o.Kind == Cancel }
