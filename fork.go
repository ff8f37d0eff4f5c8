package parley

// ForkConversationParams create a conversation that begins with the events of another one up to
// Seq, byte for byte. The callers that may close the other conversation may fork it: its creator,
// its human participants and admins. If it belongs to a workspace, the token must grant that
// workspace. Sessions and the conversations of the hub cannot be forked.
type ForkConversationParams struct {
	// ConversationID is the conversation to fork. It may be closed.
	ConversationID string `json:"conversationId"`
	// Seq is the last shared event: 1 to latestSeq, and before the event that closed the conversation.
	// A fork copies at most 20,000 events and 16 MiB.
	Seq int64 `json:"seq"`
	// ForkID is the id of the new conversation, in the form of conversationId of createConversation.
	// If it is absent, the hub chooses one. With ClientRequestID, the id depends on the caller and the
	// key only.
	ForkID string `json:"forkId,omitempty"`
	// Title is the title of the fork; absent, the title of the other conversation.
	Title           string `json:"title,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and
	// the spans that the event causes belong to the same trace. A retry does not change it.
	Traceparent string `json:"traceparent,omitempty"`
}

// ForkRecord describes the origin of a fork. The event conversation_forked, which follows the
// shared events, has it.
type ForkRecord struct {
	ConversationID string `json:"conversationId"`
	// Seq is the last shared event. Hash is the value of the hash chain of the other conversation at
	// Seq, in lower-case hex. It can be computed from the shared events and the id of the other
	// conversation.
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// DerivedForkID returns the id of a conversation that agentID forks with clientRequestID and
// without a fork id.
func DerivedForkID(agentID, clientRequestID string) string {
	return derived("forkConversation", agentID, clientRequestID)
}
