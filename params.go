package parley

import "encoding/json"

// The params of each method that is served. A field without omitempty is required. The doors refuse unknown,
// duplicate and wrongly cased params.

// AuthenticateParams says who the caller is.
type AuthenticateParams struct {
	Token string `json:"token"`
	// AgentID chooses among the ids that the token may speak as; absent, the token's first.
	AgentID string `json:"agentId,omitempty"`
	// ClientName is for the hub's log: at most 128 bytes.
	ClientName string `json:"clientName,omitempty"`
	// Traceparent is that of every call of this connection that names none.
	Traceparent string `json:"traceparent,omitempty"`
}

// PingParams asks for hub time.
type PingParams struct{}

// CreateConversationParams creates a conversation.
type CreateConversationParams struct {
	// ConversationID is chosen by the hub when absent: from the caller and ClientRequestID when there is one.
	ConversationID string        `json:"conversationId,omitempty"`
	Title          string        `json:"title,omitempty"`
	Participants   []Participant `json:"participants"`
	// Policy is round_robin when absent.
	Policy *Policy `json:"policy,omitempty"`
	// StartsWith names who has the floor first; absent, the first participant, or the moderator (moderator), or anyone (open).
	StartsWith string          `json:"startsWith,omitempty"`
	Limits     *Limits         `json:"limits,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	// Workspace is one that the caller's token grants: who else has a token of it may read the conversation, and its watchers are woken.
	Workspace       string `json:"workspace,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing.
	Traceparent string `json:"traceparent,omitempty"`
}

// GetConversationParams asks for a snapshot with the events after SinceSeq.
type GetConversationParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq,omitempty"`
	Limit          int    `json:"limit,omitempty"`
}

// ListConversationsParams pages through the conversations that the caller takes part in or created; admins see all.
// They come in order of creation. A page may have fewer than Limit, even none, and a nextCursor: the hub looks at a bounded number of them at once.
type ListConversationsParams struct {
	Status Status `json:"status,omitempty"`
	// Workspace lists the conversations of one that the token grants, instead.
	Workspace string `json:"workspace,omitempty"`
	// Participant lists those in which it takes part.
	Participant string `json:"participant,omitempty"`
	// Text lists those whose id or title has it, whatever the case: 1 to MaxTitleBytes.
	Text string `json:"text,omitempty"`
	// Newest lists those that were created last first.
	Newest bool `json:"newest,omitempty"`
	// Limit is 1 to 100; default 50.
	Limit int `json:"limit,omitempty"`
	// Cursor is nextCursor of the page before.
	Cursor string `json:"cursor,omitempty"`
}

// AddParticipantParams adds a seat. Creator and admin only.
type AddParticipantParams struct {
	ConversationID string      `json:"conversationId"`
	Participant    Participant `json:"participant"`
}

// CloseConversationParams closes a conversation. Creator, human participants and admin only.
type CloseConversationParams struct {
	ConversationID string   `json:"conversationId"`
	Outcome        *Outcome `json:"outcome,omitempty"`
}

// TailParams asks for the events after SinceSeq.
type TailParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq"`
	Limit          int    `json:"limit,omitempty"`
}

// WaitForChangeParams waits until the log is longer than SinceSeq.
type WaitForChangeParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq"`
	// TimeoutMs absent or 0 answers at once; more than MaxWaitMs is taken as MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
}

// Until says what getUpdates waits for.
type Until string

// The values of Until. Each of them also ends when the conversation is closed.
const (
	// UntilAny is a visible event after SinceSeq. The default.
	UntilAny Until = "any"
	// UntilMessage is a message after SinceSeq.
	UntilMessage Until = "message"
	// UntilMyTurn is that the caller may speak, and no claim stands but one that its connection holds.
	UntilMyTurn Until = "my_turn"
	// UntilClosed is the end of the conversation.
	UntilClosed Until = "closed"
)

// GetUpdatesParams asks for the messages after SinceSeq and the caller's guidance.
type GetUpdatesParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq,omitempty"`
	Limit          int    `json:"limit,omitempty"`
	TimeoutMs      int64  `json:"timeoutMs,omitempty"`
	Until          Until  `json:"until,omitempty"`
}

// SubscribeParams asks for the events after SinceSeq and then for what comes.
type SubscribeParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq,omitempty"`
	// Types filters events, replay and live alike; nil means all. Empty but not nil is refused.
	Types []EventType `json:"types,omitzero"`
}

// UnsubscribeParams ends a subscription of this socket.
type UnsubscribeParams struct {
	SubscriptionID string `json:"subscriptionId"`
}

// GetGuidanceParams asks for the caller's guidance.
type GetGuidanceParams struct {
	ConversationID string `json:"conversationId"`
	// Explain adds all rules tried.
	Explain bool `json:"explain,omitempty"`
}

// ExplainParams asks for the guidance of every participant at a seq, with the rules tried.
type ExplainParams struct {
	ConversationID string `json:"conversationId"`
	// Seq is 1 to latestSeq; absent, the latest.
	Seq int64 `json:"seq,omitempty"`
}

