package parley

// GuidanceKind says whether a participant may speak.
type GuidanceKind string

// The values of GuidanceKind.
const (
	MaySpeak GuidanceKind = "may_speak"
	Wait     GuidanceKind = "wait"
	Closed   GuidanceKind = "closed"
)

// Action says what a participant that may speak would do.
type Action string

// The values of Action.
const (
	StartTurn    Action = "start_turn"
	ContinueTurn Action = "continue_turn"
)

// Guidance tells one participant where it stands. It is a function of the log and the participant: the same
// whether pushed, asked for, or computed after a restart; but for Reason, which also tells that nobody runs the agent whose turn it is.
type Guidance struct {
	Kind GuidanceKind `json:"kind"`
	// Action is set with MaySpeak.
	Action Action `json:"action,omitempty"`
	// Turn is the open turn, else the next one; after close, the last one.
	Turn int64 `json:"turn"`
	// Speaker has the floor; empty when anyone may take it, or nobody.
	Speaker string `json:"speaker,omitempty"`
	// Claim is the one that stands for Speaker.
	Claim *ClaimState `json:"claim,omitempty"`
	// DeadlineMs is the Unix time in ms at which a limit closes the conversation if nothing is said before.
	// Information only. Absent when no such limit runs.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// Reason is one sentence: which rule decided. A second one says when nobody runs the agent that has the floor.
	Reason string `json:"reason"`
	// Rules are all rules tried, in order, up to the one that decided; only with explain.
	Rules []RuleTried `json:"rules,omitempty"`
}

// RuleTried is one step of how guidance was found.
type RuleTried struct {
	Rule string `json:"rule"`
	// Decided is true on the last: the rule that applied.
	Decided bool   `json:"decided"`
	Because string `json:"because"`
}
