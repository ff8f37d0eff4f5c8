package parley

import "encoding/json"

// SessionMode says how who starts a session learns of its end.
type SessionMode string

// The values of SessionMode.
const (
	// ModeSync: startSession answers when the session has ended, or when its time is over. The default.
	ModeSync SessionMode = "sync"
	// ModeAsyncPoll: startSession answers at once; getSession tells the rest.
	ModeAsyncPoll SessionMode = "async_poll"
	// ModeAsyncCallback: startSession answers at once; the end comes as a message of the hub into the parent conversation.
	ModeAsyncCallback SessionMode = "async_callback"
)

// Valid reports whether m is a known mode, or none.
func (m SessionMode) Valid() bool {
	return m == "" || m == ModeSync || m == ModeAsyncPoll || m == ModeAsyncCallback
}

// SessionStatus says where a session stands. The last three are ends, and never change.
type SessionStatus string

// The values of SessionStatus.
const (
	SessionPending       SessionStatus = "pending"        // nobody has taken it yet
	SessionRunning       SessionStatus = "running"        // its agent works
	SessionInputRequired SessionStatus = "input_required" // its agent waits for a message of the caller
	SessionCompleted     SessionStatus = "completed"
	SessionFailed        SessionStatus = "failed"
	SessionStopped       SessionStatus = "stopped"
)

// Ended reports whether a session with this status has ended.
func (s SessionStatus) Ended() bool {
	return s == SessionCompleted || s == SessionFailed || s == SessionStopped
}

// Status gives the status of a session whose conversation was closed with o.
func (o *Outcome) SessionStatus() SessionStatus {
	switch o.Status {
	case OutcomeCompleted:
		return SessionCompleted
	case OutcomeCanceled:
		return SessionStopped
	}
	return SessionFailed
}

// SessionRecord is what conversation_created says of a session.
type SessionRecord struct {
	// Agent is the name by which it was started, and AgentID the participant that is to give the result.
	Agent   string    `json:"agent"`
	AgentID string    `json:"agentId"`
	Type    AgentType `json:"type"`
	// Caller is the participant that has started it.
	Caller string      `json:"caller"`
	Mode   SessionMode `json:"mode"`
	// Parent is the conversation out of which it was started; empty when there is none. Root is where the tree of sessions begins: the session itself where it
	// has no parent. Depth is 1 there and 1 more for each session above.
	Parent string `json:"parent,omitempty"`
	Root   string `json:"root"`
	Depth  int    `json:"depth"`
	// Runner is the only one that may run it; nil where any executor of the agent may, and while one is waited for.
	Runner *RunnerRef `json:"runner,omitempty"`
	// Hosted is true for an LLM agent of a runner.
	Hosted bool `json:"hosted,omitempty"`
	// Demands are labels that its executor must have.
	Demands map[string]string `json:"demands,omitempty"`
	// TimeoutMs bounds the run of a command; 0 for other agents.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// Trigger is set where an event of the parent has started it.
	Trigger *SessionTrigger `json:"trigger,omitempty"`
	// Cause and Hops are those of what is said in it, unless it is woken itself.
	Cause *Cause `json:"cause,omitempty"`
	Hops  int    `json:"hops,omitempty"`
}

// Deterministic reports whether its agent is a command.
func (r *SessionRecord) Deterministic() bool { return r != nil && r.Type == AgentTypeDeterministic }

// OfRunner reports whether it is run by a runner: Runner, or one that is waited for.
func (r *SessionRecord) OfRunner() bool { return r != nil && (r.Deterministic() || r.Hosted) }

// RunnerRef names a runner: the executor and who has registered it.
type RunnerRef struct {
	RunnerID      string `json:"runnerId"`
	ParticipantID string `json:"participantId"`
}

// SessionResult is what a session has brought. Its keys are those of the seed (000, section "Result Model").
type SessionResult struct {
	ResultType AgentType `json:"result_type"`
	// ResultText is what the agent said, or all that the command wrote to stdout; null when there is none, or when it was left out.
	ResultText *string `json:"result_text"`
	// ResultData is set when that is JSON.
	ResultData json.RawMessage `json:"result_data,omitempty"`
	// ExitCode is that of a command that has ended by itself.
	ExitCode *int `json:"exit_code,omitempty"`
	// Error says why the session has failed or was stopped.
	Error string `json:"error,omitempty"`
	// ValidationErrors are set when the result does not match the agent's output_schema.
	ValidationErrors []ValidationError `json:"validation_errors,omitempty"`
	// Attachment is set when the whole text was too large to stand here: then ResultText is its beginning.
	Attachment *Attachment `json:"attachment,omitempty"`
	// Omitted is set in a callback whose result was too large for it: getSession gives it.
	Omitted bool `json:"omitted,omitempty"`
}

