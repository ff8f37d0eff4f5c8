package hub

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/turns"
)

// The methods of this file belong to other packages. The methods of these packages, which have the
// same parameters, document them.

// fresh makes a call that changes nothing if it refuses. See [auth.CallFresh].
func fresh[P, R any](
	ctx context.Context, h *Hub, p *Principal, q *P, call func(context.Context, *Principal, *P) (R, error),
) (R, error) {
	return auth.CallFresh(ctx, h.auth, func() (R, error) { return call(ctx, p, q) })
}

// RegisterAgent offers an agent to all callers that may read, until remove is called; remove may be
// called more than once. The name is that of a participant. The hub sets Online. It fails with
// ErrValidationFailed, ErrAlreadyExists, or ErrTooLarge (also if all agents would not fit into one
// answer of listAgents).
func (h *Hub) RegisterAgent(info parley.AgentInfo) (remove func(), err error) {
	return h.registry.RegisterAgent(info)
}

// ListAgents returns the registered agents by name.
func (h *Hub) ListAgents(_ context.Context, p *Principal, q *parley.ListAgentsParams) (parley.ListAgentsResult, error) {
	return h.registry.ListAgents(p, q)
}

// RegisterBlueprints replaces the agents of the executor of p's connection. Without blueprints the
// executor leaves. The calls of a connection take effect in their order.
func (h *Hub) RegisterBlueprints(
	p *Principal, q *parley.RegisterBlueprintsParams, done func(parley.RegisterBlueprintsResult, error),
) {
	h.registry.RegisterBlueprints(p, q, done)
}

// StartSession starts a session.
func (h *Hub) StartSession(ctx context.Context, p *Principal, q *parley.StartSessionParams) (*parley.Session, error) {
	return fresh(ctx, h, p, q, h.sessions.Start)
}

// GetSession returns a session.
func (h *Hub) GetSession(ctx context.Context, p *Principal, q *parley.GetSessionParams) (*parley.Session, error) {
	return fresh(ctx, h, p, q, h.sessions.Get)
}

// StopSession ends a session.
func (h *Hub) StopSession(ctx context.Context, p *Principal, q *parley.StopSessionParams) (*parley.Session, error) {
	return fresh(ctx, h, p, q, h.sessions.Stop)
}

// ExplainTriggers returns which agents an event triggers.
func (h *Hub) ExplainTriggers(
	ctx context.Context, p *Principal, q *parley.ExplainTriggersParams,
) (*parley.ExplainTriggersResult, error) {
	return fresh(ctx, h, p, q, h.triggers.Explain)
}

// GetContext returns the context of an agent.
func (h *Hub) GetContext(ctx context.Context, p *Principal, q *parley.GetContextParams) (*parley.GetContextResult, error) {
	return fresh(ctx, h, p, q, h.contexts.GetContext)
}

// RequestApproval requests an approval under a claim.
func (h *Hub) RequestApproval(
	ctx context.Context, p *Principal, q *parley.RequestApprovalParams,
) (*parley.Approval, error) {
	return h.approvals.Request(ctx, p, q)
}

// GetApproval returns an approval. With a timeout it waits until the approval is resolved.
func (h *Hub) GetApproval(ctx context.Context, p *Principal, q *parley.GetApprovalParams) (*parley.Approval, error) {
	return fresh(ctx, h, p, q, h.approvals.Get)
}

// ListApprovals returns the approvals with a status that the caller may answer or requested.
func (h *Hub) ListApprovals(
	ctx context.Context, p *Principal, q *parley.ListApprovalsParams,
) (*parley.ListApprovalsResult, error) {
	return fresh(ctx, h, p, q, h.approvals.List)
}

// ResolveApproval answers a pending approval.
func (h *Hub) ResolveApproval(
	ctx context.Context, p *Principal, q *parley.ResolveApprovalParams,
) (*parley.Approval, error) {
	return fresh(ctx, h, p, q, h.approvals.Resolve)
}

// PutAttachment adds a file to a conversation. It may wait for the disk.
func (h *Hub) PutAttachment(
	ctx context.Context, p *Principal, q *parley.PutAttachmentParams,
) (parley.PutAttachmentResult, error) {
	return h.files.Upload(ctx, p, q, int64(len(q.Data)), func() ([]byte, error) { return q.Data, nil })
}

// UploadAttachment is PutAttachment for a file that read returns. It calls read after all checks that
// need no data. size is the announced number of bytes, or negative if it is unknown. q.Data is ignored.
func (h *Hub) UploadAttachment(
	ctx context.Context, p *Principal, q *parley.PutAttachmentParams, size int64, read func() ([]byte, error),
) (parley.PutAttachmentResult, error) {
	return h.files.Upload(ctx, p, q, size, read)
}

// GetAttachment reads a part of a file of a conversation that the caller may read.
func (h *Hub) GetAttachment(
	ctx context.Context, p *Principal, q *parley.GetAttachmentParams,
) (parley.GetAttachmentResult, error) {
	return h.files.Get(ctx, p, q)
}

