package parley

// GuidanceKind is whether a participant may speak.
type GuidanceKind string

// The values of GuidanceKind.
const (
	MaySpeak GuidanceKind = "may_speak"
	Wait     GuidanceKind = "wait"
	Closed   GuidanceKind = "closed"
)

// Action is what a participant that may speak would do.
type Action string

// The values of Action.
const (
	StartTurn    Action = "start_turn"
	ContinueTurn Action = "continue_turn"
)

// Guidance is the answer of the hub to one participant: whether it may speak, in which turn, and
// why. It is a function of the log and the participant. It is the same whether it is pushed,
// requested, or computed after a restart. Only Reason also reports that no executor runs the agent
// that has the floor.
type Guidance struct {
	Kind GuidanceKind `json:"kind"`
	// Action is set with MaySpeak.
	Action Action `json:"action,omitempty"`
	// Turn is the open turn, or the next one. After the close, it is the last one.
	Turn int64 `json:"turn"`
	// Speaker is the participant that has the floor. It is empty if anyone may take it, or no one.
	Speaker string `json:"speaker,omitempty"`
	// Claim is the current claim of Speaker.
	Claim *ClaimState `json:"claim,omitempty"`
	// DeadlineMs is when a limit closes the conversation if no event is added before, in Unix
	// milliseconds. It is for information only, and absent if there is no such limit.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// Reason is one sentence with the rule that decided. A second sentence follows if no executor runs
	// the agent that has the floor.
	Reason string `json:"reason"`
	// Rules are the rules in the order in which they were tried, up to the one that decided. They are
	// present with explain only.
	Rules []RuleTried `json:"rules,omitempty"`
}

// RuleTried is a step in the computation of guidance.
type RuleTried struct {
	Rule string `json:"rule"`
	// Decided is true in the last step: this rule applied.
	Decided bool   `json:"decided"`
	Because string `json:"because"`
}
