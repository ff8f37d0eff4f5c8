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
	ForkConversation(ctx context.Context, p *ForkConversationParams) (*Snapshot, error)
	WatchConversations(ctx context.Context, p *WatchConversationsParams) (*WatchConversationsResult, error)

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

	// RegisterExecutor says that this client's process runs agents, and yields what that brings, over any number of reconnects, until ctx ends (then it
	// yields ctx's error), the loop breaks, or an error that no retry mends is yielded. A client has one registration at a time, and one ExecutorID for
	// its life: another is ErrAlreadyExists, and so is what ends the loop when another client registers as the same executor.
	// p.Holding is asked for anew at each registration by calling holding; nil means none. It should name a claim as soon as ClaimTurn was called for it.
	// An offer that waits while the loop is busy gives way to a newer one of the same turn. When the loop has ended no more turns are offered; the claims that are held stand.
	RegisterExecutor(ctx context.Context, p *RegisterExecutorParams, holding func() []string) iter.Seq2[ExecutorNotification, error]
	ClaimTurn(ctx context.Context, p *ClaimTurnParams) (*ClaimTurnResult, error)
	RenewClaim(ctx context.Context, p *RenewClaimParams) (*RenewClaimResult, error)
	ReleaseClaim(ctx context.Context, p *ReleaseClaimParams) error
	CancelTurn(ctx context.Context, p *CancelTurnParams) (*SeqResult, error)

	ListAgents(ctx context.Context, p *ListAgentsParams) (*ListAgentsResult, error)
	// RegisterBlueprints says which deterministic agents the executor of this client runs. It fails with ErrValidationFailed without a registration, and
	// is to be called again when RegisterExecutor yields Registered.
	RegisterBlueprints(ctx context.Context, p *RegisterBlueprintsParams) (*RegisterBlueprintsResult, error)
	// StartSession, with ModeSync, waits as long as p.TimeoutMs says. When ctx ends before, the session goes on; a call with the same ClientRequestID meets it.
	StartSession(ctx context.Context, p *StartSessionParams) (*Session, error)
	GetSession(ctx context.Context, p *GetSessionParams) (*Session, error)
	StopSession(ctx context.Context, p *StopSessionParams) (*Session, error)

	// RequestApproval asks, and does not wait: GetApproval does.
	RequestApproval(ctx context.Context, p *RequestApprovalParams) (*Approval, error)
	GetApproval(ctx context.Context, p *GetApprovalParams) (*Approval, error)
	ListApprovals(ctx context.Context, p *ListApprovalsParams) (*ListApprovalsResult, error)
	ResolveApproval(ctx context.Context, p *ResolveApprovalParams) (*Approval, error)

	// GetContext gives what an agent is to work with, fetched now. ExplainTriggers says which agents an event has woken, or would wake.
	GetContext(ctx context.Context, p *GetContextParams) (*GetContextResult, error)
	ExplainTriggers(ctx context.Context, p *ExplainTriggersParams) (*ExplainTriggersResult, error)

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
