package history

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
)

// Kind is the kind of a call.
type Kind string

// The kinds of calls about turns.
const (
	Claim   Kind = "claim"   // claimTurn
	Renew   Kind = "renew"   // renewClaim
	Say     Kind = "say"     // an unfinished message, or a trace
	Final   Kind = "final"   // a message that ends the turn
	Release Kind = "release" // releaseClaim for another attempt
	Yield   Kind = "yield"   // releaseClaim that ends the turn
	Cancel  Kind = "cancel"  // cancelTurn, or a turn that the hub ended
)

// The kinds of calls about the log.
const (
	Append Kind = "append" // a message
	Tail   Kind = "tail"   // events after a seq
	Latest Kind = "latest" // the last seq (waitForChange), and also whether the conversation is closed (getConversation)
	own    Kind = "own"    // an event that the hub wrote without a call
)

// Result is the answer to a call.
type Result string

// The results of calls.
const (
	// Unknown is a call without an answer, or with outcome_unknown. It may take effect later.
	Unknown Result = ""
	// Done is success.
	Done Result = "done"
	// Lost is claim_lost: the claim was not the current one.
	Lost Result = "lost"
	// Over is turn_closed: the turn was over.
	Over Result = "over"
	// Closed is conversation_closed: the conversation was closed and did not contain the key.
	Closed Result = "closed"
	// Refused is any other refusal. The call did not take effect.
	Refused Result = "refused"
)

// ResultOf returns the result of a call about turns that returned err. It returns otherwise for an
// error that does not imply a result.
func ResultOf(err error, otherwise Result) Result {
	switch {
	case err == nil:
		return Done
	case errors.Is(err, parley.ErrOutcomeUnknown):
		return Unknown
	case errors.Is(err, parley.ErrClaimLost):
		return Lost
	case errors.Is(err, parley.ErrTurnClosed):
		return Over
	}
	return otherwise
}

// Entry is an event of a log: its author and the author's key. The hub's events have no key.
type Entry struct {
	From string `json:"from"`
	Key  string `json:"key,omitempty"`
}

// Op is one call. A client that repeats a call by itself under the same key makes one Op.
type Op struct {
	Conversation string `json:"conversation"`
	// Client is the caller, and for an Append the author of the event.
	Client string `json:"client"`
	Kind   Kind   `json:"kind"`
	// Key identifies repetitions. Ops of a conversation with the same key are one event (CheckLogs:
	// with the same client and key). Every Append has one. The key of a Claim is its claim.
	Key string `json:"key,omitempty"`
	// Begin and End are on one clock for all callers. The End of an Unknown is ignored.
	Begin  int64  `json:"begin"`
	End    int64  `json:"end,omitempty"`
	Result Result `json:"result,omitempty"`
	// Seq is the seq in the answer: the one of the new event, or for a Tail or Latest the last one of
	// the log. 0 means that the answer had no seq.
	Seq int64 `json:"seq,omitempty"`
	// Closes is true for an Append or Final that closes the conversation.
	Closes bool `json:"closes,omitempty"`

	// Turn is the turn in the call, or, after a success, the turn in the answer.
	Turn int64 `json:"turn,omitempty"`
	// Claim is the claimId in the call, or the one that a Say received. It is empty for a caller
	// without a claim.
	Claim string `json:"claim,omitempty"`
	// Takes is true for a Say that took Claim by itself.
	Takes bool `json:"takes,omitempty"`

	// Since is the seq after which a Tail reads, and Seen all events that it returned.
	Since int64   `json:"since,omitempty"`
	Seen  []Entry `json:"seen,omitempty"`
	// Over reports whether a Latest found the conversation closed; nil if the answer did not contain it.
	Over *bool `json:"over,omitempty"`

	again bool // it repeats an Append that succeeded before
}

// String writes the call in one line.
func (o *Op) String() string {
	s := fmt.Sprintf("%s: %s", o.Client, o.Kind)
	switch o.Kind {
	case Append:
		s += fmt.Sprintf(" of %q", o.Key)
	case Tail:
		s += fmt.Sprintf(" since %d of %d events", o.Since, len(o.Seen))
	case Latest, own:
	default:
		s += fmt.Sprintf(" of turn %d", o.Turn)
	}
	if o.Claim != "" {
		s += " under " + o.Claim
	}
	result := string(o.Result)
	if o.Result == Unknown {
		result = "unknown"
	}
	s += fmt.Sprintf(" in %d..%d: %s", o.Begin, o.End, result)
	if o.Seq > 0 {
		s += fmt.Sprintf(", seq %d", o.Seq)
	}
	if o.Over != nil && *o.Over || o.Closes {
		s += ", closed"
	}
	return s
}

// ends reports whether the call ends its turn if it succeeds.
func (o *Op) ends() bool { return o.Kind == Final || o.Kind == Yield || o.Kind == Cancel }

// entry is the event of an Append.
func (o *Op) entry() Entry { return Entry{From: o.Client, Key: o.Key} }
