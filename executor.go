package parley

// ExecutorMode is how an executor finds its turns.
type ExecutorMode string

// The values of ExecutorMode.
const (
	// ModePull reads guidance and claims turns itself. The hub offers it nothing. The default.
	ModePull ExecutorMode = "pull"
	// ModePush receives offers of turns. See [RequestTurn].
	ModePush ExecutorMode = "push"
)

// Valid reports whether m is a known mode.
func (m ExecutorMode) Valid() bool { return m == ModePull || m == ModePush }

// RegisterExecutorParams register this connection as an executor, until the connection ends. A
// second registration with the same ExecutorID replaces the first. Another ExecutorID on the same
// connection is refused with already_exists.
type RegisterExecutorParams struct {
	// ExecutorID distinguishes the replicas of an agent. It has the form of a participant id, and a
	// process keeps it over reconnects. A second connection of the same caller with the same id
	// replaces the first one, which receives closing.
	ExecutorID string `json:"executorId"`
	// Agents are the names of the agents that it runs: at most 64 different ones. The token must be
	// able to speak as each of them. A runner of blueprints needs none.
	Agents []string `json:"agents"`
	// Mode is pull or push; absent, pull.
	Mode ExecutorMode `json:"mode,omitempty"`
	// Capacity is the number of claims up to which the hub offers turns. 1 to 10,000; absent, 16.
	Capacity int `json:"capacity,omitempty"`
	// GraceMs is how long its claims remain valid after the connection was lost, in milliseconds. 100
	// to 600,000; absent, 5,000.
	GraceMs int64 `json:"graceMs,omitempty"`
	// Holding are the claims that the executor still holds. All other claims of this ExecutorID end,
	// because the process that held them no longer exists.
	Holding []string `json:"holding,omitzero"`
	// Labels are key-value pairs that sessions can demand. At most 32.
	Labels map[string]string `json:"labels,omitempty"`
}

// RegisterExecutorResult has the claims of Holding that are current, and the number of other claims
// that the registration ended.
type RegisterExecutorResult struct {
	OK      bool     `json:"ok"`
	Holding []string `json:"holding"`
	Ended   int      `json:"ended"`
}

// RequestTurn offers a turn to an executor in push mode. The first executor that claims it takes
// the turn.
type RequestTurn struct {
	ConversationID string `json:"conversationId"`
	// AgentID is the participant that has the floor, and Agent is the name of the agent on its seat.
	AgentID string `json:"agentId"`
	Agent   string `json:"agent"`
	Turn    int64  `json:"turn"`
	// ClaimID is the argument of claimTurn. It is valid for this turn and this executor only, until
	// the turn is claimed.
	ClaimID string `json:"claimId"`
	// Attempt is 1 unless earlier attempts failed.
	Attempt int `json:"attempt"`
	// SinceSeq is the seq of the last message with which AgentID ended a turn, or 0.
	SinceSeq int64 `json:"sinceSeq"`
	// DeadlineMs is when a claim that is made now would expire without renewal, in Unix milliseconds
	// of hub time. It is approximate.
	DeadlineMs int64 `json:"deadlineMs"`
	// ClaimWindowMs is how long the hub waits before it offers the turn to another executor too. This
	// offer remains valid after that.
	ClaimWindowMs int64 `json:"claimWindowMs"`
	// Traceparent is the parent for spans of the executor: the span of the turn, or of the event that
	// the turn answers. It is empty if there is no such span.
	Traceparent string `json:"traceparent,omitempty"`
}

// ClaimEndedNotification reports to the holder of a claim that the claim ended for another reason
// than its own final message or releaseClaim.
type ClaimEndedNotification struct {
	ConversationID string `json:"conversationId"`
	AgentID        string `json:"agentId"`
	Turn           int64  `json:"turn"`
	ClaimID        string `json:"claimId"`
	// Reason is how the claim ended.
	Reason ClaimEnd `json:"reason"`
}

// ExecutorNotification is an item of [Client.RegisterExecutor]. Exactly one field is set.
type ExecutorNotification struct {
	// Registered comes first, and again after each reconnect.
	Registered   *RegisterExecutorResult
	RequestTurn  *RequestTurn
	ClaimEnded   *ClaimEndedNotification
	ClaimWaiting *ClaimWaitingNotification
}