// SessionProgress is the last that a running agent has told of its progress.
type SessionProgress struct {
	Seq  int64  `json:"seq"`
	Text string `json:"text"`
}

// CallbackState says what has become of the callback of a session.
type CallbackState string

// The values of CallbackState.
const (
	CallbackPending       CallbackState = "pending"       // the session has not ended, or the parent is busy
	CallbackDelivered     CallbackState = "delivered"     // the message is in the parent
	CallbackUndeliverable CallbackState = "undeliverable" // the parent was closed before
)

// Session is a session as its caller sees it.
type Session struct {
	SessionID string        `json:"sessionId"`
	AgentName string        `json:"agentName"`
	AgentType AgentType     `json:"agentType"`
	Status    SessionStatus `json:"status"`
	Mode      SessionMode   `json:"mode"`
	CreatedBy string        `json:"createdBy"`
	// ParentConversationID is empty for a session without a parent.
	ParentConversationID string    `json:"parentConversationId,omitempty"`
	Depth                int       `json:"depth"`
	RunnerID             string    `json:"runnerId,omitempty"`
	CreatedAt            Timestamp `json:"createdAt"`
	// StartedAt is when its agent last took it.
	StartedAt Timestamp `json:"startedAt,omitempty"`
	EndedAt   Timestamp `json:"endedAt,omitempty"`
	// Progress is there while it runs.
	Progress *SessionProgress `json:"progress,omitempty"`
	// Result is there once it has ended, and what was said last while input is required.
	Result *SessionResult `json:"result,omitempty"`
	// Reason is the outcome's: one of the hub's reasons, or a text of the agent.
	Reason string `json:"reason,omitempty"`
	// Callback is there in mode async_callback.
	Callback CallbackState `json:"callback,omitempty"`
	// LatestSeq is where its log stands.
	LatestSeq int64 `json:"latestSeq"`
	// TimedOut is true when the time to wait was over before it had ended.
	TimedOut bool `json:"timedOut,omitempty"`
	// Duplicate is true when startSession has met the session of an earlier call with the same key.
	Duplicate bool `json:"duplicate,omitempty"`
}

// Callback is one of payload.data.callbacks in the message with which the hub tells a parent of sessions that have ended.
type Callback struct {
	CallbackType   string         `json:"callback_type"`
	ChildSessionID string         `json:"child_session_id"`
	AgentName      string         `json:"agent_name"`
	Status         SessionStatus  `json:"status"`
	Result         *SessionResult `json:"result"`
}

// CallbackChildCompleted is the one CallbackType: a session has ended, in whatever way.
const CallbackChildCompleted = "child_completed"

// Callbacks is payload.data of such a message.
type Callbacks struct {
	Callbacks []Callback `json:"callbacks"`
}

// StartSessionParams start an agent for a result.
type StartSessionParams struct {
	// AgentName is the name of an agent as listAgents gives it, or name@runnerId.
	AgentName string `json:"agentName"`
	// Parameters are an object that matches the agent's parameters_schema; absent, an empty one. Defaults of the schema are filled in.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Prompt stands for parameters {"prompt": Prompt}. It and Parameters together are refused.
	Prompt string      `json:"prompt,omitempty"`
	Mode   SessionMode `json:"mode,omitempty"`
	// ParentConversationID is the conversation, in which the caller takes part, out of which the session is started: it is told of the start and of the
	// end, and stops the session when it closes. Mode async_callback needs it.
	ParentConversationID string `json:"parentConversationId,omitempty"`
	// Demands are labels that whoever runs the agent must have: at most MaxLabels.
	Demands map[string]string `json:"demands,omitempty"`
	// Metadata is that of the session's conversation: an object of at most 16 KiB. Its traceparent (W3C Trace Context) is passed on to a command.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// TimeoutMs bounds the wait of mode sync, and nothing else; absent, MaxWaitMs, and more is taken as that.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// Resume is a session that waits for input: Parameters are its next message. Deterministic agents do not support resumption. Demands, Metadata and Mode
	// are those of the session.
	Resume          string `json:"resume,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing.
	Traceparent string `json:"traceparent,omitempty"`
}

// GetSessionParams ask how a session stands.
type GetSessionParams struct {
	SessionID string `json:"sessionId"`
	// TimeoutMs waits until the session has ended or waits for input; absent or 0 answers at once; more than MaxWaitMs is taken as MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// ProgressSince ends the wait as soon as there is progress after this seq too.
	ProgressSince *int64 `json:"progressSince,omitempty"`
}

// StopSessionParams end a session. For who has started it, people in its parent conversation, and admins.
type StopSessionParams struct {
	SessionID string `json:"sessionId"`
	// Reason is a word or sentence for whoever reads the session: at most 1 KiB.
	Reason string `json:"reason,omitempty"`
}
