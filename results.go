package parley

import "encoding/json"

// The results of the methods.

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

// WireLimits are the limits of this hub that authenticate reports.
type WireLimits struct {
	MaxFrameBytes    int   `json:"maxFrameBytes"`
	MaxEventBytes    int   `json:"maxEventBytes"`
	MaxDepth         int   `json:"maxDepth"`
	MaxInFlight      int   `json:"maxInFlight"`
	MaxSubscriptions int   `json:"maxSubscriptions"`
	MaxWaitMs        int64 `json:"maxWaitMs"`
	MaxPage          int   `json:"maxPage"`
}

// AuthenticateResult describes the authenticated caller and the hub.
type AuthenticateResult struct {
	OK              bool   `json:"ok"`
	AgentID         string `json:"agentId"`
	ProtocolVersion string `json:"protocolVersion"`
	// Agents are the ids that the token may speak as, including AgentID; absent, any id. Scopes are
	// the scopes of the token, and ExpiresAt is when it expires.
	Agents    []string   `json:"agents,omitempty"`
	Scopes    []Scope    `json:"scopes"`
	ExpiresAt Timestamp  `json:"expiresAt,omitempty"`
	Hub       HubInfo    `json:"hub"`
	Limits    WireLimits `json:"limits"`
}

// PingResult is the hub time.
type PingResult struct {
	NowMs int64 `json:"nowMs"`
}

// ListConversationsResult is a page; NextCursor is empty on the last.
type ListConversationsResult struct {
	Conversations []ConversationSummary `json:"conversations"`
	NextCursor    string                `json:"nextCursor,omitempty"`
}

// SeqResult has the seq of the event that addParticipant, closeConversation, sendNote or cancelTurn
// appended.
type SeqResult struct {
	Seq       int64 `json:"seq"`
	Duplicate bool  `json:"duplicate,omitempty"`
}

// TailResult is a page of visible events. NextSeq is the last examined seq: the cursor of the next
// call.
type TailResult struct {
	Events    []Event `json:"events"`
	NextSeq   int64   `json:"nextSeq"`
	LatestSeq int64   `json:"latestSeq"`
}

// WaitForChangeResult reports whether the log grew.
type WaitForChangeResult struct {
	LatestSeq int64 `json:"latestSeq"`
	TimedOut  bool  `json:"timedOut"`
}

// GetUpdatesResult has the messages after SinceSeq. NextSeq is the last examined seq: the cursor of
// the next call.
type GetUpdatesResult struct {
	Messages []Event `json:"messages"`
	// Withdrawn are the ranges of events of failed attempts that end after SinceSeq. A reader that has
	// some of these messages must discard them. Messages never includes them.
	Withdrawn []Withdrawn `json:"withdrawn,omitempty"`
	Guidance  Guidance    `json:"guidance"`
	NextSeq   int64       `json:"nextSeq"`
	LatestSeq int64       `json:"latestSeq"`
	Status    Status      `json:"status"`
	TimedOut  bool        `json:"timedOut"`
}

// Withdrawn is a range of a turn that no longer counts: its messages and traces from FromSeq to
// ToSeq, both included. They remain in the log.
type Withdrawn struct {
	Turn    int64 `json:"turn"`
	FromSeq int64 `json:"fromSeq"`
	ToSeq   int64 `json:"toSeq"`
}

// SubscribeResult precedes the first notification of the subscription.
type SubscribeResult struct {
	SubscriptionID string `json:"subscriptionId"`
	LatestSeq      int64  `json:"latestSeq"`
}

// EmptyResult is an empty object.
type EmptyResult struct{}

// GetGuidanceResult is the guidance at LatestSeq.
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

