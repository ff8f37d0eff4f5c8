package parley

import (
	"context"
	"iter"
	"time"
)

// Client is how anybody talks to a hub: in its process or over a wire, with the same methods, types and errors.
// All methods may be called from any goroutine. A method fails with one of the sentinels of [Errors]
// or with ctx's error; after Close every method fails with ErrUnavailable.
type Client interface {
	// AgentID is the participant that this client speaks as.
	AgentID() string
	// Now is hub time, asked by ping.
	Now(ctx context.Context) (time.Time, error)

	CreateConversation(ctx context.Context, p *CreateConversationParams) (*Snapshot, error)
	GetConversation(ctx context.Context, p *GetConversationParams) (*Snapshot, error)
	ListConversations(ctx context.Context, p *ListConversationsParams) (*ListConversationsResult, error)
	AddParticipant(ctx context.Context, p *AddParticipantParams) (*SeqResult, error)
	CloseConversation(ctx context.Context, p *CloseConversationParams) (*SeqResult, error)

	Tail(ctx context.Context, p *TailParams) (*TailResult, error)
	WaitForChange(ctx context.Context, p *WaitForChangeParams) (*WaitForChangeResult, error)
	GetUpdates(ctx context.Context, p *GetUpdatesParams) (*GetUpdatesResult, error)
	GetGuidance(ctx context.Context, p *GetGuidanceParams) (*GetGuidanceResult, error)
	Explain(ctx context.Context, p *ExplainParams) (*ExplainResult, error)

	// Events yields the visible events after since, then those to come, each once and in order, over any number of
	// reconnects, until the conversation's closing event was yielded, the loop breaks, or ctx ends (then it yields ctx's
	// error). An error that no retry mends, such as ErrNotFound, is yielded last.
	Events(ctx context.Context, conversationID string, since int64) iter.Seq2[Event, error]
	// Subscribe is Events with everything that a subscription carries. It does not end by itself when the
	// conversation is closed.
	Subscribe(ctx context.Context, p *SubscribeParams) iter.Seq2[Notification, error]

	SendMessage(ctx context.Context, p *SendMessageParams) (*SendResult, error)
	SendTrace(ctx context.Context, p *SendTraceParams) (*SendResult, error)
	SendNote(ctx context.Context, p *SendNoteParams) (*SeqResult, error)
	SendDelta(ctx context.Context, p *SendDeltaParams) error

	PutAttachment(ctx context.Context, p *PutAttachmentParams) (*PutAttachmentResult, error)
	GetAttachment(ctx context.Context, p *GetAttachmentParams) (*GetAttachmentResult, error)

	ListAgents(ctx context.Context, p *ListAgentsParams) (*ListAgentsResult, error)

	CreateToken(ctx context.Context, p *CreateTokenParams) (*CreateTokenResult, error)
	ListTokens(ctx context.Context, p *ListTokensParams) (*ListTokensResult, error)
	RevokeToken(ctx context.Context, p *RevokeTokenParams) (*RevokeTokenResult, error)
	Stats(ctx context.Context, p *StatsParams) (*Stats, error)

	// Close ends the client and everything that waits on it.
	Close() error
}

// Notification is one thing that a subscription tells: exactly one field is set.
type Notification struct {
	Event    *Event
	CaughtUp *CaughtUpNotification
	Guidance *GuidanceNotification
	Delta    *Delta
}
