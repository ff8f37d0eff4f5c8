package parley

import "encoding/json"

// The results of each method that is served.

// HubInfo describes the hub that answered.
type HubInfo struct {
	// Version is a semantic version (semver.org), such as 0.1.0 or 0.1.0-dev+8526c70.
	Version string `json:"version"`
	// Commit is the full hash of the commit that the hub was built from. It is absent for a build
	// outside of a repository.
	Commit string `json:"commit,omitempty"`
	// Date is the time of that commit.
	Date  Timestamp `json:"date,omitempty"`
	NowMs int64     `json:"nowMs"`
}

// WireLimits are the bounds of this hub, told by authenticate.
type WireLimits struct {
	MaxFrameBytes    int   `json:"maxFrameBytes"`
	MaxEventBytes    int   `json:"maxEventBytes"`
	MaxDepth         int   `json:"maxDepth"`
	MaxInFlight      int   `json:"maxInFlight"`
	MaxSubscriptions int   `json:"maxSubscriptions"`
	MaxWaitMs        int64 `json:"maxWaitMs"`
	MaxPage          int   `json:"maxPage"`
}

// AuthenticateResult says who the caller is now.
type AuthenticateResult struct {
	OK              bool   `json:"ok"`
	AgentID         string `json:"agentId"`
	ProtocolVersion string `json:"protocolVersion"`
	// Agents are the ids that the token may speak as, AgentID among them; absent: any. Scopes are its powers, and ExpiresAt is when it ends.
	Agents    []string   `json:"agents,omitempty"`
	Scopes    []Scope    `json:"scopes"`
	ExpiresAt Timestamp  `json:"expiresAt,omitempty"`
	Hub       HubInfo    `json:"hub"`
	Limits    WireLimits `json:"limits"`
}

// PingResult is hub time.
type PingResult struct {
	NowMs int64 `json:"nowMs"`
}

// ListConversationsResult is a page; NextCursor is empty on the last.
type ListConversationsResult struct {
	Conversations []ConversationSummary `json:"conversations"`
	NextCursor    string                `json:"nextCursor,omitempty"`
}

// SeqResult answers addParticipant, closeConversation and cancelTurn with the seq of the event that did it.
type SeqResult struct {
	Seq       int64 `json:"seq"`
	Duplicate bool  `json:"duplicate,omitempty"`
}

// TailResult is a page of visible events. NextSeq is the last seq examined: the cursor to go on from.
type TailResult struct {
	Events    []Event `json:"events"`
	NextSeq   int64   `json:"nextSeq"`
	LatestSeq int64   `json:"latestSeq"`
}

// WaitForChangeResult tells whether the log grew.
type WaitForChangeResult struct {
	LatestSeq int64 `json:"latestSeq"`
	TimedOut  bool  `json:"timedOut"`
}

// GetUpdatesResult has the messages after SinceSeq. NextSeq is the last seq examined.
type GetUpdatesResult struct {
	Messages []Event `json:"messages"`
	// Withdrawn are the ranges of messages that a failed attempt has left, and whose end lies after SinceSeq: a reader who has some of them forgets them.
	// Messages has none of them.
	Withdrawn []Withdrawn `json:"withdrawn,omitempty"`
	Guidance  Guidance    `json:"guidance"`
	NextSeq   int64       `json:"nextSeq"`
	LatestSeq int64       `json:"latestSeq"`
	Status    Status      `json:"status"`
	TimedOut  bool        `json:"timedOut"`
}

// Withdrawn is a range of a turn that counts no more: its messages and traces from FromSeq to ToSeq, both included. The log keeps them.
type Withdrawn struct {
	Turn    int64 `json:"turn"`
	FromSeq int64 `json:"fromSeq"`
	ToSeq   int64 `json:"toSeq"`
}

// SubscribeResult comes before the first notification of the subscription.
type SubscribeResult struct {
	SubscriptionID string `json:"subscriptionId"`
	LatestSeq      int64  `json:"latestSeq"`
}

// EmptyResult is an empty object.
type EmptyResult struct{}

// GetGuidanceResult is guidance at LatestSeq.
type GetGuidanceResult struct {
	Guidance  Guidance `json:"guidance"`
	LatestSeq int64    `json:"latestSeq"`
}

// ParticipantGuidance is a row of ExplainResult.
type ParticipantGuidance struct {
	ParticipantID string   `json:"participantId"`
	Guidance      Guidance `json:"guidance"`
}

// ExplainResult has the guidance of every participant at Seq.
type ExplainResult struct {
	Seq      int64                 `json:"seq"`
	Guidance []ParticipantGuidance `json:"guidance"`
}

