package parley

import "encoding/json"

// The parameters of the methods. A field without omitempty is required. The servers refuse unknown
// and duplicate parameters, and names in the wrong case.

// AuthenticateParams authenticate the connection.
type AuthenticateParams struct {
	Token string `json:"token"`
	// AgentID is one of the ids that the token may speak as; absent, the first id of the token.
	AgentID string `json:"agentId,omitempty"`
	// ClientName is for the log of the hub. It has at most 128 bytes.
	ClientName string `json:"clientName,omitempty"`
	// Traceparent is used for each call of this connection that has none.
	Traceparent string `json:"traceparent,omitempty"`
}

// PingParams request the hub time.
type PingParams struct{}

// CreateConversationParams create a conversation.
type CreateConversationParams struct {
	// ConversationID is the id of the conversation. If it is absent, the hub chooses one. With
	// ClientRequestID, the id depends on the caller and the key only.
	ConversationID string        `json:"conversationId,omitempty"`
	Title          string        `json:"title,omitempty"`
	Participants   []Participant `json:"participants"`
	// Policy is round_robin if it is absent.
	Policy *Policy `json:"policy,omitempty"`
	// StartsWith is the participant that has the floor first; absent, the first participant, or the
	// moderator (moderator), or anyone (open).
	StartsWith string          `json:"startsWith,omitempty"`
	Limits     *Limits         `json:"limits,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	// Workspace is a workspace that the token of the caller grants. Other tokens of the workspace may
	// read the conversation, and its events trigger the watchers of the workspace.
	Workspace       string `json:"workspace,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and
	// the spans that the event causes belong to the same trace. A retry does not change it.
	Traceparent string `json:"traceparent,omitempty"`
}

// GetConversationParams request a snapshot with the events after SinceSeq.
type GetConversationParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq,omitempty"`
	Limit          int    `json:"limit,omitempty"`
}

// ListConversationsParams list the conversations that the caller takes part in or created. Admins
// see all. They are in the order of their creation. A page may have fewer than Limit conversations,
// or none, and still a nextCursor, because the hub examines a bounded number of conversations in
// one call.
type ListConversationsParams struct {
	Status Status `json:"status,omitempty"`
	// Workspace lists the conversations of a workspace of the token instead.
	Workspace string `json:"workspace,omitempty"`
	// Participant restricts the list to conversations of this participant.
	Participant string `json:"participant,omitempty"`
	// Text restricts the list to conversations whose id or title contains it, in upper or lower case.
	// 1 to MaxTitleBytes bytes.
	Text string `json:"text,omitempty"`
	// Newest reverses the order: the conversation that was created last comes first.
	Newest bool `json:"newest,omitempty"`
	// Limit is 1 to 100; default 50.
	Limit int `json:"limit,omitempty"`
	// Cursor is the nextCursor of the previous page.
	Cursor string `json:"cursor,omitempty"`
}

// AddParticipantParams add a participant. Only the creator and admins may do that.
type AddParticipantParams struct {
	ConversationID string      `json:"conversationId"`
	Participant    Participant `json:"participant"`
}

// CloseConversationParams close a conversation. Only the creator, human participants and admins may
// do that.
type CloseConversationParams struct {
	ConversationID string   `json:"conversationId"`
	Outcome        *Outcome `json:"outcome,omitempty"`
}

// TailParams request the events after SinceSeq.
type TailParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq"`
	Limit          int    `json:"limit,omitempty"`
}

// WaitForChangeParams block until the log is longer than SinceSeq.
type WaitForChangeParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq"`
	// TimeoutMs is how long the call waits. If it is absent or 0, the call does not wait. The hub
	// reduces a value over MaxWaitMs to MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
}

// Until is what getUpdates waits for.
type Until string

