package hub

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
)

// Verifier tells who a token is of. The hub's own tokens are one; package rpc/oidc has another, for those of an issuer.
type Verifier interface {
	// Verify gives the identity of a token that is valid. It fails with an error that is ErrUnauthenticated for any that is not, and with
	// ErrUnavailable when it cannot know now. It may block, no longer than ctx. Neither its errors nor its panics may hold the token.
	Verify(ctx context.Context, token string) (Identity, error)
}

// Identity is what a token says.
type Identity struct {
	// TokenID names the token where limits are counted and in the audit; it is not secret. That of a token which the hub has not
	// made has a colon in it, as in "oidc:...", and at most 128 bytes.
	TokenID string
	// Account names those whose use is counted together; empty: TokenID.
	Account string
	// Agents are the ids that it may speak as, at least one; the first is the default.
	Agents []string
	// Scopes are its scopes; nil: DefaultScopes.
	Scopes []parley.Scope
	// Conversations narrow it; nil: any.
	Conversations []string
	// Workspaces are those that it grants; nil: none.
	Workspaces []string
	// ExpiresAt is when it ends; zero: never.
	ExpiresAt time.Time
	// Revoked is closed when it ends before that; nil: it cannot.
	Revoked <-chan struct{}

	claimHash string // of the hub's own: the claim with which it ends
	session   string // of a command: the session that it runs for
}

const (
	// verifyTimeout is how long a verifier may take.
	verifyTimeout = 5 * time.Second
	// maxVerifying bounds the tokens that a verifier looks at at once.
	maxVerifying = 256
	// maxTokenIDBytes bounds the TokenID of an identity.
	maxTokenIDBytes = 128
)

// foreignTokenID reports whether an id is of a token that the hub has not made.
func foreignTokenID(id string) bool { return strings.Contains(id, ":") }

// errCannotVerify says that nothing is known about a token at the moment.
var errCannotVerify = &parley.Error{Err: parley.ErrUnavailable, Message: "the token cannot be verified at the moment", RetryAfterMs: 1000}

// ask asks the verifier of the options, and takes its word only as far as it makes sense. The caller is never told which check has failed.
func (h *Hub) ask(ctx context.Context, shown string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	select {
	case h.verifying <- struct{}{}:
	case <-ctx.Done():
		return Identity{}, errCannotVerify
	}
	if err := h.conv.Begin(); err != nil {
		<-h.verifying
		return Identity{}, err
	}
	type answer struct {
		id  Identity
		err error
	}
	answered := make(chan answer, 1) // the verifier may be late
	h.conv.Go(func() {
		defer h.conv.End()
		defer func() { <-h.verifying }()
		id, err := h.guardedVerify(ctx, shown)
		answered <- answer{id, err}
	})
	select {
	case a := <-answered:
		return a.id, a.err
	case <-ctx.Done():
		return Identity{}, errCannotVerify
	case <-h.conv.Draining():
		return Identity{}, conv.ErrDraining
	}
}

// guardedVerify makes what a verifier does wrong a refusal.
func (h *Hub) guardedVerify(ctx context.Context, shown string) (id Identity, err error) {
	defer func() {
		if r := recover(); r != nil {
			h.log.Error("a verifier of tokens panicked", "panic", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			id, err = Identity{}, errCannotVerify
		}
	}()
	id, err = h.opts.Verifier.Verify(ctx, shown)
	switch {
	case err == nil:
		return id, h.believable(&id)
	case errors.Is(err, parley.ErrUnauthenticated):
		return Identity{}, errBadToken
	case !errors.Is(err, parley.ErrUnavailable) && ctx.Err() == nil:
		h.log.Error("a verifier of tokens failed", "error", err)
	}
	return Identity{}, errCannotVerify
}

// believable holds an identity against what the hub would have let a token of its own say.
func (h *Hub) believable(id *Identity) error {
	wrong := ""
	switch {
	case !foreignTokenID(id.TokenID) || len(id.TokenID) > maxTokenIDBytes:
		wrong = "TokenID"
	case len(id.Agents) == 0 || len(id.Agents) > parley.MaxTokenIDs || slices.ContainsFunc(id.Agents, notParticipant):
		wrong = "Agents"
	case slices.ContainsFunc(id.Scopes, func(s parley.Scope) bool { return !slices.Contains(parley.Scopes, s) }):
		wrong = "Scopes"
	case len(id.Workspaces) > parley.MaxWorkspaces || slices.ContainsFunc(id.Workspaces, func(w string) bool { return !parley.ValidWorkspace(w) }):
		wrong = "Workspaces"
	case !id.ExpiresAt.IsZero() && !h.Now().Before(id.ExpiresAt):
		wrong = "ExpiresAt"
	default:
		if id.Scopes == nil {
			id.Scopes = parley.DefaultScopes
		}
		return nil
	}
	*id = Identity{}
	h.log.Debug("a token of a verifier was refused", "because", wrong)
	return errBadToken
}

func notParticipant(id string) bool { return !parley.ValidParticipantID(id) }
