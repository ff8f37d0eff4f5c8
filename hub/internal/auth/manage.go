package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// CreateToken creates a token that may do no more than that of the caller.
func (s *Service) CreateToken(p *Principal, q *parley.CreateTokenParams, done func(parley.CreateTokenResult, error)) {
	fail := func(err error) { done(parley.CreateTokenResult{}, err) }
	record, err := s.newRecord(p, q)
	if err != nil {
		fail(err)
		return
	}
	token := tokenPrefix + record.TokenID + "_" + s.opts.NewSecret()
	sum := sha256.Sum256([]byte(token))
	record.SHA256 = hex.EncodeToString(sum[:])
	s.engine.PinReserved(TokensConversation, "tokens", func(c *conv.Conversation, err error) {
		if err != nil {
			fail(err)
			return
		}
		cmd := fold.Command{Do: &fold.AddToken{Token: record}, From: parley.HubID, Admin: true}
		c.Do(&conv.Request{Cmd: cmd, Reply: func(d *fold.Decision, err error) {
			if err != nil {
				fail(err)
				return
			}
			s.applyCreated(record, &d.Events[0].Event, func(live bool, err error) {
				if err = s.checkCreated(q, live, err); err != nil {
					fail(err)
					return
				}
				done(parley.CreateTokenResult{Token: token, TokenID: record.TokenID}, nil)
			})
		}})
	})
}

// applyCreated adds a token whose event was just committed, and passes on whether it is live. A hub that
// shares its journal reads the log instead, which may have earlier events of others.
func (s *Service) applyCreated(r *parley.TokenRecord, e *parley.Event, then func(live bool, err error)) {
	if !s.engine.Shared() {
		then(s.tokens.create(r, e), nil)
		return
	}
	s.engine.Go(func() { // the goroutine of the commits must not read
		err := s.FollowTokens()
		then(err == nil && s.tokens.find(r.TokenID) != nil, err)
	})
}

// checkCreated refuses a token that was never live, or whose claim is already over.
func (s *Service) checkCreated(q *parley.CreateTokenParams, live bool, err error) error {
	if err != nil {
		return err
	}
	if !live {
		return errRevoked // its parent was revoked before it in the log
	}
	if q.Claim == nil {
		return nil
	}
	hash := eventdata.HashClaim(q.Claim.ClaimID)
	if _, current := s.claims.TurnOf(hash); !current {
		s.tokens.endClaim(hash) // the claim may end before the token is known
		return parley.Refuse(parley.ErrClaimLost, "the claim is over", "")
	}
	return nil
}

func (s *Service) newRecord(p *Principal, q *parley.CreateTokenParams) (*parley.TokenRecord, error) {
	if err := s.Allow(p, methods.CreateToken); err != nil {
		return nil, err
	}
	r := &parley.TokenRecord{
		TokenID: strings.ReplaceAll(s.opts.NewID("t"), "_", ""), Agents: []string{q.AgentID}, Scopes: q.Scopes,
		Conversations: q.Conversations, Workspaces: q.Workspaces, CreatedBy: p.AgentID, Parent: p.parentID(),
	}
	if !p.Admin() {
		r.Account = p.Account
	}
	for _, id := range q.Agents {
		if !slices.Contains(r.Agents, id) {
			r.Agents = append(r.Agents, id)
		}
	}
	checks := []func(*Principal, *parley.TokenRecord) error{
		checkIDs, checkAgents, checkScopes, checkConversations, checkWorkspaces,
	}
	if q.Claim != nil { // bindToClaim checks the agent, which may be a seat of the caller's agent
		checks = slices.Delete(checks, 1, 2)
	}
	for _, check := range checks {
		if err := check(p, r); err != nil {
			return nil, err
		}
	}
	if err := s.tokens.checkRoom(p); err != nil {
		return nil, err
	}
	if err := s.setExpiry(p, r, q.ExpiresInMs); err != nil {
		return nil, err
	}
	return r, s.bindToClaim(p, r, q)
}

func refuseWider(format string, args ...any) error {
	return parley.Refuse(parley.ErrForbidden, fmt.Sprintf(format, args...), "no more than the caller's own token has")
}

func checkIDs(_ *Principal, r *parley.TokenRecord) error {
	if len(r.Agents) > limits.MaxTokenIDs {
		return page.Invalid(fmt.Sprintf("at most %d", limits.MaxTokenIDs), "agents: there are %d ids", len(r.Agents))
	}
	for _, id := range r.Agents {
		if !parley.ValidParticipantID(id) {
			return page.Invalid("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub",
				"agentId or agents: %.80q is not acceptable", id)
		}
	}
	return nil
}

