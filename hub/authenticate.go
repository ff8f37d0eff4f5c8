package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"strings"

	"github.com/parleyhub/parley"
)

// rootTokenID names the root token. What is made with it has no parent: the next start has another root token.
const rootTokenID = "root"

var errBadToken = parley.Refuse(parley.ErrUnauthenticated, "the token is not valid", "a token of this hub")

// Authenticate tells who calls with a token: the root token, one of the hub's own, or one that the Verifier of the options knows. agentID chooses
// among the ids that the token may speak as; empty is its first ("admin" for the root token). It fails with ErrUnauthenticated, with
// ErrForbidden for another's id, or with ErrUnavailable when it cannot be known at the moment.
func (h *Hub) Authenticate(ctx context.Context, token, agentID string) (*Principal, error) {
	mayBeNew := h.shared && h.mayBeNew(token) // before it is looked for: it may come between the two
	p, err := h.authenticate(ctx, token, agentID)
	if !mayBeNew || !h.mayBeStale(err) || !errors.Is(err, parley.ErrUnauthenticated) {
		return p, err
	}
	if err := h.conv.CatchUp(ctx); err != nil {
		return nil, err
	}
	return h.authenticate(ctx, token, agentID)
}

// mayBeNew reports whether a token, where it is refused, may be one that another hub has just made, or of a claim that was taken there. That of which the id is known is not.
func (h *Hub) mayBeNew(token string) bool {
	if strings.HasPrefix(token, commandPrefix) {
		return true
	}
	id, ok := tokenID(token)
	if !ok {
		return false
	}
	known := h.tokens.find(id)
	return known == nil || known.ClaimHash != ""
}

func (h *Hub) authenticate(ctx context.Context, token, agentID string) (*Principal, error) {
	if err := h.conv.Serving(); err != nil {
		return nil, err
	}
	id, err := h.identify(ctx, token)
	if err != nil {
		return nil, err
	}
	p := &Principal{
		AgentID: id.Agents[0], TokenID: id.TokenID, Account: cmp.Or(id.Account, id.TokenID), ExpiresAt: id.ExpiresAt,
		agents: id.Agents, scopes: id.Scopes, conversations: id.Conversations, workspaces: id.Workspaces, revoked: id.Revoked,
	}
	p.session = id.session
	if err := h.underClaim(p, &id); err != nil {
		return nil, err
	}
	if agentID == "" {
		return p, nil
	}
	if !parley.ValidParticipantID(agentID) || !p.maySpeakAs(agentID) {
		return nil, parley.Refuse(parley.ErrForbidden, "the token may not speak as this id", "an id of the token")
	}
	p.AgentID = agentID
	return p, nil
}

// identify finds the verifier for a token. One that begins like the hub's own is shown to nobody else.
func (h *Hub) identify(ctx context.Context, token string) (Identity, error) {
	switch {
	case len(token) > parley.MaxTokenBytes:
		return Identity{}, errBadToken
	case h.isRoot(token):
		return Identity{TokenID: rootTokenID, Agents: []string{"admin"}, Scopes: []parley.Scope{parley.ScopeAdmin}}, nil
	case strings.HasPrefix(token, commandPrefix):
		return h.identifyCommand(token)
	case h.opts.Verifier == nil || token == "" || strings.HasPrefix(token, tokenPrefix):
		return h.tokens.Verify(ctx, token)
	}
	return h.ask(ctx, token)
}

func (h *Hub) isRoot(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return h.root != nil && subtle.ConstantTimeCompare(sum[:], h.root[:]) == 1
}

// NewSecret makes a secret as Options.NewSecret does.
func (h *Hub) NewSecret() string { return h.opts.NewSecret() }

// Revocations gives a channel that is closed when, after the call, the next token is revoked.
func (h *Hub) Revocations() <-chan struct{} { return h.tokens.revocations() }
