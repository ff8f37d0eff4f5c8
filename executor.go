package parley

// ExecutorMode says how an executor finds its turns.
type ExecutorMode string

// The values of ExecutorMode.
const (
	// ModePull looks at guidance and claims by itself; it is offered nothing. The default.
	ModePull ExecutorMode = "pull"
	// ModePush is offered turns: see [RequestTurn].
	ModePush ExecutorMode = "push"
)

// Valid reports whether m is a known mode.
func (m ExecutorMode) Valid() bool { return m == ModePull || m == ModePush }

// RegisterExecutorParams says that this connection runs agents. It holds until the connection ends. Once more on the same connection
// with the same ExecutorID replaces what was said; another ExecutorID is ErrAlreadyExists.
type RegisterExecutorParams struct {
	// ExecutorID tells replicas of an agent apart: an id like a participant's, kept by a process over its reconnects. A second connection of the same
	// caller with the same one replaces the first, which gets closing.
	ExecutorID string `json:"executorId"`
	// Agents are the names of the agents that it runs: at most 64 different ones, each an id that the token may speak as. A runner of blueprints needs none.
	Agents []string `json:"agents"`
	// Mode is pull when absent.
	Mode ExecutorMode `json:"mode,omitempty"`
	// Capacity is how many claims it may be offered to hold at once: 1 to 10,000; absent, 16.
	Capacity int `json:"capacity,omitempty"`
	// GraceMs is how long its claims stand after it was lost without a word: 100 to 600,000; absent, 5,000.
	GraceMs int64 `json:"graceMs,omitempty"`
	// Holding are the claims that it goes on with. Any other claim of this ExecutorID ends: the process that held it is gone.
	Holding []string `json:"holding,omitzero"`
	// Labels are what sessions may demand of it: at most MaxLabels.
	Labels map[string]string `json:"labels,omitempty"`
}

// RegisterExecutorResult tells which claims of Holding stand, and how many others were ended.
type RegisterExecutorResult struct {
	OK      bool     `json:"ok"`
	Holding []string `json:"holding"`
	Ended   int      `json:"ended"`
}

// RequestTurn offers a turn to an executor in push mode. Whoever claims it first has it.
type RequestTurn struct {
	ConversationID string `json:"conversationId"`
	// AgentID is the participant who has the floor, and Agent the name of the agent that sits there.
	AgentID string `json:"agentId"`
	Agent   string `json:"agent"`
	Turn    int64  `json:"turn"`
	// ClaimID is for claimTurn. It was made for this turn and this executor, and is of use until the turn was claimed.
	ClaimID string `json:"claimId"`
	// Attempt is 1 unless others have failed.
	Attempt int `json:"attempt"`
	// SinceSeq is the seq of the last message with which AgentID has ended a turn; 0 when there was none.
	SinceSeq int64 `json:"sinceSeq"`
	// DeadlineMs is about when a claim that is taken now would end unless it is renewed, in Unix ms of hub time.
	DeadlineMs int64 `json:"deadlineMs"`
	// ClaimWindowMs is how long the hub waits before it asks another executor too. The offer stands on after that.
	ClaimWindowMs int64 `json:"claimWindowMs"`
	// Traceparent names the span of the turn, or of what the turn answers, for the spans of who takes it; empty where there is none.
	Traceparent string `json:"traceparent,omitempty"`
}

// ClaimEndedNotification tells the holder of a claim that it has ended by something else than its own final message or releaseClaim.
type ClaimEndedNotification struct {
	ConversationID string `json:"conversationId"`
	AgentID        string `json:"agentId"`
	Turn           int64  `json:"turn"`
	ClaimID        string `json:"claimId"`
	// Reason is one of the ends of claims.
	Reason ClaimEnd `json:"reason"`
}

// ExecutorNotification is one thing that a registration tells: exactly one field is set.
type ExecutorNotification struct {
	// Registered comes first, and again after each reconnect.
	Registered   *RegisterExecutorResult
	RequestTurn  *RequestTurn
	ClaimEnded   *ClaimEndedNotification
	ClaimWaiting *ClaimWaitingNotification
}
