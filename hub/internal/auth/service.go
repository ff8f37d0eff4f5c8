// Package auth authenticates and authorizes the callers of a hub. A [Service] turns a token into a
// [Principal], keeps the hub's tokens in a reserved conversation, and checks what a principal may do.
//
//	p, err := service.Authenticate(ctx, token, "")
//	if err != nil {
//		return err
//	}
//	if err := service.Allow(p, methods.Tail); err != nil {
//		return err
//	}
//	c, err := service.Find(p, conversationID, false)
//
// # Locks
//
// tokens.folding is held while the log of tokens is read. tokens.mu is taken after the mutexes of
// conversations and turns. Neither is held during a call to another package.
package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// Options of a Service.
type Options struct {
	// RootToken, if not empty, is a token with scope admin that may speak as any id.
	RootToken string
	// Verifier verifies tokens that are neither the root token nor have the hub's prefixes; nil: such
	// tokens are invalid.
	Verifier Verifier
	// NewID and NewSecret make the id and the secret of a token.
	NewID     func(prefix string) string
	NewSecret func() string
}

// Claims is what a Service uses of the claims of a hub, for tokens that are valid during a claim.
type Claims interface {
	// Recovered reports whether all claims are known after a start.
	Recovered() bool
	// TurnOf returns the turn of a current claim.
	TurnOf(hash eventdata.ClaimHash) (turn int64, current bool)
	// CommandOf returns the agent of a current claim in a conversation, the account under which its use
	// is counted, and a channel that is closed at the end of the claim.
	CommandOf(conversation string, hash eventdata.ClaimHash) (agent, account string, ended <-chan struct{}, ok bool)
	// PinClaimed pins the conversation of a claim for p. It catches up with other hubs if the claim is
	// not current in the returned state.
	PinClaimed(p *Principal, id string, hash eventdata.ClaimHash) (*conv.Conversation, fold.State, error)
}

// Service authenticates callers and checks what they may do.
type Service struct {
	engine *conv.Engine
	opts   Options
	root   *[sha256.Size]byte
	tokens *tokens
	claims Claims

	verifying chan struct{} // a slot for each token that the Verifier checks
}

// New returns a Service. Call Load before any other method.
func New(e *conv.Engine, o Options) *Service {
	s := &Service{engine: e, opts: o, tokens: newTokens(e.Now), verifying: make(chan struct{}, maxVerifying)}
	if o.RootToken != "" {
		sum := sha256.Sum256([]byte(o.RootToken))
		s.root = &sum
	}
	return s
}

// Load reads the tokens of the hub.
func (s *Service) Load(c Claims) error {
	s.claims = c
	return s.FollowTokens()
}

// FollowTokens reads the log of tokens from where the last call stopped. A hub that shares its journal
// calls it for each commit of TokensConversation.
func (s *Service) FollowTokens() error { return s.tokens.follow(s.engine) }

// EndClaim revokes the tokens of a claim that is over.
func (s *Service) EndClaim(hash eventdata.ClaimHash) { s.tokens.endClaim(hash) }

// AnnounceEnd wakes the readers of Revocations, because the token of a command ended with its claim.
func (s *Service) AnnounceEnd() { s.tokens.announce() }

// Revocations returns a channel that is closed when, after the call, the next token is revoked.
func (s *Service) Revocations() <-chan struct{} { return s.tokens.revocations() }

// rootTokenID names the root token. A token that it creates has no parent, because the next start may
// have another root token.
const rootTokenID = "root"

var errBadToken = parley.Refuse(parley.ErrUnauthenticated, "the token is not valid", "a token of this hub")

// Authenticate returns the principal of a token: the root token, a token of the hub, or one that the
// Verifier knows. agentID selects one of the ids of the token; empty is the first, and "admin" for the
// root token. It fails with ErrUnauthenticated, with ErrForbidden for an id of others, or with
// ErrUnavailable if the token cannot be checked at the moment.
func (s *Service) Authenticate(ctx context.Context, token, agentID string) (*Principal, error) {
	mayBeNew := s.engine.Shared() && s.mayBeNew(token) // before the check: it may be created between the two
	p, err := s.authenticate(ctx, token, agentID)
	if !mayBeNew || !s.mayBeStale(err) || !errors.Is(err, parley.ErrUnauthenticated) {
		return p, err
	}
	if err := s.engine.CatchUp(ctx); err != nil {
		return nil, err
	}
	return s.authenticate(ctx, token, agentID)
}

// mayBeNew reports whether an unknown token may be one that another hub has just created, or one of a
// claim that was taken there. A token with a known id is not.
func (s *Service) mayBeNew(token string) bool {
	if strings.HasPrefix(token, commandPrefix) {
		return true
	}
	id, ok := tokenID(token)
	if !ok {
		return false
	}
	known := s.tokens.find(id)
	return known == nil || known.ClaimHash != ""
}

