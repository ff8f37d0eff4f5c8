package parley

import "encoding/json"

// Wake is an agent that an event triggers: by a turn of its conversation or, if SessionID is set,
// by a session.
type Wake struct {
	// Agent is the name of the agent, and AgentID is the triggered participant. A watcher of a
	// workspace does not take part in the conversation: its AgentID is the plain name of Agent.
	Agent   string `json:"agent"`
	AgentID string `json:"agentId"`
	// Selector is the index of the selector in the subscriptions of the agent.
	Selector int `json:"selector"`
	// SessionID is the id of the session that the event starts.
	SessionID string `json:"sessionId,omitempty"`
	// Workspace is true for a watcher of the workspace.
	Workspace bool `json:"workspace,omitempty"`
	// AnswerSchema is the schema of the note with which the session answers.
	AnswerSchema string `json:"answerSchema,omitempty"`
	// Stopped is why the agent is not triggered: one of the Stopped reasons.
	Stopped string `json:"stopped,omitempty"`
}

// The reasons why a matching event does not trigger an agent.
const (
	StoppedMaxHops  = "max_hops"  // the chain of triggers reached Limits.MaxHops
	StoppedMaxWakes = "max_wakes" // the pair of agents reached Limits.MaxWakesPerMinute
	StoppedTooMany  = "too_many"  // the backlog is full
)

// The reasons why a match ends, other than finished work.
const (
	// TriggerInterrupted means that the turn of the match ended without a message or was canceled.
	TriggerInterrupted = "interrupted"
	// TriggerNotStarted means that its session could not be started. The detail has the error.
	TriggerNotStarted = "not_started"
)

// TriggerRecord is the data of trigger_matched and trigger_ended. Seq is the matched event.
type TriggerRecord struct {
	Seq int64 `json:"seq"`
	// Wakes are in trigger_matched: one for each agent.
	Wakes []Wake `json:"wakes,omitempty"`
	// AgentID and SessionID identify the match in trigger_ended. Reason is why it ended.
	AgentID   string `json:"agentId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// Cause is the event that something was written for. It is in the same conversation unless another
// one is named.
type Cause struct {
	ConversationID string `json:"conversationId,omitempty"`
	Seq            int64  `json:"seq"`
}

// SessionTrigger is the data of conversation_created for a session that an event started.
type SessionTrigger struct {
	// Seq is the event in the parent, and Selector is the index of the selector that matched it.
	Seq      int64 `json:"seq"`
	Selector int   `json:"selector"`
	// Workspace is true if the agent does not take part in the parent.
	Workspace bool `json:"workspace,omitempty"`
}

// Answer is the data of the note with which a session answers the event that started it.
type Answer struct {
	Agent     string `json:"agent"`
	SessionID string `json:"session_id"`
	// TriggerSeq is the event that started the session.
	TriggerSeq int64         `json:"trigger_seq"`
	Status     SessionStatus `json:"status"`
	// Output is the result_data. Without it, Text is the result_text. Error is why the session failed.
	Output json.RawMessage `json:"output,omitempty"`
	Text   string          `json:"text,omitempty"`
	Error  string          `json:"error,omitempty"`
	// ValidationErrors are the errors of the input if no session could be started with it, or the
	// errors of the result.
	ValidationErrors []ValidationError `json:"validation_errors,omitempty"`
	// Omitted is true if the result was too large for a note. getSession returns the result.
	Omitted bool `json:"omitted,omitempty"`
}

// GetContextParams request the current agent context of a seat.
type GetContextParams struct {
	ConversationID string `json:"conversationId"`
	// AgentID is the seat. The token must be able to speak as it; absent, the caller.
	AgentID string `json:"agentId,omitempty"`
	// ClaimID is the claim of the turn that the context is for; absent, the context that the seat
	// would receive now.
	ClaimID string `json:"claimId,omitempty"`
}

// ContextSource describes which events a context selector fetched, without their content.
type ContextSource struct {
	Key      string      `json:"key"`
	Selector int         `json:"selector"`
	Fetch    FetchMethod `json:"fetch"`
	// Events are the fetched events, in the order of the context. Their conversation is named if it is
	// not that of the trigger.
	Events []Cause `json:"events"`
	// Dropped is the number of events that were omitted to keep the context within its bound.
	Dropped int `json:"dropped,omitempty"`
	// Embedder names the method that found similar events, such as lexical or a model.
	Embedder string `json:"embedder,omitempty"`
	// Error is why nothing could be fetched. The context has the other keys.
	Error string `json:"error,omitempty"`
}

// GetContextResult has the agent context: one object, with the same bytes for every kind of agent.
// It has the members trigger, triggers if there are several, and the keys of the context selectors.
type GetContextResult struct {
	// Context is absent for an agent without subscriptions.
	Context json.RawMessage `json:"context,omitempty"`
	// Triggers are the seqs of the matches of the turn or session, in order. It is empty without a
	// trigger.
	Triggers []int64         `json:"triggers"`
	Sources  []ContextSource `json:"sources"`
	Bytes    int             `json:"bytes"`
	// LatestSeq is the last seq of the log.
	LatestSeq int64 `json:"latestSeq"`
}

// ContextTrigger is the member trigger of an agent context: the event that triggered the agent.
type ContextTrigger struct {
	ConversationID string    `json:"conversation_id"`
	Seq            int64     `json:"seq"`
	Type           EventType `json:"type"`
	From           string    `json:"from"`
	At             Timestamp `json:"at"`
	SchemaName     string    `json:"schema_name,omitempty"`
	Tags           []string  `json:"tags,omitempty"`
	Text           string    `json:"text,omitempty"`
	// Data is payload.data after the hints of the selector that matched the event.
	Data json.RawMessage `json:"data,omitempty"`
	// Truncated is true if text and data were omitted because they exceed the bound of the context.
	Truncated bool `json:"truncated,omitempty"`
}

// ExplainTriggersParams request which agents an event triggered, or would trigger now, and why.
type ExplainTriggersParams struct {
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq"`
}

