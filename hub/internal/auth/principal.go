package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// Principal is a caller: a participant, and what its token allows. It does not change.
type Principal struct {
	// AgentID is the participant that it speaks as.
	AgentID string
	// TokenID names its token; empty for callers inside the hub's process.
	TokenID string
	// Account names the token under which its use is counted: the first one, from its own upwards, that
	// an admin created.
	Account string
	// ExpiresAt is when the token ends; zero means never.
	ExpiresAt time.Time

	agents        []string // ids that its token may speak as; nil with admin: any
	scopes        []parley.Scope
	conversations []string             // nil: any
	workspaces    []string             // that its token grants; with admin: any
	guest         bool                 // it has only a ticket for one conversation, and does not own its token
	revoked       <-chan struct{}      // closed when its token is revoked; nil: it cannot be
	claim         *eventdata.ClaimHash // it may speak under this claim only; nil: no restriction
	claimTurn     int64
	session       string     // it is a command of this session, and may start others; empty: it is not
	home          string     // its id elsewhere, if it speaks as another of its ids in one conversation
	conn          Connection // nil if it calls without a lasting connection
}

// Connection is a lasting connection of a principal. It remembers the claims that were taken on it.
type Connection interface {
	// Hold returns the claim that was taken last in a conversation.
	Hold(conversation string) (Hold, bool)
	// Implied returns the claim that a call need not name; current is the claim of the conversation.
	Implied(conversation string, current *fold.Claim) (*eventdata.ClaimHash, int64)
	// Attach makes p the owner of the connection's registration, or ends that if p may not have it.
	Attach(p *Principal)
}

// Hold is a claim that a connection took in a conversation.
type Hold struct {
	Hash eventdata.ClaimHash
	Turn int64
	// Seat is the identity of the caller in the conversation. Serves is what an executor must serve to
	// hold the claim.
	Seat   *Principal
	Serves string
	// Seatless is set if the caller has no other seat in the conversation.
	Seatless bool
	Over     bool // the claim is over
	Moved    bool // another connection holds the claim
}

// Local returns a principal for a caller inside the hub's process. Without scopes it has the default
// scopes.
func Local(agentID string, scopes ...parley.Scope) *Principal {
	if len(scopes) == 0 {
		scopes = parley.DefaultScopes
	}
	return &Principal{AgentID: agentID, agents: []string{agentID}, scopes: scopes}
}

// SpeakingAs returns a copy of p, a local principal, that may also speak as these agents.
func (p *Principal) SpeakingAs(agents ...string) *Principal {
	more := *p
	more.agents = append(slices.Clone(p.agents), agents...)
	return &more
}

// WithWorkspaces returns a copy of p, a local principal, whose token grants these workspaces.
func (p *Principal) WithWorkspaces(workspaces ...string) *Principal {
	more := *p
	more.workspaces = slices.Clone(workspaces)
	return &more
}

// On returns a copy of p that calls on a connection. p becomes the owner of its registration; if p may
// not have that, the registration ends.
func (p *Principal) On(c Connection) *Principal {
	on := *p
	on.conn = c
	c.Attach(&on)
	return &on
}

// Connection returns the connection of p, or nil.
func (p *Principal) Connection() Connection { return p.conn }

// As returns p as another participant that it may speak as.
func (p *Principal) As(id string) *Principal {
	if p.AgentID == id {
		return p
	}
	seat := *p
	seat.home, seat.AgentID = cmp.Or(p.home, p.AgentID), id
	return &seat
}

// In returns the identity of p in a conversation. On a connection with a claim there, it is
// the participant of the claim until the claim is over. A caller without another seat keeps that
// identity.
func (p *Principal) In(conversation string) *Principal {
	if p.conn == nil {
		return p
	}
	h, ok := p.conn.Hold(conversation)
	if !ok || (h.Over || h.Moved) && !h.Seatless || h.Seat.TokenID != p.TokenID {
		return p
	}
	seat := h.Seat.AgentID
	if p.MaySpeakAs(seat) || p.MaySpeakAs(h.Serves) || strings.HasPrefix(h.Serves, fold.ExecutorKey(p.AgentID, "")) {
		return p.As(seat) // with the rights of now, not with those at the time of the claim
	}
	return p
}