// SendResult answers sendMessage and sendTrace. Duplicate is true when the key was known: then it is the first result.
type SendResult struct {
	Seq  int64 `json:"seq"`
	Turn int64 `json:"turn"`
	// ClaimID is set when the message or trace has taken the claim of its turn: an agent's that leaves the turn open. What follows in this turn names it.
	ClaimID   string `json:"claimId,omitempty"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// CreateTokenResult shows the token, once.
type CreateTokenResult struct {
	Token   string `json:"token"`
	TokenID string `json:"tokenId"`
}

// CreateTicketResult shows the ticket, once.
type CreateTicketResult struct {
	Ticket      string `json:"ticket"`
	ExpiresInMs int64  `json:"expiresInMs"`
}

// PutAttachmentResult names the file, and the event that added it. Duplicate is true when it was there already.
type PutAttachmentResult struct {
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
	Seq       int64  `json:"seq"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// GetAttachmentResult has a part of a file. Size is that of the whole.
type GetAttachmentResult struct {
	Data []byte `json:"data"`
	Size int64  `json:"size"`
}

// AgentType says what an agent is.
type AgentType string

// The types of agents.
const (
	AgentTypeAgent         AgentType = "agent"
	AgentTypeDeterministic AgentType = "deterministic"
	AgentTypeFunction      AgentType = "function"
	AgentTypeWorkflow      AgentType = "workflow"
)

// AgentTypes are all of them.
var AgentTypes = []AgentType{AgentTypeAgent, AgentTypeDeterministic, AgentTypeFunction, AgentTypeWorkflow}

// AgentInfo is a row of listAgents. Its keys are those of the blueprints (seed 000).
type AgentInfo struct {
	Name        string    `json:"name"`
	Type        AgentType `json:"type"`
	Description string    `json:"description"`
	// ParametersSchema is a JSON Schema of what a session with the agent takes; absent: {prompt}.
	ParametersSchema json.RawMessage `json:"parameters_schema,omitempty"`
	// OutputSchema is a JSON Schema of what it gives as result_data, where it says so.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// AgentConfig is there where it was asked for, of an LLM agent: see ListAgentsParams.
	AgentConfig json.RawMessage `json:"agent_config,omitempty"`
	// Subscriptions are there where it has some and includeConfig gives them.
	Subscriptions json.RawMessage `json:"subscriptions,omitempty"`
	// Runner is who registered it; empty for the hub's own process. RunnerID is the id of the runner of a blueprint's agent.
	Runner   string            `json:"runner,omitempty"`
	RunnerID string            `json:"runner_id,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Online   bool              `json:"online"`
	// Stale is true when its runner has been away for StaleMs. After OfflineMs it is gone.
	Stale bool `json:"stale,omitempty"`
}

// ListAgentsResult has the agents in order of their names.
type ListAgentsResult struct {
	Agents []AgentInfo `json:"agents"`
	// Executors are there where they were asked for, in order of who has registered them and of their ids, as many as one answer holds;
	// ExecutorsMore is how many more there are.
	Executors     []ExecutorInfo `json:"executors,omitempty"`
	ExecutorsMore int            `json:"executorsMore,omitempty"`
}

// ExecutorInfo is an executor that is connected, with its load.
type ExecutorInfo struct {
	ExecutorID string `json:"executorId"`
	// RegisteredBy is who has registered it; Internal is true of one in the hub's own process.
	RegisteredBy string       `json:"registeredBy"`
	Internal     bool         `json:"internal,omitempty"`
	Mode         ExecutorMode `json:"mode"`
	// Agents are those whose turns it takes. What it has registered as a runner is in the rows of the agents whose runner_id it has.
	Agents []string          `json:"agents"`
	Labels map[string]string `json:"labels,omitempty"`
	// Claims are those that it works on, without those that wait for an approval or for a session; Capacity is how many it may be offered to hold at once.
	Claims   int `json:"claims"`
	Capacity int `json:"capacity"`
}

// TokenInfo is what may be told of a token: all but its hash.
type TokenInfo struct {
	TokenID       string    `json:"tokenId"`
	Agents        []string  `json:"agents"`
	Scopes        []Scope   `json:"scopes"`
	Conversations []string  `json:"conversations,omitempty"`
	Workspaces    []string  `json:"workspaces,omitempty"`
	ExpiresAt     Timestamp `json:"expiresAt,omitempty"`
	CreatedBy     string    `json:"createdBy"`
	CreatedAt     Timestamp `json:"createdAt"`
	// Parent is the id of the token that it was made with; empty for the dev token and calls inside the hub's process.
	Parent string `json:"parent,omitempty"`
}

// ListTokensResult is a page; NextCursor is empty on the last.
type ListTokensResult struct {
	Tokens     []TokenInfo `json:"tokens"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// RevokeTokenResult names the tokens that ended.
type RevokeTokenResult struct {
	Revoked []string `json:"revoked"`
}

// The notifications. Those of an SSE stream have no SubscriptionID: the stream is one subscription.

// EventNotification carries an event of a subscription.
type EventNotification struct {
	SubscriptionID string `json:"subscriptionId"`
	ConversationID string `json:"conversationId"`
	Event          Event  `json:"event"`
}

// GuidanceNotification carries the caller's guidance at Seq, after caught_up and whenever it changes.
type GuidanceNotification struct {
	SubscriptionID string   `json:"subscriptionId,omitempty"`
	ConversationID string   `json:"conversationId"`
	Seq            int64    `json:"seq"`
	Guidance       Guidance `json:"guidance"`
}

// CaughtUpNotification comes once, after the events up to Seq.
type CaughtUpNotification struct {
	SubscriptionID string `json:"subscriptionId,omitempty"`
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq"`
}

// DeltaNotification carries a delta.
type DeltaNotification struct {
	SubscriptionID string `json:"subscriptionId,omitempty"`
	Delta
}

// ClosingNotification says that the hub is about to close the socket, or to end the stream.
type ClosingNotification struct {
	Reason string `json:"reason"`
	// RetryAfterMs is when to come back.
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
	// Stays says that nothing is closed: the hub has lost the log that it shares with others, and whoever knows another hub of it is better there. Never of a stream.
	Stays bool `json:"stays,omitempty"`
}