// TriggerState is the state of a match.
type TriggerState string

// The values of TriggerState.
const (
	TriggerPending  TriggerState = "pending"  // it waits for its turn, or for its session to start
	TriggerRunning  TriggerState = "running"  // its turn or session is in progress
	TriggerFinished TriggerState = "finished" // its turn or session has finished
	TriggerEnded    TriggerState = "ended"    // it ended in another way
	TriggerStopped  TriggerState = "stopped"  // a limit prevented the trigger
)

// SelectorTried is the result of one selector for an event.
type SelectorTried struct {
	Selector int          `json:"selector"`
	Role     SelectorRole `json:"role"`
	Matched  bool         `json:"matched"`
	Because  string       `json:"because"`
}

// TriggerExplained is a row of ExplainTriggersResult: one agent.
type TriggerExplained struct {
	Agent     string `json:"agent"`
	AgentID   string `json:"agentId"`
	Workspace bool   `json:"workspace,omitempty"`
	// Woken is true if the log records that the event triggered the agent. WouldWake is true if it
	// would trigger the agent now. WouldWake ignores Limits.MaxWakesPerMinute.
	Woken     bool `json:"woken"`
	WouldWake bool `json:"wouldWake"`
	// Because is one sentence.
	Because   string       `json:"because"`
	SessionID string       `json:"sessionId,omitempty"`
	State     TriggerState `json:"state,omitempty"`
	// Selectors are all selectors of the agent, in order.
	Selectors []SelectorTried `json:"selectors"`
	// Context is what the context selectors would fetch now, for an agent that was or would be
	// triggered. It is present if the caller may see it.
	Context []ContextSource `json:"context,omitempty"`
}

// ExplainTriggersResult has the agents of the conversation in the order of their seats, and then
// the watchers of its workspace in the order of their names. At most 256.
type ExplainTriggersResult struct {
	Seq    int64              `json:"seq"`
	Agents []TriggerExplained `json:"agents"`
	// More is the number of omitted watchers of the workspace.
	More int `json:"more,omitempty"`
}
