package parley

// ForkConversationParams make a new conversation that begins with the events of another up to Seq, byte for byte.
// For who may close the other: its creator, its human participants and admins; where it belongs to a workspace, with a token that grants that. Sessions and conversations of the hub's own
// are not forked.
type ForkConversationParams struct {
	// ConversationID is the conversation that is forked; it may be closed.
	ConversationID string `json:"conversationId"`
	// Seq is the last event that both share: 1 to latestSeq, and before the event that has closed it. At most MaxForkEvents and MaxForkBytes are copied.
	Seq int64 `json:"seq"`
	// ForkID is the id of the new conversation: like ConversationID of createConversation. The hub chooses one when it is absent: from the caller and ClientRequestID when there
	// is one.
	ForkID string `json:"forkId,omitempty"`
	// Title is that of the fork; absent, that of the other.
	Title           string `json:"title,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing.
	Traceparent string `json:"traceparent,omitempty"`
}

// ForkRecord says of what a conversation is a fork. It is in the event conversation_forked, which follows the events that both share.
type ForkRecord struct {
	ConversationID string `json:"conversationId"`
	// Seq is the last event that both share, and Hash the hash chain of the other there, in lower-case hex: it can be made again from the shared events and the other's id alone.
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// DerivedForkID is the id that forkConversation gives to what agentID forks with clientRequestId and without forkId.
func DerivedForkID(agentID, clientRequestID string) string {
	return derived("forkConversation", agentID, clientRequestID)
}