// The values of Until. Each wait also ends when the conversation is closed.
const (
	// UntilAny waits for a visible event after SinceSeq. The default.
	UntilAny Until = "any"
	// UntilMessage waits for a message after SinceSeq.
	UntilMessage Until = "message"
	// UntilMyTurn waits until the caller may speak, and no claim is current except one that its
	// connection holds.
	UntilMyTurn Until = "my_turn"
	// UntilClosed waits until the conversation is closed.
	UntilClosed Until = "closed"
)

// GetUpdatesParams request the messages after SinceSeq and the guidance of the caller.
type GetUpdatesParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq,omitempty"`
	Limit          int    `json:"limit,omitempty"`
	TimeoutMs      int64  `json:"timeoutMs,omitempty"`
	Until          Until  `json:"until,omitempty"`
}

// SubscribeParams request the events after SinceSeq, and then new events.
type SubscribeParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq,omitempty"`
	// Types filters stored and new events alike; absent means all. An empty list is refused.
	Types []EventType `json:"types,omitzero"`
}

// UnsubscribeParams end a subscription of this connection.
type UnsubscribeParams struct {
	SubscriptionID string `json:"subscriptionId"`
}

// GetGuidanceParams request the guidance of the caller.
type GetGuidanceParams struct {
	ConversationID string `json:"conversationId"`
	// Explain adds all rules that were tried.
	Explain bool `json:"explain,omitempty"`
}

// ExplainParams request the guidance of all participants at a seq, with the rules that were tried.
type ExplainParams struct {
	ConversationID string `json:"conversationId"`
	// Seq is 1 to latestSeq; absent, the latest.
	Seq int64 `json:"seq,omitempty"`
}

// SendMessageParams append a message.
type SendMessageParams struct {
	ConversationID string          `json:"conversationId"`
	Payload        json.RawMessage `json:"payload"`
	Finality       Finality        `json:"finality"`
	// Turn is the turn of the message. The hub refuses the call if that turn ended or has not started.
	Turn int64 `json:"turn,omitempty"`
	// AfterSeq is the last seq that the author has read. The hub refuses the call if another
	// participant spoke after it.
	AfterSeq *int64 `json:"afterSeq,omitempty"`
	// TurnHint names the participant that should be next. It is allowed with FinalityTurn, under the
	// policies addressed and moderator.
	TurnHint *TurnHint `json:"turnHint,omitempty"`
	// Outcome is allowed with FinalityConversation only; absent means completed.
	Outcome *Outcome `json:"outcome,omitempty"`
	// ClaimID is the claim of the author. The hub refuses the call if it is not the current one. The
	// connection that made the claim may omit it.
	ClaimID         string `json:"claimId,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and
	// the spans that the event causes belong to the same trace. A retry does not change it.
	Traceparent string `json:"traceparent,omitempty"`
}

// SendTraceParams append a trace.
type SendTraceParams struct {
	ConversationID  string          `json:"conversationId"`
	Payload         json.RawMessage `json:"payload"`
	Turn            int64           `json:"turn,omitempty"`
	ClaimID         string          `json:"claimId,omitempty"`
	ClientRequestID string          `json:"clientRequestId,omitempty"`
	// Traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and
	// the spans that the event causes belong to the same trace. A retry does not change it.
	Traceparent string `json:"traceparent,omitempty"`
}

// SendNoteParams append a note.
type SendNoteParams struct {
	ConversationID  string `json:"conversationId"`
	Payload         Note   `json:"payload"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and
	// the spans that the event causes belong to the same trace. A retry does not change it.
	Traceparent string `json:"traceparent,omitempty"`
}

// SendDeltaParams send a part of the text of a message to live subscribers. The hub checks the turn
// and the claim as in sendMessage.
type SendDeltaParams struct {
	ConversationID string `json:"conversationId"`
	Turn           int64  `json:"turn"`
	ClaimID        string `json:"claimId,omitempty"`
	Index          int64  `json:"index"`
	Text           string `json:"text"`
}

