package parley

import (
	"context"
	"iter"
	"time"
)

// Client calls a hub, in the same process or over a connection, with the same methods, types and
// errors. All methods are safe for concurrent use.
//
// A method returns an error that wraps one of the sentinels of [Errors], or the error of ctx. After
// Close, every method returns [ErrUnavailable]. The type of the parameters documents each method.
// protocol.md has the rules, and the reference documentation has the scope and the errors of each
// method.
type Client interface {
	// AgentID returns the id of the participant that the client speaks as.
	AgentID() string
	// Now returns the hub time. It calls the method ping.
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

	// Events yields the visible events after the seq since, and then new events as they are committed.
	// Each is yielded once and in order, over any number of reconnects. The loop ends after the event
	// that closes the conversation. When ctx ends, it yields the error of ctx. An error that a retry
	// cannot repair, such as [ErrNotFound], is yielded last.
	Events(ctx context.Context, conversationID string, since int64) iter.Seq2[Event, error]
	// Subscribe yields events as Events does, and also guidance, deltas and the position at which the
	// reader has caught up. It does not end when the conversation is closed.
	Subscribe(ctx context.Context, p *SubscribeParams) iter.Seq2[Notification, error]

	SendMessage(ctx context.Context, p *SendMessageParams) (*SendResult, error)
	SendTrace(ctx context.Context, p *SendTraceParams) (*SendResult, error)
	SendNote(ctx context.Context, p *SendNoteParams) (*SeqResult, error)
	SendDelta(ctx context.Context, p *SendDeltaParams) error

	PutAttachment(ctx context.Context, p *PutAttachmentParams) (*PutAttachmentResult, error)
	GetAttachment(ctx context.Context, p *GetAttachmentParams) (*GetAttachmentResult, error)

	// RegisterExecutor registers this client as an executor of agents, and yields the offers and the
	// ends of claims, over any number of reconnects. It continues until the loop breaks, or until it
	// yields an error: the error of ctx, or one that a retry cannot repair.
	//
	// A client has one registration at a time. It keeps one ExecutorID for its whole life: another one
	// is [ErrAlreadyExists]. If another client registers the same executor, the loop ends with that
	// error too.
	//
	// At each registration the client calls holding, and sends its result as p.Holding. holding may be
	// nil. Its result should include a claim from the moment at which ClaimTurn is called for it.
	//
	// An offer that waits while the loop is busy is replaced by a newer offer of the same turn. After
	// the loop the hub offers no more turns. The claims that the executor holds remain valid.
	RegisterExecutor(
		ctx context.Context,
		p *RegisterExecutorParams,
		holding func() []string,
	) iter.Seq2[ExecutorNotification, error]
	ClaimTurn(ctx context.Context, p *ClaimTurnParams) (*ClaimTurnResult, error)
	RenewClaim(ctx context.Context, p *RenewClaimParams) (*RenewClaimResult, error)
	ReleaseClaim(ctx context.Context, p *ReleaseClaimParams) error
	CancelTurn(ctx context.Context, p *CancelTurnParams) (*SeqResult, error)

	ListAgents(ctx context.Context, p *ListAgentsParams) (*ListAgentsResult, error)
	// RegisterBlueprints registers the agents of blueprints that the executor of this client runs. It
	// returns ErrValidationFailed if the client is not registered as an executor. Call it again when
	// RegisterExecutor yields Registered.
	RegisterBlueprints(ctx context.Context, p *RegisterBlueprintsParams) (*RegisterBlueprintsResult, error)
	// StartSession waits for the end of the session in ModeSync, at most p.TimeoutMs. If ctx ends
	// first, the session continues. A call with the same ClientRequestID returns the same session.
	StartSession(ctx context.Context, p *StartSessionParams) (*Session, error)
	GetSession(ctx context.Context, p *GetSessionParams) (*Session, error)
	StopSession(ctx context.Context, p *StopSessionParams) (*Session, error)

	// RequestApproval requests an approval and does not wait for the answer. GetApproval waits.
	RequestApproval(ctx context.Context, p *RequestApprovalParams) (*Approval, error)
	GetApproval(ctx context.Context, p *GetApprovalParams) (*Approval, error)
	ListApprovals(ctx context.Context, p *ListApprovalsParams) (*ListApprovalsResult, error)
	ResolveApproval(ctx context.Context, p *ResolveApprovalParams) (*Approval, error)

	// GetContext returns the current agent context of a seat. ExplainTriggers explains which agents an
	// event triggered or would trigger.
	GetContext(ctx context.Context, p *GetContextParams) (*GetContextResult, error)
	ExplainTriggers(ctx context.Context, p *ExplainTriggersParams) (*ExplainTriggersResult, error)

	CreateToken(ctx context.Context, p *CreateTokenParams) (*CreateTokenResult, error)
	ListTokens(ctx context.Context, p *ListTokensParams) (*ListTokensResult, error)
	RevokeToken(ctx context.Context, p *RevokeTokenParams) (*RevokeTokenResult, error)
	Stats(ctx context.Context, p *StatsParams) (*Stats, error)

	// Close ends the client, and all calls and loops that wait.
	Close() error
}

// Notification is an item of [Client.Subscribe]. Exactly one field is set.
type Notification struct {
	Event    *Event
	CaughtUp *CaughtUpNotification
	Guidance *GuidanceNotification
	Delta    *Delta
}