func (s *Service) authenticate(ctx context.Context, token, agentID string) (*Principal, error) {
	if err := s.engine.Serving(); err != nil {
		return nil, err
	}
	id, err := s.identify(ctx, token)
	if err != nil {
		return nil, err
	}
	p := &Principal{
		AgentID: id.Agents[0], TokenID: id.TokenID, Account: cmp.Or(id.Account, id.TokenID), ExpiresAt: id.ExpiresAt,
		agents: id.Agents, scopes: id.Scopes, conversations: id.Conversations, workspaces: id.Workspaces,
		revoked: id.Revoked, session: id.session,
	}
	if err := s.restrictToClaim(p, &id); err != nil {
		return nil, err
	}
	if agentID == "" {
		return p, nil
	}
	if !parley.ValidParticipantID(agentID) || !p.MaySpeakAs(agentID) {
		return nil, parley.Refuse(parley.ErrForbidden, "the token may not speak as this id", "an id of the token")
	}
	p.AgentID = agentID
	return p, nil
}

// identify verifies a token. A token with a prefix of the hub is never passed to the Verifier.
func (s *Service) identify(ctx context.Context, token string) (Identity, error) {
	switch {
	case len(token) > limits.MaxTokenBytes:
		return Identity{}, errBadToken
	case s.isRoot(token):
		return Identity{TokenID: rootTokenID, Agents: []string{"admin"}, Scopes: []parley.Scope{parley.ScopeAdmin}}, nil
	case strings.HasPrefix(token, commandPrefix):
		return s.identifyCommand(token)
	case s.opts.Verifier == nil || token == "" || strings.HasPrefix(token, tokenPrefix):
		return s.tokens.Verify(ctx, token)
	}
	return s.verify(ctx, token)
}

func (s *Service) isRoot(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return s.root != nil && subtle.ConstantTimeCompare(sum[:], s.root[:]) == 1
}

// The token of a command is plc_<session>_<claim>. The holder of the claim makes it without a call: the
// id of the claim is the secret, and the log has its hash. It is valid during the claim.
const (
	commandPrefix = "plc_"
	claimStart    = "_clm_"
)

// identifyCommand returns the identity of the token of a command: the agent of its session.
func (s *Service) identifyCommand(token string) (Identity, error) {
	rest := strings.TrimPrefix(token, commandPrefix)
	i := strings.Index(rest, claimStart)
	if i < 0 {
		return Identity{}, errBadToken
	}
	session, claim := rest[:i], rest[i+1:]
	if !s.claims.Recovered() {
		return Identity{}, errNotRecovered
	}
	hash := eventdata.HashClaim(claim)
	agent, account, ended, ok := s.claims.CommandOf(session, hash)
	if !ok || !strings.HasPrefix(session, conv.SessionPrefix) {
		return Identity{}, errBadToken
	}
	return Identity{
		TokenID: "claim-" + hex.EncodeToString(hash[:8]), Account: account, Agents: []string{agent}, Revoked: ended,
		session: session, Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeWrite, parley.ScopeCreate},
	}, nil
}

var errNotRecovered = &parley.Error{
	Err: parley.ErrUnavailable, Message: "the hub has just started and does not know all claims yet", RetryAfterMs: 500,
}

// restrictToClaim restricts p to the claim of its token, which must be current.
func (s *Service) restrictToClaim(p *Principal, id *Identity) error {
	if id.claimHash == "" {
		return nil
	}
	if !s.claims.Recovered() {
		return errNotRecovered
	}
	hash, ok := eventdata.ParseClaimHash(id.claimHash)
	turn, current := s.claims.TurnOf(hash)
	if !ok || !current {
		return ErrClaimOver
	}
	p.claim, p.claimTurn = &hash, turn
	return nil
}

// Allow refuses a method that the scopes of p do not include. It refuses everything if the token of p
// is no longer valid, or if the hub drains or has failed.
func (s *Service) Allow(p *Principal, method string) error {
	if err := cmp.Or(s.engine.Serving(), p.Valid(s.engine.Now())); err != nil {
		return err
	}
	if p.session != "" && !commandMethods[method] {
		return parley.Refuse(parley.ErrForbidden, "the token of a command starts, reads and stops its sessions only",
			"startSession, getSession, stopSession or listAgents")
	}
	m, _ := methods.ByName(method)
	if !p.Has(m.Scope) {
		return parley.Refuse(parley.ErrForbidden,
			method+" needs the scope "+string(m.Scope), "a token with scope "+string(m.Scope))
	}
	return nil
}

var commandMethods = map[string]bool{
	methods.StartSession: true, methods.GetSession: true, methods.StopSession: true,
	methods.ListAgents: true,
}