// AttachmentInfo returns the size, the name and the media type of a file.
func (h *Hub) AttachmentInfo(_ context.Context, p *Principal, q *parley.GetAttachmentParams) (parley.System, error) {
	return h.files.Describe(p, q)
}

// WatchConversations returns the conversations that changed since a cursor.
func (h *Hub) WatchConversations(
	ctx context.Context, p *Principal, q *parley.WatchConversationsParams,
) (*parley.WatchConversationsResult, error) {
	return h.changes.Watch(ctx, p, q)
}

// CreateToken creates a token that may do no more than that of the caller.
func (h *Hub) CreateToken(p *Principal, q *parley.CreateTokenParams, done func(parley.CreateTokenResult, error)) {
	h.auth.CreateToken(p, q, done)
}

// ListTokens returns a page of the live tokens that the caller may revoke, in the order of creation.
func (h *Hub) ListTokens(_ context.Context, p *Principal, q *parley.ListTokensParams) (parley.ListTokensResult, error) {
	return h.auth.ListTokens(p, q)
}

// RevokeToken revokes a token of the caller and all tokens below it.
func (h *Hub) RevokeToken(p *Principal, q *parley.RevokeTokenParams, done func(parley.RevokeTokenResult, error)) {
	h.auth.RevokeToken(p, q, done)
}

// RegisterExecutor registers p's connection as an executor. It waits until the hub knows all claims.
func (h *Hub) RegisterExecutor(
	p *Principal, q *parley.RegisterExecutorParams, done func(parley.RegisterExecutorResult, error),
) {
	h.turns.RegisterExecutor(p, q, done)
}

// ClaimTurn claims a turn: an offered turn by the id of the offer, or a turn of the caller by its number.
func (h *Hub) ClaimTurn(p *Principal, q *parley.ClaimTurnParams, done func(parley.ClaimTurnResult, error)) {
	h.turns.ClaimTurn(p, q, done)
}

// RenewClaim extends a claim.
func (h *Hub) RenewClaim(p *Principal, q *parley.RenewClaimParams, done func(parley.RenewClaimResult, error)) {
	h.turns.RenewClaim(p, q, done)
}

// ReleaseClaim releases a claim.
func (h *Hub) ReleaseClaim(p *Principal, q *parley.ReleaseClaimParams, done func(parley.EmptyResult, error)) {
	h.turns.ReleaseClaim(p, q, done)
}

// authorizer checks the requests of principals.
type authorizer struct{ hub *Hub }

// Authorize implements conv.Authorizer.
func (a authorizer) Authorize(r *conv.Request, head *fold.State) *conv.Refusal {
	if head.Claim != nil && head.AwaitsApproval() {
		r.Cmd.HeldMs, _ = a.hub.turns.HeldFor(head.ID, head.Claim.Hash)
	}
	if r.By == nil {
		return nil
	}
	p := r.By.(*auth.Principal)
	r.Cmd.Executor, r.Cmd.By = turns.ConnectionOf(p).Executor(), p.Home()
	r.Cmd.Implied, r.Cmd.ImpliedTurn = p.Implied(head.ID, head.Claim)
	if err := p.Valid(a.hub.Now()); err != nil { // checked again: the token may end during the call
		return &conv.Refusal{Err: err, Final: true}
	}
	switch {
	case !r.Unseen && !p.Sees(head): // checked again: the event that made it visible may be lost
		return &conv.Refusal{Err: auth.ErrNotFound}
	case !p.HasCurrentClaim(head):
		return &conv.Refusal{Err: auth.ErrClaimOver}
	}
	if err := a.hub.sessions.CheckEarly(head, r.Cmd.From); err != nil {
		return &conv.Refusal{Err: err, Final: true}
	}
	return nil
}

// The types of authentication and connections; see packages auth and turns.
type (
	Principal  = auth.Principal
	Verifier   = auth.Verifier
	Identity   = auth.Identity
	Connection = turns.Connection
)

// LocalPrincipal returns a principal for a caller inside the hub's process. Without scopes it has the
// default scopes.
func (h *Hub) LocalPrincipal(agentID string, scopes ...parley.Scope) *Principal {
	return auth.Local(agentID, scopes...)
}

// Authenticate returns the principal of a token. See [auth.Service.Authenticate].
func (h *Hub) Authenticate(ctx context.Context, token, agentID string) (*Principal, error) {
	return h.auth.Authenticate(ctx, token, agentID)
}

// NewSecret makes a secret as Options.NewSecret does.
func (h *Hub) NewSecret() string { return h.opts.NewSecret() }

// Revocations returns a channel that is closed when, after the call, the next token is revoked.
func (h *Hub) Revocations() <-chan struct{} { return h.auth.Revocations() }

// Valid returns nil while the principal's token is valid, else the refusal.
func (h *Hub) Valid(p *Principal) error { return p.Valid(h.Now()) }

// Narrow returns a copy of p for one conversation, which p must see; else it fails with ErrNotFound.
func (h *Hub) Narrow(p *Principal, conversation string) (*Principal, error) {
	return h.auth.Narrow(p, conversation)
}
