package sdk_test

import (
	"context"
	"iter"
	"maps"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// calls counts the successful calls of clients by method.
type calls struct {
	mu sync.Mutex // guards the field below
	n  map[string]int
}

func (c *calls) count(method string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	if err == nil {
		c.n[method]++
	}
}

func (c *calls) counted() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// counting is a client whose calls are counted. A method that is new to parley.Client, and not
// here, is counted as never called.
type counting struct {
	parley.Client
	*calls
}

// counted counts a call.
func counted[P, R any](
	c counting,
	ctx context.Context,
	method string,
	f func(context.Context, P) (R, error),
	p P,
) (R, error) {
	r, err := f(ctx, p)
	c.count(method, err)
	return r, err
}

// begun counts what is asked for by a loop.
func begun[N any](c counting, method string, loop iter.Seq2[N, error]) iter.Seq2[N, error] {
	return func(yield func(N, error) bool) {
		for n, err := range loop {
			c.count(method, err)
			if !yield(n, err) {
				return
			}
		}
	}
}

func (c counting) CreateConversation(
	ctx context.Context,
	p *parley.CreateConversationParams,
) (*parley.Snapshot, error) {
	return counted(c, ctx, methods.CreateConversation, c.Client.CreateConversation, p)
}

func (c counting) GetConversation(ctx context.Context, p *parley.GetConversationParams) (*parley.Snapshot, error) {
	return counted(c, ctx, methods.GetConversation, c.Client.GetConversation, p)
}

func (c counting) ListConversations(
	ctx context.Context,
	p *parley.ListConversationsParams,
) (*parley.ListConversationsResult, error) {
	return counted(c, ctx, methods.ListConversations, c.Client.ListConversations, p)
}

func (c counting) WatchConversations(
	ctx context.Context,
	p *parley.WatchConversationsParams,
) (*parley.WatchConversationsResult, error) {
	return counted(c, ctx, methods.WatchConversations, c.Client.WatchConversations, p)
}

func (c counting) AddParticipant(ctx context.Context, p *parley.AddParticipantParams) (*parley.SeqResult, error) {
	return counted(c, ctx, methods.AddParticipant, c.Client.AddParticipant, p)
}

func (c counting) ForkConversation(ctx context.Context, p *parley.ForkConversationParams) (*parley.Snapshot, error) {
	return counted(c, ctx, methods.ForkConversation, c.Client.ForkConversation, p)
}

func (c counting) CloseConversation(ctx context.Context, p *parley.CloseConversationParams) (*parley.SeqResult, error) {
	return counted(c, ctx, methods.CloseConversation, c.Client.CloseConversation, p)
}

func (c counting) Tail(ctx context.Context, p *parley.TailParams) (*parley.TailResult, error) {
	return counted(c, ctx, methods.Tail, c.Client.Tail, p)
}

func (c counting) WaitForChange(
	ctx context.Context,
	p *parley.WaitForChangeParams,
) (*parley.WaitForChangeResult, error) {
	return counted(c, ctx, methods.WaitForChange, c.Client.WaitForChange, p)
}

func (c counting) GetUpdates(ctx context.Context, p *parley.GetUpdatesParams) (*parley.GetUpdatesResult, error) {
	return counted(c, ctx, methods.GetUpdates, c.Client.GetUpdates, p)
}

func (c counting) GetGuidance(ctx context.Context, p *parley.GetGuidanceParams) (*parley.GetGuidanceResult, error) {
	return counted(c, ctx, methods.GetGuidance, c.Client.GetGuidance, p)
}

func (c counting) Explain(ctx context.Context, p *parley.ExplainParams) (*parley.ExplainResult, error) {
	return counted(c, ctx, methods.Explain, c.Client.Explain, p)
}

func (c counting) Subscribe(ctx context.Context, p *parley.SubscribeParams) iter.Seq2[parley.Notification, error] {
	return begun(c, methods.Subscribe, c.Client.Subscribe(ctx, p))
}

func (c counting) SendMessage(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	return counted(c, ctx, methods.SendMessage, c.Client.SendMessage, p)
}

func (c counting) SendTrace(ctx context.Context, p *parley.SendTraceParams) (*parley.SendResult, error) {
	return counted(c, ctx, methods.SendTrace, c.Client.SendTrace, p)
}

func (c counting) SendNote(ctx context.Context, p *parley.SendNoteParams) (*parley.SeqResult, error) {
	return counted(c, ctx, methods.SendNote, c.Client.SendNote, p)
}

func (c counting) SendDelta(ctx context.Context, p *parley.SendDeltaParams) error {
	err := c.Client.SendDelta(ctx, p)
	c.count(methods.SendDelta, err)
	return err
}

func (c counting) PutAttachment(
	ctx context.Context,
	p *parley.PutAttachmentParams,
) (*parley.PutAttachmentResult, error) {
	return counted(c, ctx, methods.PutAttachment, c.Client.PutAttachment, p)
}

func (c counting) GetAttachment(
	ctx context.Context,
	p *parley.GetAttachmentParams,
) (*parley.GetAttachmentResult, error) {
	return counted(c, ctx, methods.GetAttachment, c.Client.GetAttachment, p)
}

func (c counting) RegisterExecutor(
	ctx context.Context, p *parley.RegisterExecutorParams, holding func() []string,
) iter.Seq2[parley.ExecutorNotification, error] {
	return begun(c, methods.RegisterExecutor, c.Client.RegisterExecutor(ctx, p, holding))
}

func (c counting) ClaimTurn(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
	return counted(c, ctx, methods.ClaimTurn, c.Client.ClaimTurn, p)
}

func (c counting) RenewClaim(ctx context.Context, p *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
	return counted(c, ctx, methods.RenewClaim, c.Client.RenewClaim, p)
}

func (c counting) ReleaseClaim(ctx context.Context, p *parley.ReleaseClaimParams) error {
	err := c.Client.ReleaseClaim(ctx, p)
	c.count(methods.ReleaseClaim, err)
	return err
}

func (c counting) CancelTurn(ctx context.Context, p *parley.CancelTurnParams) (*parley.SeqResult, error) {
	return counted(c, ctx, methods.CancelTurn, c.Client.CancelTurn, p)
}

func (c counting) ListAgents(ctx context.Context, p *parley.ListAgentsParams) (*parley.ListAgentsResult, error) {
	return counted(c, ctx, methods.ListAgents, c.Client.ListAgents, p)
}

func (c counting) CreateToken(ctx context.Context, p *parley.CreateTokenParams) (*parley.CreateTokenResult, error) {
	return counted(c, ctx, methods.CreateToken, c.Client.CreateToken, p)
}

func (c counting) ListTokens(ctx context.Context, p *parley.ListTokensParams) (*parley.ListTokensResult, error) {
	return counted(c, ctx, methods.ListTokens, c.Client.ListTokens, p)
}

func (c counting) RevokeToken(ctx context.Context, p *parley.RevokeTokenParams) (*parley.RevokeTokenResult, error) {
	return counted(c, ctx, methods.RevokeToken, c.Client.RevokeToken, p)
}

func (c counting) Stats(ctx context.Context, p *parley.StatsParams) (*parley.Stats, error) {
	return counted(c, ctx, methods.Stats, c.Client.Stats, p)
}

func (c counting) RegisterBlueprints(
	ctx context.Context,
	p *parley.RegisterBlueprintsParams,
) (*parley.RegisterBlueprintsResult, error) {
	return counted(c, ctx, methods.RegisterBlueprints, c.Client.RegisterBlueprints, p)
}

func (c counting) StartSession(ctx context.Context, p *parley.StartSessionParams) (*parley.Session, error) {
	return counted(c, ctx, methods.StartSession, c.Client.StartSession, p)
}

func (c counting) GetSession(ctx context.Context, p *parley.GetSessionParams) (*parley.Session, error) {
	return counted(c, ctx, methods.GetSession, c.Client.GetSession, p)
}

func (c counting) StopSession(ctx context.Context, p *parley.StopSessionParams) (*parley.Session, error) {
	return counted(c, ctx, methods.StopSession, c.Client.StopSession, p)
}

func (c counting) RequestApproval(ctx context.Context, p *parley.RequestApprovalParams) (*parley.Approval, error) {
	return counted(c, ctx, methods.RequestApproval, c.Client.RequestApproval, p)
}

func (c counting) GetApproval(ctx context.Context, p *parley.GetApprovalParams) (*parley.Approval, error) {
	return counted(c, ctx, methods.GetApproval, c.Client.GetApproval, p)
}

func (c counting) ListApprovals(
	ctx context.Context,
	p *parley.ListApprovalsParams,
) (*parley.ListApprovalsResult, error) {
	return counted(c, ctx, methods.ListApprovals, c.Client.ListApprovals, p)
}

func (c counting) ResolveApproval(ctx context.Context, p *parley.ResolveApprovalParams) (*parley.Approval, error) {
	return counted(c, ctx, methods.ResolveApproval, c.Client.ResolveApproval, p)
}

func (c counting) GetContext(ctx context.Context, p *parley.GetContextParams) (*parley.GetContextResult, error) {
	return counted(c, ctx, methods.GetContext, c.Client.GetContext, p)
}

func (c counting) ExplainTriggers(
	ctx context.Context,
	p *parley.ExplainTriggersParams,
) (*parley.ExplainTriggersResult, error) {
	return counted(c, ctx, methods.ExplainTriggers, c.Client.ExplainTriggers, p)
}
