package parley

import "encoding/json"

// SessionMode is how the caller of a session learns its result.
type SessionMode string

// The values of SessionMode.
const (
	// ModeSync: startSession returns when the session has a result, or after its timeout. The default.
	ModeSync SessionMode = "sync"
	// ModeAsyncPoll: startSession returns immediately. getSession returns the state.
	ModeAsyncPoll SessionMode = "async_poll"
	// ModeAsyncCallback: startSession returns immediately. The hub posts the result as a message in
	// the parent conversation.
	ModeAsyncCallback SessionMode = "async_callback"
)

// Valid reports whether m is a known mode or empty.
func (m SessionMode) Valid() bool {
	return m == "" || m == ModeSync || m == ModeAsyncPoll || m == ModeAsyncCallback
}

// SessionStatus is the state of a session. The last three values are final.
type SessionStatus string

// The values of SessionStatus.
const (
	SessionPending       SessionStatus = "pending"        // waits for a runner
	SessionRunning       SessionStatus = "running"        // its agent works
	SessionInputRequired SessionStatus = "input_required" // its agent waits for a message of the caller
	SessionCompleted     SessionStatus = "completed"
	SessionFailed        SessionStatus = "failed"
	SessionStopped       SessionStatus = "stopped"
)

// Ended reports whether the status is final.
func (s SessionStatus) Ended() bool {
	return s == SessionCompleted || s == SessionFailed || s == SessionStopped
}

// SessionStatus returns the status of a session whose conversation was closed with o.
func (o *Outcome) SessionStatus() SessionStatus {
	switch o.Status {
	case OutcomeCompleted:
		return SessionCompleted
	case OutcomeCanceled:
		return SessionStopped
	}
	return SessionFailed
}

// SessionRecord is the data of a session in the event conversation_created.
type SessionRecord struct {
	// Agent is the name with which the session was started. AgentID is the participant that produces
	// the result.
	Agent   string    `json:"agent"`
	AgentID string    `json:"agentId"`
	Type    AgentType `json:"type"`
	// Caller is the participant that started it.
	Caller string      `json:"caller"`
	Mode   SessionMode `json:"mode"`
	// Parent is the conversation in which the session was started; it may be empty. Root is the
	// conversation at the root of the tree: the session itself if it has no parent. Depth is the
	// number of sessions from the root down to this one.
	Parent string `json:"parent,omitempty"`
	Root   string `json:"root"`
	Depth  int    `json:"depth"`
	// Runner is the only runner that may run it. It is nil if any executor of the agent may, and while
	// the session waits for a runner.
	Runner *RunnerRef `json:"runner,omitempty"`
	// Hosted is true for an LLM agent of a runner.
	Hosted bool `json:"hosted,omitempty"`
	// Demands are labels that its executor must have.
	Demands map[string]string `json:"demands,omitempty"`
	// TimeoutMs bounds the run of a command, in milliseconds. It is 0 for other agents.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// Trigger is set if an event of the parent started the session.
	Trigger *SessionTrigger `json:"trigger,omitempty"`
	// Cause and Hops are those of the events of the session, unless an event of the session triggers
	// its agent.
	Cause *Cause `json:"cause,omitempty"`
	Hops  int    `json:"hops,omitempty"`
}

// Deterministic reports whether the agent is a command.
func (r *SessionRecord) Deterministic() bool { return r != nil && r.Type == AgentTypeDeterministic }

// OfRunner reports whether a runner runs the session: Runner, or the one that it waits for.
func (r *SessionRecord) OfRunner() bool { return r != nil && (r.Deterministic() || r.Hosted) }

// RunnerRef identifies a runner by its executor and the participant that registered it.
type RunnerRef struct {
	RunnerID      string `json:"runnerId"`
	ParticipantID string `json:"participantId"`
}

// SessionResult is the result of a session. Its keys are those of the seed (000, "Result Model").
type SessionResult struct {
	ResultType AgentType `json:"result_type"`
	// ResultText is the text of the agent, or the whole standard output of the command. It is null if
	// there is no text, or if it was omitted.
	ResultText *string `json:"result_text"`
	// ResultData is set if the text is JSON.
	ResultData json.RawMessage `json:"result_data,omitempty"`
	// ExitCode is the exit code of a command that ended by itself.
	ExitCode *int `json:"exit_code,omitempty"`
	// Error is why the session failed or was stopped.
	Error string `json:"error,omitempty"`
	// ValidationErrors are set if the result does not match the output_schema of the agent.
	ValidationErrors []ValidationError `json:"validation_errors,omitempty"`
	// Attachment has the whole text if it was too large for the message. Then ResultText is its
	// beginning.
	Attachment *Attachment `json:"attachment,omitempty"`
	// Omitted is set in a callback if the result was too large for it. getSession returns the result.
	Omitted bool `json:"omitted,omitempty"`
}