// AllowClaims is Allow for methods that take claims. It also refuses tokens for one turn, and tokens
// without the scopes that a claim needs.
func (s *Service) AllowClaims(p *Principal, method string) error {
	if err := s.Allow(p, method); err != nil {
		return err
	}
	if p.claim != nil {
		return parley.Refuse(parley.ErrForbidden, "a token for one turn takes no others", "the token of its executor")
	}
	if !p.Has(parley.ScopeRead) || !p.Has(parley.ScopeWrite) {
		return parley.Refuse(parley.ErrForbidden,
			method+" needs the scopes read, write and claim", "a token with these scopes")
	}
	return nil
}

// Find pins a conversation that p may read, or write to. A writer sees what was decided, a reader what
// was committed. Before a refusal, a hub that shares its journal catches up.
func (s *Service) Find(p *Principal, id string, writes bool) (*conv.Conversation, error) {
	if !p.Reaches(id) {
		return nil, ErrNotFound
	}
	return CallFresh(context.Background(), s, func() (*conv.Conversation, error) {
		c, err := s.engine.Pin(id)
		if err != nil {
			return nil, err
		}
		if err := checkAccess(p, c, writes); err != nil {
			s.engine.Unpin(c)
			return nil, err
		}
		return c, nil
	})
}

// checkAccess refuses a caller that may not read a conversation, or not write to it.
func checkAccess(p *Principal, c *conv.Conversation, writes bool) (err error) {
	c.View(func(durable, head *fold.State) {
		switch {
		case !p.Reads(durable) && (!writes || !p.Reads(head)):
			err = ErrNotFound
		case writes && !p.Sees(durable) && !p.Sees(head):
			err = ErrReadsOnly
		}
	})
	return err
}

// Narrow returns a copy of p for one conversation, which p must see; else it fails with ErrNotFound.
func (s *Service) Narrow(p *Principal, conversation string) (*Principal, error) {
	if err := s.Allow(p, methods.CreateTicket); err != nil {
		return nil, err
	}
	c, err := s.Find(p, conversation, false)
	if err != nil {
		return nil, err
	}
	s.engine.Unpin(c)
	narrow := *p
	narrow.conversations, narrow.guest = []string{conversation}, true
	return &narrow, nil
}

// mayBeStale reports whether an error is a refusal that this hub might not return if it were not behind
// other hubs.
func (s *Service) mayBeStale(err error) bool {
	if err == nil || !s.engine.Shared() {
		return false
	}
	var e *parley.Error
	if !errors.As(err, &e) || e == errRevoked || e == errExpired {
		return false
	}
	switch e.Err {
	case parley.ErrNotFound, parley.ErrForbidden, parley.ErrUnauthenticated, parley.ErrParameters:
		return true
	}
	return false
}

// CallFresh makes a call that changes nothing if it refuses. Before a refusal of a hub that shares its
// journal is final, the hub catches up and makes the call again.
func CallFresh[T any](ctx context.Context, s *Service, call func() (T, error)) (T, error) {
	v, err := call()
	if !s.mayBeStale(err) {
		return v, err
	}
	if err := s.engine.CatchUp(ctx); err != nil {
		var none T
		return none, err
	}
	return call()
}

// Enter pins a conversation for a method that reads it.
func (s *Service) Enter(p *Principal, method, conversation string) (*conv.Conversation, error) {
	if err := s.Allow(p, method); err != nil {
		return nil, err
	}
	return s.Find(p, conversation, false)
}

var adapterMethods = map[string]bool{methods.SendNote: true, methods.CloseConversation: true}

// EnterWrite is Enter for a write. A write may follow another one that is not committed. Only the hub
// writes to reserved conversations, except for those in which adapters keep data.
func (s *Service) EnterWrite(p *Principal, method, conversation string) (*conv.Conversation, error) {
	if err := s.Allow(p, method); err != nil {
		return nil, err
	}
	c, err := s.Find(p, conversation, true)
	if err == nil && conv.Reserved(conversation) &&
		!(check.AdapterConversationID(conversation) && adapterMethods[method]) {
		s.engine.Unpin(c)
		return nil, parley.Refuse(parley.ErrForbidden, "only the hub writes to this conversation", "")
	}
	return c, err
}

// EnterOwn is EnterWrite for a method that is not part of a turn.
func (s *Service) EnterOwn(p *Principal, method, conversation string) (*conv.Conversation, error) {
	c, err := s.EnterWrite(p, method, conversation)
	if err == nil && p.claim != nil {
		s.engine.Unpin(c)
		return nil, parley.Refuse(parley.ErrForbidden,
			"a token for one turn does no more than speak", "the token of its executor")
	}
	return c, err
}
