package parley

import "encoding/json"

// Wake is an agent that an event wakes: by a turn of its conversation or, where SessionID is set, by a session.
type Wake struct {
	// Agent is the name of the agent, and AgentID the participant that wakes: for a watcher of a workspace, which does not take part, Agent's plain name.
	Agent   string `json:"agent"`
	AgentID string `json:"agentId"`
	// Selector is the index of the selector in the agent's subscriptions.
	Selector int `json:"selector"`
	// SessionID is that of the session that it starts.
	SessionID string `json:"sessionId,omitempty"`
	// Workspace is true for a watcher of the workspace.
	Workspace bool `json:"workspace,omitempty"`
	// AnswerSchema is that of the note with which the session answers.
	AnswerSchema string `json:"answerSchema,omitempty"`
	// Stopped says why it does not wake: one of the Stopped reasons.
	Stopped string `json:"stopped,omitempty"`
}

// Why an agent that an event matches is not woken.
const (
	StoppedMaxHops  = "max_hops"  // the chain of events that wake has reached Limits.MaxHops
	StoppedMaxWakes = "max_wakes" // the pair has reached Limits.MaxWakesPerMinute
	StoppedTooMany  = "too_many"  // MaxWoken or MaxWokenOfOne wait already
)

// How a match ends otherwise than by work that has finished.
const (
	// TriggerInterrupted: the turn that was given it has ended without a message, or was canceled.
	TriggerInterrupted = "interrupted"
	// TriggerNotStarted: its session could not be started; the detail says why.
	TriggerNotStarted = "not_started"
)

// TriggerRecord is what trigger_matched and trigger_ended say. Seq is the event that was matched.
type TriggerRecord struct {
	Seq int64 `json:"seq"`
	// Wakes are in trigger_matched: one for each agent.
	Wakes []Wake `json:"wakes,omitempty"`
	// AgentID and SessionID name the match of trigger_ended, and Reason why it has ended.
	AgentID   string `json:"agentId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// Cause is the event of the same conversation, or of the one named, for which something was said.
type Cause struct {
	ConversationID string `json:"conversationId,omitempty"`
	Seq            int64  `json:"seq"`
}

// SessionTrigger is what conversation_created says of a session that an event has started.
type SessionTrigger struct {
	// Seq is the event in the parent, and Selector the index of the selector that matched it.
	Seq      int64 `json:"seq"`
	Selector int   `json:"selector"`
	// Workspace is true where the agent does not take part in the parent.
	Workspace bool `json:"workspace,omitempty"`
}

// Answer is the data of the note with which a session answers the event that has started it.
type Answer struct {
	Agent     string `json:"agent"`
	SessionID string `json:"session_id"`
	// TriggerSeq is the event that has started it.
	TriggerSeq int64         `json:"trigger_seq"`
	Status     SessionStatus `json:"status"`
	// Output is the result_data, and Text the result_text where there is no Output. Error is why it has failed.
	Output json.RawMessage `json:"output,omitempty"`
	Text   string          `json:"text,omitempty"`
	Error  string          `json:"error,omitempty"`
	// ValidationErrors say what is wrong with the input, where no session could be started with it, or with the result.
	ValidationErrors []ValidationError `json:"validation_errors,omitempty"`
	// Omitted is true when the result was too large for a note: getSession gives it.
	Omitted bool `json:"omitted,omitempty"`
}

// GetContextParams ask for what the agent of a conversation is to work with, fetched now.
type GetContextParams struct {
	ConversationID string `json:"conversationId"`
	// AgentID is the seat whose context it is: one that the token may speak as; absent, the caller.
	AgentID string `json:"agentId,omitempty"`
	// ClaimID is the claim of the turn for which it is; absent, what the seat would be given now.
	ClaimID string `json:"claimId,omitempty"`
}

// ContextSource says what a context selector has brought: where from, not what.
type ContextSource struct {
	Key      string      `json:"key"`
	Selector int         `json:"selector"`
	Fetch    FetchMethod `json:"fetch"`
	// Events are those that were brought, in the order in which they stand there. Their conversation is named where it is another than the trigger's.
	Events []Cause `json:"events"`
	// Dropped are how many were left out so that the context keeps to its bound.
	Dropped int `json:"dropped,omitempty"`
	// Embedder names what has found the similar ones, such as lexical or a model.
	Embedder string `json:"embedder,omitempty"`
	// Error says why nothing could be fetched; the others are there.
	Error string `json:"error,omitempty"`
}

// GetContextResult has the context: one object, the same bytes for every kind of agent. With trigger, and triggers where there are several, stand the keys of the
// context selectors.
type GetContextResult struct {
	// Context is absent for an agent without subscriptions.
	Context json.RawMessage `json:"context,omitempty"`
	// Triggers are the seqs of the matches that the turn or session was given, in order; empty where nothing has woken it.
	Triggers []int64         `json:"triggers"`
	Sources  []ContextSource `json:"sources"`
	Bytes    int             `json:"bytes"`
	// LatestSeq is where the log stood.
	LatestSeq int64 `json:"latestSeq"`
}

// ContextTrigger is the member trigger of a context: the event that has woken the agent.
type ContextTrigger struct {
	ConversationID string    `json:"conversation_id"`
	Seq            int64     `json:"seq"`
	Type           EventType `json:"type"`
	From           string    `json:"from"`
	At             Timestamp `json:"at"`
	SchemaName     string    `json:"schema_name,omitempty"`
	Tags           []string  `json:"tags,omitempty"`
	Text           string    `json:"text,omitempty"`
	// Data is payload.data, by the hints of the selector that has matched it.
	Data json.RawMessage `json:"data,omitempty"`
	// Truncated is true where text and data were left out, as too large for the bound of the context.
	Truncated bool `json:"truncated,omitempty"`
}

// ExplainTriggersParams ask which agents an event has woken or, as things are now, would wake, and why.
type ExplainTriggersParams struct {
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq"`
}

// TriggerState says what has become of a match.
type TriggerState string

// The values of TriggerState.
const (
	TriggerPending  TriggerState = "pending"  // it waits for its turn, or for its session to begin
	TriggerRunning  TriggerState = "running"  // the turn or session that was given it is under way
	TriggerFinished TriggerState = "finished" // the turn or session has finished
	TriggerEnded    TriggerState = "ended"    // it has ended otherwise
	TriggerStopped  TriggerState = "stopped"  // a limit has kept it from waking
)

// SelectorTried is how one selector saw an event.
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
	// Woken is true when the log says that the event has woken it, and WouldWake when it would by what holds now: without the minute of Limits.MaxWakesPerMinute,
	// which is not counted.
	Woken     bool `json:"woken"`
	WouldWake bool `json:"wouldWake"`
	// Because is one sentence.
	Because   string       `json:"because"`
	SessionID string       `json:"sessionId,omitempty"`
	State     TriggerState `json:"state,omitempty"`
	// Selectors are all of the agent's, in order.
	Selectors []SelectorTried `json:"selectors"`
	// Context is what its context selectors would bring now, where the caller may see it: for an agent that was or would be woken.
	Context []ContextSource `json:"context,omitempty"`
}

// ExplainTriggersResult has the agents that sit in the conversation, in order of their seats, and then those that watch its workspace by name; at most MaxExplained.
type ExplainTriggersResult struct {
	Seq    int64              `json:"seq"`
	Agents []TriggerExplained `json:"agents"`
	// More is how many watchers of the workspace are left out.
	More int `json:"more,omitempty"`
}