// SessionProgress is the last progress that a running agent reported.
type SessionProgress struct {
	Seq  int64  `json:"seq"`
	Text string `json:"text"`
}

// CallbackState is the state of the callback of a session.
type CallbackState string

// The values of CallbackState.
const (
	CallbackPending       CallbackState = "pending"       // the session has not ended, or the parent is busy
	CallbackDelivered     CallbackState = "delivered"     // the message is in the parent
	CallbackUndeliverable CallbackState = "undeliverable" // the parent was closed first
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
	// StartedAt is when its agent took it most recently.
	StartedAt Timestamp `json:"startedAt,omitempty"`
	EndedAt   Timestamp `json:"endedAt,omitempty"`
	// Progress is present while the session runs.
	Progress *SessionProgress `json:"progress,omitempty"`
	// Result is present after the end. While input is required, it is the last message of the agent.
	Result *SessionResult `json:"result,omitempty"`
	// Reason is the reason of the outcome: one of the reasons of the hub, or a text of the agent.
	Reason string `json:"reason,omitempty"`
	// Callback is present in mode async_callback.
	Callback CallbackState `json:"callback,omitempty"`
	// LatestSeq is the last seq of its log.
	LatestSeq int64 `json:"latestSeq"`
	// TimedOut is true if the call waited for its whole timeout and the session has no result yet.
	TimedOut bool `json:"timedOut,omitempty"`
	// Duplicate is true if startSession returns the session of an earlier call with the same key.
	Duplicate bool `json:"duplicate,omitempty"`
}

// Callback is the result of one session in the message with which the hub reports the end of
// sessions to their parent.
type Callback struct {
	CallbackType   string         `json:"callback_type"`
	ChildSessionID string         `json:"child_session_id"`
	AgentName      string         `json:"agent_name"`
	Status         SessionStatus  `json:"status"`
	Result         *SessionResult `json:"result"`
}

// CallbackChildCompleted is the only CallbackType: a session ended, whatever its status is.
const CallbackChildCompleted = "child_completed"

// Callbacks is payload.data of such a message.
type Callbacks struct {
	Callbacks []Callback `json:"callbacks"`
}

// StartSessionParams start an agent for a result.
type StartSessionParams struct {
	// AgentName is the name of an agent of listAgents, or name@runnerId.
	AgentName string `json:"agentName"`
	// Parameters are an object that matches the parameters_schema of the agent; absent, an empty
	// object. The hub fills in the defaults of the schema.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Prompt is short for the parameters {"prompt": Prompt}. It excludes Parameters.
	Prompt string      `json:"prompt,omitempty"`
	Mode   SessionMode `json:"mode,omitempty"`
	// ParentConversationID is the conversation that starts the session. The caller must take part in
	// it. The hub writes the start and the end of the session to it, and stops the session when it is
	// closed. Mode async_callback requires it.
	ParentConversationID string `json:"parentConversationId,omitempty"`
	// Demands are labels that the executor of the agent must have. At most 32.
	Demands map[string]string `json:"demands,omitempty"`
	// Metadata is the metadata of the conversation of the session: an object of at most 16 KiB. A
	// command receives its member traceparent (W3C Trace Context).
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// TimeoutMs bounds the wait in mode sync, and nothing else; absent, MaxWaitMs. The hub reduces a
	// larger value to MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// Resume is a session that waits for input. Parameters are its next message. Deterministic agents
	// do not support resumption. Demands, Metadata and Mode are those of the session.
	Resume          string `json:"resume,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and
	// the spans that the event causes belong to the same trace. A retry does not change it.
	Traceparent string `json:"traceparent,omitempty"`
}

// GetSessionParams request the state of a session.
type GetSessionParams struct {
	SessionID string `json:"sessionId"`
	// TimeoutMs is how long the call waits until the session ends or requires input. If it is absent
	// or 0, the call does not wait. The hub reduces a value over MaxWaitMs to MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// ProgressSince also ends the wait at progress after this seq.
	ProgressSince *int64 `json:"progressSince,omitempty"`
}

// StopSessionParams stop a session. Its caller, humans of its parent conversation, and admins may
// do that.
type StopSessionParams struct {
	SessionID string `json:"sessionId"`
	// Reason is a word or sentence of at most 1 KiB for the readers of the session.
	Reason string `json:"reason,omitempty"`
}