// Resolve returns the identity of p in a conversation: a seat if the token allows it, else its id, else
// the first agent that it may speak as if it has no seat. It also reports whether the conversation
// exists for p.
func (p *Principal) Resolve(s *fold.State, seat string) (*Principal, bool) {
	p = p.In(s.ID)
	if i := s.Seat(seat); i >= 0 && p.AgentID != seat && p.MaySit(s, i) {
		return p.As(seat), true
	}
	if p.Sees(s) {
		return p, true
	}
	if p.Reaches(s.ID) {
		for i := range s.Participants {
			if p.MaySit(s, i) {
				return p.As(s.Participants[i].ID), true
			}
		}
	}
	return p, false
}

// ParticipantID is AgentID.
func (p *Principal) ParticipantID() string { return p.AgentID }

// Home is the id of p in other conversations, if it speaks as another of its ids in this one; else empty.
func (p *Principal) Home() string { return p.home }

// Has reports whether the principal has a scope. Admin has all.
func (p *Principal) Has(s parley.Scope) bool {
	return s == methods.ScopeNone || s == methods.ScopeSelf || p.Admin() || slices.Contains(p.scopes, s)
}

// Admin reports whether the principal has the scope admin.
func (p *Principal) Admin() bool { return slices.Contains(p.scopes, parley.ScopeAdmin) }

// Agents returns the ids that its token may speak as, AgentID among them. It returns nil for an admin,
// whose token may speak as any.
func (p *Principal) Agents() []string {
	if p.Admin() {
		return nil
	}
	return slices.Clone(p.agents)
}

// Scopes returns the scopes of its token. Admin includes all others.
func (p *Principal) Scopes() []parley.Scope { return append([]parley.Scope{}, p.scopes...) }

// MaySpeakAs reports whether its token may speak as id.
func (p *Principal) MaySpeakAs(id string) bool { return p.Admin() || slices.Contains(p.agents, id) }

// MaySit reports whether its token may speak as the agent of a seat. In a session of a runner, only the
// participant that registered the runner may speak as the agent of the session.
func (p *Principal) MaySit(s *fold.State, i int) bool {
	seat := s.Participants[i]
	if r := s.Session; r.OfRunner() && r.AgentID == seat.ID {
		return r.Runner != nil && (p.Admin() || p.AgentID == r.Runner.ParticipantID)
	}
	return p.MaySpeakAs(seat.ID) || seat.Kind.Claims() && p.MaySpeakAs(fold.AgentName(seat))
}

// IsCommand reports whether p has the token of a command.
func (p *Principal) IsCommand() bool { return p.session != "" }

// CommandOf is the session of the command whose token p has; empty for other tokens.
func (p *Principal) CommandOf() string { return p.session }

// Claim is the only claim under which p may speak; nil if it is not restricted to one.
func (p *Principal) Claim() *eventdata.ClaimHash { return p.claim }

// IsRestricted reports whether the token of p is restricted to some conversations.
func (p *Principal) IsRestricted() bool { return p.conversations != nil }

// IsUnrestricted reports whether p has a whole token, which is for any conversation, turn and method.
func (p *Principal) IsUnrestricted() bool {
	return p.conversations == nil && p.claim == nil && p.session == "" && !p.guest
}

// Implied returns the claim that p need not name in a conversation; current is the claim there.
func (p *Principal) Implied(conversation string, current *fold.Claim) (*eventdata.ClaimHash, int64) {
	if p.claim != nil {
		return p.claim, p.claimTurn
	}
	if p.conn == nil {
		return nil, 0
	}
	return p.conn.Implied(conversation, current)
}

// HasCurrentClaim reports whether p is not restricted to a claim, or that claim is the one of a state.
// The end of the claim may not be committed yet, and the token still valid.
func (p *Principal) HasCurrentClaim(s *fold.State) bool {
	return p.claim == nil || s.Claim != nil && s.Claim.Hash == *p.claim
}

// Viewer selects the events that p may read.
func (p *Principal) Viewer() eventdata.Viewer {
	return eventdata.Viewer{ID: p.AgentID, All: p.Has(parley.ScopeTrace)}
}

// MaxIDBytes is the maximum length of a conversation id.
const MaxIDBytes = 64

// Reaches reports whether the token of p covers a conversation id.
func (p *Principal) Reaches(id string) bool {
	if id == "" || len(id) > MaxIDBytes {
		return false
	}
	if conv.Reserved(id) {
		return p.Admin() && p.conversations == nil
	}
	return p.conversations == nil || slices.Contains(p.conversations, id)
}

// Sees reports whether p takes part in a conversation. Then it may write, as far as the floor and its
// scopes allow.
func (p *Principal) Sees(s *fold.State) bool {
	return s.Exists() && p.Reaches(s.ID) && (p.Admin() || p.AgentID == s.CreatedBy || s.HasParticipant(p.AgentID))
}

