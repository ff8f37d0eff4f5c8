package hub

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/turns"
)

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