func checkAgents(p *Principal, r *parley.TokenRecord) error {
	for _, id := range r.Agents {
		if !p.MaySpeakAs(id) {
			return refuseWider("the caller may not speak as %s", id)
		}
	}
	return nil
}

func checkScopes(p *Principal, r *parley.TokenRecord) error {
	if r.Scopes == nil {
		for _, s := range parley.DefaultScopes {
			if p.Has(s) {
				r.Scopes = append(r.Scopes, s)
			}
		}
	}
	if len(r.Scopes) == 0 {
		return page.Invalid("at least one scope", "scopes: the token would have none")
	}
	for _, s := range r.Scopes {
		if !slices.Contains(parley.Scopes, s) {
			return page.Invalid("read, write, create, claim, approve, trace or admin", "scopes: there is no scope %.80q", s)
		}
		if !p.Has(s) {
			return refuseWider("the caller does not have the scope %s", s)
		}
	}
	r.Scopes = slices.Compact(slices.Sorted(slices.Values(r.Scopes)))
	return nil
}

func checkConversations(p *Principal, r *parley.TokenRecord) error {
	if r.Conversations == nil {
		r.Conversations = p.conversations
		return nil
	}
	if n := len(r.Conversations); n == 0 || n > limits.MaxConversationScope {
		return page.Invalid(fmt.Sprintf("1 to %d", limits.MaxConversationScope), "conversations: there are %d", n)
	}
	for _, id := range r.Conversations {
		if !parley.ValidConversationID(id) {
			return page.Invalid("1 to 64 of A-Z a-z 0-9 _ -", "conversations: %.80q is not acceptable", id)
		}
		if !p.Reaches(id) {
			return refuseWider("the caller's token is for other conversations than %s", id)
		}
	}
	return nil
}

func checkWorkspaces(p *Principal, r *parley.TokenRecord) error {
	if r.Workspaces == nil {
		return nil
	}
	if n := len(r.Workspaces); n == 0 || n > limits.MaxWorkspaces {
		return page.Invalid(fmt.Sprintf("1 to %d", limits.MaxWorkspaces), "workspaces: there are %d", n)
	}
	for _, w := range r.Workspaces {
		if err := checkWorkspace("workspaces", w); err != nil {
			return err
		}
		if !p.Grants(w) {
			return refuseWider("the caller's token does not grant the workspace %s", w)
		}
	}
	r.Workspaces = slices.Compact(slices.Sorted(slices.Values(r.Workspaces)))
	return nil
}

func (s *Service) setExpiry(p *Principal, r *parley.TokenRecord, expiresInMs int64) error {
	if expiresInMs == 0 {
		if !p.ExpiresAt.IsZero() {
			r.ExpiresAt = parley.TimestampOf(p.ExpiresAt)
		}
		return nil
	}
	if expiresInMs < 1000 || expiresInMs > limits.MaxDurationMs {
		return page.Invalid(fmt.Sprintf("1000 to %d", int64(limits.MaxDurationMs)), "expiresInMs is %d", expiresInMs)
	}
	at := s.engine.Now().Add(time.Duration(expiresInMs) * time.Millisecond)
	if !p.ExpiresAt.IsZero() && at.After(p.ExpiresAt) {
		return refuseWider("the caller's token ends before")
	}
	r.ExpiresAt = parley.TimestampOf(at)
	return nil
}

