package auth

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
)

// Verifier verifies tokens. The hub's tokens have one; package rpc/oidc has another for those of an
// issuer.
type Verifier interface {
	// Verify returns the identity of a valid token. It fails with an error that is ErrUnauthenticated for
	// an invalid one, and with ErrUnavailable if it cannot check the token now. It may block, no longer
	// than ctx. Neither its errors nor its panics may contain the token. The caller does not learn the
	// reason of ErrUnauthenticated. If the error has a method AuditReason() string, the audit log has it.
	Verify(ctx context.Context, token string) (Identity, error)
}

// Identity is the content of a token.
type Identity struct {
	// TokenID names the token in limits and in the audit log. It is not secret. That of a token of a
	// Verifier contains a colon, as in "oidc:...", and has at most 128 bytes.
	TokenID string
	// Account names the tokens whose use is counted together; empty: TokenID.
	Account string
	// Agents are the ids that the token may speak as, at least one; the first is the default.
	Agents []string
	// Scopes are its scopes; nil: DefaultScopes.
	Scopes []parley.Scope
	// Conversations restrict it; nil: any.
	Conversations []string
	// Workspaces are those that it grants; nil means none.
	Workspaces []string
	// ExpiresAt is when it ends; zero: never.
	ExpiresAt time.Time
	// Revoked is closed when it ends earlier; nil: it does not.
	Revoked <-chan struct{}

	claimHash string // of a token of the hub: the claim with which it ends
	session   string // of a command: its session
}

const (
	// verifyTimeout is how long a Verifier may take.
	verifyTimeout = 5 * time.Second
	// maxVerifying bounds the concurrent calls of a Verifier.
	maxVerifying = 256
	// maxTokenIDBytes bounds the TokenID of an identity.
	maxTokenIDBytes = 128
)

// isForeignTokenID reports whether an id is of a token that the hub did not create.
func isForeignTokenID(id string) bool { return strings.Contains(id, ":") }

// refusedToken is errBadToken with a reason for the audit log, which the caller does not learn.
type refusedToken string

func (r refusedToken) Error() string       { return errBadToken.Error() }
func (r refusedToken) Unwrap() error       { return errBadToken }
func (r refusedToken) AuditReason() string { return string(r) }

// errCannotVerify means that the validity of a token is unknown at the moment.
var errCannotVerify = &parley.Error{
	Err: parley.ErrUnavailable, Message: "the token cannot be verified at the moment", RetryAfterMs: 1000,
}

// verify calls the Verifier of the options on a separate goroutine, so that a slow one delays its caller
// by at most verifyTimeout. The caller does not learn which check failed.
func (s *Service) verify(ctx context.Context, token string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	select {
	case s.verifying <- struct{}{}:
	case <-ctx.Done():
		return Identity{}, errCannotVerify
	}
	if err := s.engine.Begin(); err != nil {
		<-s.verifying
		return Identity{}, err
	}
	type answer struct {
		id  Identity
		err error
	}
	answered := make(chan answer, 1) // the Verifier may be late
	s.engine.Go(func() {
		defer s.engine.End()
		defer func() { <-s.verifying }()
		id, err := s.callVerifier(ctx, token)
		answered <- answer{id, err}
	})
	select {
	case a := <-answered:
		return a.id, a.err
	case <-ctx.Done():
		return Identity{}, errCannotVerify
	case <-s.engine.Draining():
		return Identity{}, conv.ErrDraining
	}
}

// callVerifier calls the Verifier and returns a refusal for its panics and invalid results.
func (s *Service) callVerifier(ctx context.Context, token string) (id Identity, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.engine.Log().Error("a verifier of tokens panicked", "panic", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			id, err = Identity{}, errCannotVerify
		}
	}()
	id, err = s.opts.Verifier.Verify(ctx, token)
	switch {
	case err == nil:
		return id, s.checkIdentity(&id)
	case errors.Is(err, parley.ErrUnauthenticated):
		var refused interface{ AuditReason() string }
		if errors.As(err, &refused) {
			return Identity{}, refusedToken(refused.AuditReason())
		}
		return Identity{}, errBadToken
	case !errors.Is(err, parley.ErrUnavailable) && ctx.Err() == nil:
		s.engine.Log().Error("a verifier of tokens failed", "error", err)
	}
	return Identity{}, errCannotVerify
}

// checkIdentity refuses an identity that a token of the hub could not have.
func (s *Service) checkIdentity(id *Identity) error {
	wrong := ""
	switch {
	case !isForeignTokenID(id.TokenID) || len(id.TokenID) > maxTokenIDBytes:
		wrong = "TokenID"
	case len(id.Agents) == 0 || len(id.Agents) > limits.MaxTokenIDs || slices.ContainsFunc(id.Agents, isNotParticipant):
		wrong = "Agents"
	case slices.ContainsFunc(id.Scopes, func(s parley.Scope) bool { return !slices.Contains(parley.Scopes, s) }):
		wrong = "Scopes"
	case len(id.Workspaces) > limits.MaxWorkspaces ||
		slices.ContainsFunc(id.Workspaces, func(w string) bool { return !parley.ValidWorkspace(w) }):
		wrong = "Workspaces"
	case !id.ExpiresAt.IsZero() && !s.engine.Now().Before(id.ExpiresAt):
		wrong = "ExpiresAt"
	default:
		if id.Scopes == nil {
			id.Scopes = parley.DefaultScopes
		}
		return nil
	}
	*id = Identity{}
	return refusedToken("the verifier returned an invalid " + wrong)
}

func isNotParticipant(id string) bool { return !parley.ValidParticipantID(id) }