// Reads reports whether p may read a conversation: one in which it takes part, or one of a workspace
// that its token grants.
func (p *Principal) Reads(s *fold.State) bool {
	return p.Sees(s) || s.Exists() && p.Reaches(s.ID) && p.Grants(s.Workspace)
}

// RefuseWrite returns the refusal of a write to a conversation in which p does not take part.
func (p *Principal) RefuseWrite(s *fold.State) error {
	if p.Reads(s) {
		return ErrReadsOnly
	}
	return ErrNotFound
}

// Ended is closed when the token of p is revoked; nil if that cannot happen.
func (p *Principal) Ended() <-chan struct{} { return p.revoked }

// Revoked reports whether the principal's token was revoked.
func (p *Principal) Revoked() bool {
	select {
	case <-p.revoked:
		return true
	default:
		return false
	}
}

// Valid returns nil while the token of p is valid, else the refusal.
func (p *Principal) Valid(now time.Time) error {
	switch {
	case p.Revoked():
		return errRevoked
	case !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt):
		return errExpired
	}
	return nil
}

// AnyWorkspace is the entry of Workspaces that means every workspace. It is not a valid name.
const AnyWorkspace = "*"

var everyWorkspace = []string{AnyWorkspace}

// Workspaces returns what the token grants: names, or AnyWorkspace alone for an admin. The result must
// not be changed.
func (p *Principal) Workspaces() []string {
	if p.Admin() {
		return everyWorkspace
	}
	return p.workspaces
}

// Grants reports whether the token grants a workspace. An empty workspace is granted by no token.
func (p *Principal) Grants(workspace string) bool { return IsGranted(p.Workspaces(), workspace) }

// IsGranted reports whether a list as Workspaces returns it, or a RunnerRecord keeps it, has a workspace.
func IsGranted(list []string, workspace string) bool {
	return workspace != "" && (slices.Contains(list, workspace) || slices.Contains(list, AnyWorkspace))
}

// GrantedOf returns the workspaces of a list that the token of p grants too. A token for one turn keeps
// them all, because it reaches no other conversation.
func (p *Principal) GrantedOf(workspaces []string) []string {
	switch {
	case p.Admin(), p.claim != nil:
		return workspaces
	case slices.Contains(workspaces, AnyWorkspace):
		return p.workspaces
	}
	return slices.DeleteFunc(slices.Clone(workspaces), func(w string) bool { return !p.Grants(w) })
}

// CheckGrants refuses a workspace that the token does not grant. The answer does not depend on whether
// the workspace has conversations.
func (p *Principal) CheckGrants(workspace string) error {
	if err := checkWorkspace("workspace", workspace); err != nil {
		return err
	}
	if !p.Grants(workspace) {
		return parley.Refuse(parley.ErrForbidden,
			fmt.Sprintf("the token does not grant the workspace %s", workspace), "a workspace of the token")
	}
	return nil
}

// checkWorkspace refuses an invalid name of a workspace; where names the parameter.
func checkWorkspace(where, name string) error {
	if !parley.ValidWorkspace(name) {
		return page.Invalid("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
			"%s: %.80q is not acceptable", where, name)
	}
	return nil
}

func (p *Principal) managesAllTokens() bool { return p.Admin() && p.conversations == nil }

// ownsNoToken reports whether p has no token, or one that it may not list and revoke.
func (p *Principal) ownsNoToken() bool { return p.parentID() == "" || p.guest }

func (p *Principal) parentID() string {
	if p.TokenID == rootTokenID {
		return ""
	}
	return p.TokenID
}

// The refusals of this package that others compare or return.
var (
	ErrNotFound = parley.Refuse(parley.ErrNotFound, "there is no such conversation", "")
	// ErrReadsOnly does not hide the conversation: the caller may read it.
	ErrReadsOnly = parley.Refuse(parley.ErrForbidden,
		"the caller may read the conversation, but does not take part in it", "a participant of the conversation")
	ErrClaimOver = parley.Refuse(parley.ErrUnauthenticated, "the claim of the token is over", "a token that is valid")

	errExpired = parley.Refuse(parley.ErrUnauthenticated, "the token has expired", "a token that is valid")
	errRevoked = parley.Refuse(parley.ErrUnauthenticated, "the token was revoked", "a token that is valid")
)

// OwnsRegistration reports whether p may see the details of what a participant registered: the
// participant itself may, and an admin.
func (p *Principal) OwnsRegistration(by string) bool {
	return p.IsUnrestricted() && (p.Admin() || p.AgentID == by)
}

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
