package parley

// Floor says who is to speak in a conversation, since when, and what keeps it.
type Floor struct {
	// Turn is the open turn, or the next.
	Turn int64 `json:"turn"`
	// Speaker is the one participant that may speak; empty: anyone, or nobody.
	Speaker string          `json:"speaker,omitempty"`
	Kind    ParticipantKind `json:"kind,omitempty"`
	// Open is true when something was said in the turn.
	Open bool `json:"open,omitempty"`
	// Since is when the floor was given or, in an open turn without claims, when something was last said.
	Since Timestamp `json:"since"`
	// Claim is the one that stands.
	Claim *ClaimState `json:"claim,omitempty"`
	// Attempts are the claims of the turn that have ended as failures.
	Attempts int `json:"attempts,omitempty"`
	// Approvals are how many wait for an answer.
	Approvals int `json:"approvals,omitempty"`
	// Stuck says what the turn waits for that does not come by itself; empty: nothing.
	Stuck StuckReason `json:"stuck,omitempty"`
}

// StuckReason says why nobody speaks.
type StuckReason string

// The values of StuckReason.
const (
	StuckNoExecutor StuckReason = "no_executor" // no executor of the agent is online
	StuckApproval   StuckReason = "approval"    // an approval waits for its answer
	StuckAttempts   StuckReason = "attempts"    // the attempts of the turn are used up; it is offered again at growing intervals
)

// WatchConversationsParams ask which conversations have changed since a cursor: those that listConversations would give to the same caller.
type WatchConversationsParams struct {
	// Cursor is that of an earlier answer; absent: none are given, only a cursor of now.
	Cursor string `json:"cursor,omitempty"`
	// Workspace watches the conversations of one that the token grants, instead.
	Workspace string `json:"workspace,omitempty"`
	// Limit is 1 to 100; default 50.
	Limit int `json:"limit,omitempty"`
	// TimeoutMs is how long to wait for a change; absent or 0 answers at once, more than MaxWaitMs is taken as MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
}

// WatchConversationsResult has the conversations that have changed, the one that has changed longest ago first, each as it is now: one that changes meanwhile may be told again
// without news. What is written is a change, and nothing else: not that an executor comes or goes, which Floor.Stuck tells of.
type WatchConversationsResult struct {
	Conversations []ConversationSummary `json:"conversations"`
	// Cursor is where to go on.
	Cursor string `json:"cursor"`
	// More is true when more have changed than were looked at: then there may be few conversations here, or none.
	More bool `json:"more,omitempty"`
	// Reset is true when the hub does not know what has changed since the cursor, such as after a restart: the caller lists again.
	Reset    bool `json:"reset,omitempty"`
	TimedOut bool `json:"timedOut,omitempty"`
}