// SendMessageParams appends a message.
type SendMessageParams struct {
	ConversationID string          `json:"conversationId"`
	Payload        json.RawMessage `json:"payload"`
	Finality       Finality        `json:"finality"`
	// Turn is the turn that the author means: refused when that one has ended or is not reached.
	Turn int64 `json:"turn,omitempty"`
	// AfterSeq is the last seq that the author has read: refused when another participant has spoken since.
	AfterSeq *int64 `json:"afterSeq,omitempty"`
	// TurnHint names who shall be next. It goes with FinalityTurn, under the policies addressed and moderator.
	TurnHint *TurnHint `json:"turnHint,omitempty"`
	// Outcome goes with FinalityConversation only; absent means completed.
	Outcome *Outcome `json:"outcome,omitempty"`
	// ClaimID is the claim under which it is said: refused when that is not the current one. A connection that took the claim may leave it out.
	ClaimID         string `json:"claimId,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing.
	Traceparent string `json:"traceparent,omitempty"`
}

// SendTraceParams appends a trace.
type SendTraceParams struct {
	ConversationID  string          `json:"conversationId"`
	Payload         json.RawMessage `json:"payload"`
	Turn            int64           `json:"turn,omitempty"`
	ClaimID         string          `json:"claimId,omitempty"`
	ClientRequestID string          `json:"clientRequestId,omitempty"`
	// Traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing.
	Traceparent string `json:"traceparent,omitempty"`
}

// SendNoteParams appends a note.
type SendNoteParams struct {
	ConversationID  string `json:"conversationId"`
	Payload         Note   `json:"payload"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing.
	Traceparent string `json:"traceparent,omitempty"`
}

// SendDeltaParams passes a piece of text to live subscribers. It is fenced like a message.
type SendDeltaParams struct {
	ConversationID string `json:"conversationId"`
	Turn           int64  `json:"turn"`
	ClaimID        string `json:"claimId,omitempty"`
	Index          int64  `json:"index"`
	Text           string `json:"text"`
}

// CreateTokenParams makes a token that may do no more than the caller's. The secret is shown once.
type CreateTokenParams struct {
	// AgentID is the id that the token speaks as unless another is chosen.
	AgentID string `json:"agentId"`
	// Agents are further ids that it may speak as.
	Agents []string `json:"agents,omitzero"`
	// Scopes are, when nil, those of DefaultScopes that the caller has. Empty but not nil is refused.
	Scopes []Scope `json:"scopes,omitzero"`
	// Conversations narrow the token to these; nil, the caller's own. Empty but not nil is refused.
	Conversations []string `json:"conversations,omitzero"`
	// Workspaces are those that it grants: of the caller's own, and of any for an admin; nil, none. Empty but not nil is refused.
	Workspaces []string `json:"workspaces,omitzero"`
	// ExpiresInMs is 1,000 to MaxDurationMs; absent, as long as the caller's own.
	ExpiresInMs int64 `json:"expiresInMs,omitempty"`
	// Claim makes it a token for one turn: it ends with the claim, which the caller must hold, reaches that conversation alone, speaks as the claim's
	// participant, and speaks under the claim without naming it. AgentID must be that participant; Agents and Conversations are left out.
	Claim *ClaimRef `json:"claim,omitempty"`
}

// CreateTicketParams makes a ticket: a stand-in for the caller's token that is used once, within 30 s, by a browser that cannot
// set headers.
type CreateTicketParams struct {
	// ConversationID narrows what the ticket opens to this conversation; the caller must see it.
	ConversationID string `json:"conversationId,omitempty"`
	// Origin is the origin of the page that will use the ticket; absent, any that the hub allows.
	Origin string `json:"origin,omitempty"`
}

// PutAttachmentParams adds a file to a conversation. The same bytes again are the same attachment.
type PutAttachmentParams struct {
	ConversationID string `json:"conversationId"`
	// Data is the file, at most MaxAttachmentBytes; on the wire base64 (RFC 4648, section 4), so that over JSON-RPC a frame bounds it.
	Data []byte `json:"data"`
	// Name is what the author calls the file: at most MaxNameBytes, no path. It is told to readers, and never used as a path.
	Name string `json:"name,omitempty"`
	// MediaType is what the author says it is, such as application/pdf. The hub does not look.
	MediaType string `json:"mediaType,omitempty"`
}

// GetAttachmentParams reads a part of a file that was added to a conversation.
type GetAttachmentParams struct {
	ConversationID string `json:"conversationId"`
	// SHA256 names the file, in lower-case hex.
	SHA256 string `json:"sha256"`
	Offset int64  `json:"offset,omitempty"`
	// Length is 1 to MaxAttachmentPart; absent, that. The file may end before.
	Length int `json:"length,omitempty"`
}

// ListAgentsParams asks for the agents that can be asked to do something.
type ListAgentsParams struct {
	// IncludeConfig adds agent_config to the LLM agents that the caller has registered; an admin gets it of all.
	IncludeConfig bool `json:"includeConfig,omitempty"`
	// IncludeExecutors adds the executors that the caller has registered; an admin gets all.
	IncludeExecutors bool `json:"includeExecutors,omitempty"`
}

// ListTokensParams pages through the live tokens that the caller may revoke, in order of creation.
type ListTokensParams struct {
	// Limit is 1 to 1000; default 200.
	Limit int `json:"limit,omitempty"`
	// Cursor is nextCursor of the page before.
	Cursor string `json:"cursor,omitempty"`
}

// RevokeTokenParams ends a token, and those made with it, and those made with them.
type RevokeTokenParams struct {
	TokenID string `json:"tokenId"`
}

// StatsParams asks for what the hub has counted since it was started.
type StatsParams struct{}