// bindToClaim restricts a token to a claim, with which it ends. The claim is in the log of its
// conversation, the token in that of the tokens. The token is valid only while the claim is current,
// whatever the log of the tokens has.
func (s *Service) bindToClaim(p *Principal, r *parley.TokenRecord, q *parley.CreateTokenParams) error {
	if p.claim != nil {
		return parley.Refuse(parley.ErrForbidden, "a token for one turn makes no others", "the token of its executor")
	}
	if q.Claim == nil {
		return nil
	}
	if len(q.Agents) > 0 || q.Conversations != nil || q.Workspaces != nil {
		return page.Invalid("claim alone, which says the first two and has no workspace",
			"agents, conversations or workspaces beside claim")
	}
	if !p.Has(parley.ScopeClaim) {
		return refuseWider("the caller does not have the scope claim")
	}
	hash := eventdata.HashClaim(q.Claim.ClaimID)
	c, state, err := s.claims.PinClaimed(p, q.Claim.ConversationID, hash)
	if err != nil {
		return err
	}
	defer s.engine.Unpin(c)
	seat := ""
	if state.Claim != nil && state.Claim.Hash == hash {
		seat = state.Claim.AgentID
	}
	who, visible := p.Resolve(&state, seat)
	switch {
	case !visible:
		return p.RefuseWrite(&state)
	case seat == "" || who.AgentID != seat:
		return parley.Refuse(parley.ErrClaimLost, "the claim is not a current claim of the caller", "a claim of the caller's")
	case q.AgentID != seat:
		return page.Invalid(seat, "agentId is not the claim's participant")
	}
	r.ClaimHash, r.Conversations = hash.String(), []string{q.Claim.ConversationID}
	if r.ExpiresAt == 0 {
		r.ExpiresAt = parley.TimestampOf(s.engine.Now().Add(limits.MaxTurnMs * time.Millisecond)) // so that it is dropped
	}
	return nil
}

const maxTokensPage = 1000

// ListTokens returns a page of the live tokens that the caller may revoke, in the order of creation.
func (s *Service) ListTokens(p *Principal, q *parley.ListTokensParams) (parley.ListTokensResult, error) {
	out := parley.ListTokensResult{Tokens: []parley.TokenInfo{}}
	if err := s.Allow(p, methods.ListTokens); err != nil {
		return out, err
	}
	limit, err := page.CheckLimit(q.Limit, maxTokensPage, limits.DefaultPage)
	if err != nil {
		return out, err
	}
	after, err := page.ParseCursor(q.Cursor, false)
	if err != nil {
		return out, err
	}
	for _, k := range s.tokens.revocableBy(p) {
		if journal.Position(k.seq) <= after {
			continue
		}
		if len(out.Tokens) == limit {
			out.NextCursor = page.FormatCursor(after, false)
			break
		}
		out.Tokens = append(out.Tokens, k.info())
		after = journal.Position(k.seq)
	}
	return out, nil
}

// errNoToken is the answer for a token that does not exist, has expired, or is not the caller's.
var errNoToken = parley.Refuse(parley.ErrNotFound, "there is no such token", "")

// RevokeToken revokes a token of the caller and all tokens below it. When it is answered, every call
// with them is refused, and every wait with them is woken.
func (s *Service) RevokeToken(p *Principal, q *parley.RevokeTokenParams, done func(parley.RevokeTokenResult, error)) {
	fail := func(err error) { done(parley.RevokeTokenResult{}, err) }
	if err := s.Allow(p, methods.RevokeToken); err != nil {
		fail(err)
		return
	}
	if err := s.checkRevoke(p, q.TokenID); err != nil {
		fail(err)
		return
	}
	c, err := s.engine.Pin(TokensConversation)
	if err != nil {
		fail(err)
		return
	}
	cmd := fold.Command{Do: &fold.RevokeToken{TokenID: q.TokenID}, From: p.AgentID, Admin: true}
	c.Do(&conv.Request{Cmd: cmd, Reply: func(d *fold.Decision, err error) {
		if err != nil {
			fail(err)
			return
		}
		s.applyRevoked(q.TokenID, d.Events[0].Event.Seq, func(revoked []string, err error) {
			if err == nil && len(revoked) == 0 { // another call revoked it a moment ago
				err = errNoToken
			}
			if err != nil {
				fail(err)
				return
			}
			done(parley.RevokeTokenResult{Revoked: revoked}, nil)
		})
	}})
}

// applyRevoked is applyCreated for a revocation. It passes on the ids of the revoked tokens.
func (s *Service) applyRevoked(id string, seq int64, then func(ids []string, err error)) {
	if !s.engine.Shared() {
		then(s.tokens.revoke(id), nil)
		return
	}
	s.engine.Go(func() {
		err := s.FollowTokens()
		then(s.tokens.revokedBy(seq), err)
	})
}

// checkRevoke refuses a token that p may not revoke. A token that another hub has just created counts.
func (s *Service) checkRevoke(p *Principal, id string) error {
	if s.tokens.mayRevoke(p, id) {
		return nil
	}
	if err := s.engine.CatchUp(context.Background()); err != nil {
		return err
	}
	if s.engine.Shared() && s.tokens.mayRevoke(p, id) {
		return nil
	}
	return errNoToken
}