// CreateTokenParams create a token that has at most the rights of the caller. The secret is
// returned once.
type CreateTokenParams struct {
	// AgentID is the id that the token speaks as by default.
	AgentID string `json:"agentId"`
	// Agents are further ids that the token may speak as.
	Agents []string `json:"agents,omitzero"`
	// Scopes are the scopes of the token. If they are absent, the token has the default scopes that
	// the caller has: read, write, create and claim. An empty list is refused.
	Scopes []Scope `json:"scopes,omitzero"`
	// Conversations restrict the token to these conversations; absent, to those of the caller's token.
	// An empty list is refused.
	Conversations []string `json:"conversations,omitzero"`
	// Workspaces are the workspaces that the token grants. They must be among those of the caller,
	// unless it is an admin; absent, none. An empty list is refused.
	Workspaces []string `json:"workspaces,omitzero"`
	// ExpiresInMs is the validity in milliseconds: 1,000 ms to 366 days; absent, that of the caller's
	// token.
	ExpiresInMs int64 `json:"expiresInMs,omitempty"`
	// Claim restricts the token to one turn. The caller must hold the claim, and the token ends with
	// it. The token can access that conversation only, speaks as the participant of the claim, and
	// need not name the claim. AgentID must be that participant. Agents and Conversations must be
	// absent.
	Claim *ClaimRef `json:"claim,omitempty"`
}

// CreateTicketParams create a ticket: a replacement for the token of the caller in a URL. It works
// once, within 30 s, for browsers that cannot set headers.
type CreateTicketParams struct {
	// ConversationID restricts the ticket to this conversation. The caller must be able to read it.
	ConversationID string `json:"conversationId,omitempty"`
	// Origin is the origin of the page that will use the ticket; absent, any that the hub allows.
	Origin string `json:"origin,omitempty"`
}

// PutAttachmentParams add a file to a conversation. The same bytes are the same attachment.
type PutAttachmentParams struct {
	ConversationID string `json:"conversationId"`
	// Data is the file, at most MaxAttachmentBytes bytes. JSON has it in base64 (RFC 4648, section 4),
	// so MaxFrameBytes bounds it over JSON-RPC.
	Data []byte `json:"data"`
	// Name is the file name for readers: at most 255 bytes, without a path. The hub never uses it as a
	// path.
	Name string `json:"name,omitempty"`
	// MediaType is the type that the author declares, such as application/pdf. The hub does not check
	// it.
	MediaType string `json:"mediaType,omitempty"`
}

// GetAttachmentParams read a part of a file of a conversation.
type GetAttachmentParams struct {
	ConversationID string `json:"conversationId"`
	// SHA256 is the hash of the file, in lower-case hex.
	SHA256 string `json:"sha256"`
	Offset int64  `json:"offset,omitempty"`
	// Length is the maximum length of the part: 1 byte to 512 KiB; absent, 512 KiB.
	Length int `json:"length,omitempty"`
}

// ListAgentsParams list the agents that the caller can use.
type ListAgentsParams struct {
	// IncludeConfig adds agent_config to the LLM agents that the caller registered. An admin receives
	// all configs.
	IncludeConfig bool `json:"includeConfig,omitempty"`
	// IncludeExecutors adds the executors that the caller registered. An admin receives all executors.
	IncludeExecutors bool `json:"includeExecutors,omitempty"`
}

// ListTokensParams list the valid tokens that the caller may revoke, in the order of their
// creation.
type ListTokensParams struct {
	// Limit is 1 to 1000; default 200.
	Limit int `json:"limit,omitempty"`
	// Cursor is the nextCursor of the previous page.
	Cursor string `json:"cursor,omitempty"`
}

// RevokeTokenParams revoke a token, and all tokens that were created with it, directly or
// indirectly.
type RevokeTokenParams struct {
	TokenID string `json:"tokenId"`
}

// StatsParams request the counters of the hub since its start.
type StatsParams struct{}