// SendResult is the result of sendMessage and sendTrace. Duplicate is true if the hub knew the key:
// then it is the first result.
type SendResult struct {
	Seq  int64 `json:"seq"`
	Turn int64 `json:"turn"`
	// ClaimID is set if the message or trace made the claim of its turn, which happens when an agent
	// leaves its turn open. The following calls of this turn name it.
	ClaimID   string `json:"claimId,omitempty"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// CreateTokenResult has the secret of the token, which is returned once.
type CreateTokenResult struct {
	Token   string `json:"token"`
	TokenID string `json:"tokenId"`
}

// CreateTicketResult has the ticket, which is returned once.
type CreateTicketResult struct {
	Ticket      string `json:"ticket"`
	ExpiresInMs int64  `json:"expiresInMs"`
}

// PutAttachmentResult has the hash of the file and the seq of the event that added it. Duplicate is
// true if the conversation already had the file.
type PutAttachmentResult struct {
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
	Seq       int64  `json:"seq"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// GetAttachmentResult has a part of a file. Size is the size of the whole file in bytes.
type GetAttachmentResult struct {
	Data []byte `json:"data"`
	Size int64  `json:"size"`
}

// AgentType is the type of an agent.
type AgentType string

// The values of AgentType: an LLM agent, a command, a Go function and a workflow of sessions.
const (
	AgentTypeAgent         AgentType = "agent"
	AgentTypeDeterministic AgentType = "deterministic"
	AgentTypeFunction      AgentType = "function"
	AgentTypeWorkflow      AgentType = "workflow"
)

// AgentTypes has all values of AgentType.
var AgentTypes = []AgentType{AgentTypeAgent, AgentTypeDeterministic, AgentTypeFunction, AgentTypeWorkflow}

// AgentInfo is a row of listAgents. Its keys are those of the blueprints (seed 000).
type AgentInfo struct {
	Name        string    `json:"name"`
	Type        AgentType `json:"type"`
	Description string    `json:"description"`
	// ParametersSchema is a JSON Schema of the parameters of a session; absent: {prompt}.
	ParametersSchema json.RawMessage `json:"parameters_schema,omitempty"`
	// OutputSchema is a JSON Schema of the result_data, if the agent has one.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// AgentConfig is the config of an LLM agent, if the call has includeConfig.
	AgentConfig json.RawMessage `json:"agent_config,omitempty"`
	// Subscriptions are the triggers of the agent. They are present under the same conditions as the
	// config.
	Subscriptions json.RawMessage `json:"subscriptions,omitempty"`
	// Runner is the participant that registered the agent. It is empty for the process of the hub.
	// RunnerID is the id of the runner if the agent comes from a blueprint.
	Runner   string            `json:"runner,omitempty"`
	RunnerID string            `json:"runner_id,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Online   bool              `json:"online"`
	// Stale is true if its runner has been disconnected for 90 s. After 180 s the hub forgets the
	// agent.
	Stale bool `json:"stale,omitempty"`
}

// ListAgentsResult has the agents in the order of their names.
type ListAgentsResult struct {
	Agents []AgentInfo `json:"agents"`
	// Executors are present if they were requested, in the order of the registering participants and
	// of their ids, as many as fit. ExecutorsMore is the number of the others.
	Executors     []ExecutorInfo `json:"executors,omitempty"`
	ExecutorsMore int            `json:"executorsMore,omitempty"`
}

// ExecutorInfo is a connected executor with its load.
type ExecutorInfo struct {
	ExecutorID string `json:"executorId"`
	// RegisteredBy is the participant that registered it. Internal is true if it is in the process of
	// the hub.
	RegisteredBy string       `json:"registeredBy"`
	Internal     bool         `json:"internal,omitempty"`
	Mode         ExecutorMode `json:"mode"`
	// Agents are the agents whose turns it takes. The agents that it registered as a runner are in the
	// rows of the agents with its runner_id.
	Agents []string          `json:"agents"`
	Labels map[string]string `json:"labels,omitempty"`
	// Claims is the number of claims that it works on, without those that wait for an approval or a
	// session. Capacity is the number of claims up to which the hub offers turns.
	Claims   int `json:"claims"`
	Capacity int `json:"capacity"`
}

// TokenInfo describes a token without its secret and its hash.
type TokenInfo struct {
	TokenID       string    `json:"tokenId"`
	Agents        []string  `json:"agents"`
	Scopes        []Scope   `json:"scopes"`
	Conversations []string  `json:"conversations,omitempty"`
	Workspaces    []string  `json:"workspaces,omitempty"`
	ExpiresAt     Timestamp `json:"expiresAt,omitempty"`
	CreatedBy     string    `json:"createdBy"`
	CreatedAt     Timestamp `json:"createdAt"`
	// Parent is the id of the token that created this one. It is empty for the dev token and for calls
	// in the process of the hub.
	Parent string `json:"parent,omitempty"`
}

// ListTokensResult is a page; NextCursor is empty on the last.
type ListTokensResult struct {
	Tokens     []TokenInfo `json:"tokens"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// RevokeTokenResult has the ids of the revoked tokens.
type RevokeTokenResult struct {
	Revoked []string `json:"revoked"`
}

// The notifications. Those of an SSE stream have no SubscriptionID, because the stream is one
// subscription.

// EventNotification has an event of a subscription.
type EventNotification struct {
	SubscriptionID string `json:"subscriptionId"`
	ConversationID string `json:"conversationId"`
	Event          Event  `json:"event"`
}

// GuidanceNotification has the guidance of the caller at Seq. It follows caught_up, and comes again
// after each change.
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

// DeltaNotification has a delta.
type DeltaNotification struct {
	SubscriptionID string `json:"subscriptionId,omitempty"`
	Delta
}

// ClosingNotification announces that the hub will close the connection or end the stream.
type ClosingNotification struct {
	Reason string `json:"reason"`
	// RetryAfterMs is when to connect again, in milliseconds.
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
	// Stays is true if the hub does not close the connection. The hub lost the log that it shares with
	// other hubs, so a client that knows another one of them should connect there. Streams never have
	// it.
	Stays bool `json:"stays,omitempty"`
}
