package parley

// Floor describes the participant that has the floor in a conversation, and what its turn waits
// for.
type Floor struct {
	// Turn is the open turn, or the next one.
	Turn int64 `json:"turn"`
	// Speaker is the only participant that may speak. It is empty if anyone may speak, or no one.
	Speaker string          `json:"speaker,omitempty"`
	Kind    ParticipantKind `json:"kind,omitempty"`
	// Open is true if the turn has messages or traces.
	Open bool `json:"open,omitempty"`
	// Since is when the participant got the floor. In an open turn without claims, it is the time of
	// the last message or trace.
	Since Timestamp `json:"since"`
	// Claim is the current claim.
	Claim *ClaimState `json:"claim,omitempty"`
	// Attempts is the number of claims of the turn that failed.
	Attempts int `json:"attempts,omitempty"`
	// Approvals is the number of pending approvals.
	Approvals int `json:"approvals,omitempty"`
	// Stuck is what the turn waits for if that does not happen by itself. It is empty otherwise.
	Stuck StuckReason `json:"stuck,omitempty"`
}

// StuckReason is why a turn makes no progress.
type StuckReason string

// The values of StuckReason.
const (
	StuckNoExecutor StuckReason = "no_executor" // no executor of the agent is online
	StuckApproval   StuckReason = "approval"    // an approval waits for its answer
	// all attempts failed; the hub offers the turn again at growing intervals
	StuckAttempts StuckReason = "attempts"
)

// WatchConversationsParams request the conversations that changed after a cursor, among those that
// listConversations returns to the same caller.
type WatchConversationsParams struct {
	// Cursor is the cursor of an earlier result. If it is absent, the result has no conversations,
	// only the current cursor.
	Cursor string `json:"cursor,omitempty"`
	// Workspace watches the conversations of a workspace of the token instead.
	Workspace string `json:"workspace,omitempty"`
	// Limit is 1 to 100; default 50.
	Limit int `json:"limit,omitempty"`
	// TimeoutMs is how long the call waits for a change. If it is absent or 0, the call does not wait.
	// The hub reduces a value over MaxWaitMs to MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
}

// WatchConversationsResult has the changed conversations in their current state, in the order of
// their last changes, oldest first. A conversation that changes during the call can be reported
// twice. Only appended events are changes. An executor that connects or disconnects is not a
// change, although it can change Floor.Stuck.
type WatchConversationsResult struct {
	Conversations []ConversationSummary `json:"conversations"`
	// Cursor is the cursor of the next call.
	Cursor string `json:"cursor"`
	// More is true if the hub did not examine all changes. Then the page may have few conversations,
	// or none.
	More bool `json:"more,omitempty"`
	// Reset is true if the hub does not know the changes after the cursor, for example after a
	// restart. The caller must list the conversations again.
	Reset    bool `json:"reset,omitempty"`
	TimedOut bool `json:"timedOut,omitempty"`
}
