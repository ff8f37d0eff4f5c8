package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// CreateToken makes a token that may do no more than the caller's.
func (h *Hub) CreateToken(p *Principal, q *parley.CreateTokenParams, done func(parley.CreateTokenResult, error)) {
	record, err := h.newToken(p, q)
	if err != nil {
		done(parley.CreateTokenResult{}, err)
		return
	}
	secret := h.opts.NewSecret()
	token := tokenPrefix + record.TokenID + "_" + secret
	sum := sha256.Sum256([]byte(token))
	record.SHA256 = hex.EncodeToString(sum[:])
	h.withOwnLog(tokensConversation, "tokens", func(c *conv.Conversation, err error) {
		if err != nil {
			done(parley.CreateTokenResult{}, err)
			return
		}
		cmd := fold.Command{Verb: fold.Token, From: parley.HubID, Admin: true, Token: record}
		c.Do(&conv.Request{Cmd: cmd, Reply: func(d *fold.Decision, err error) {
			if err != nil {
				done(parley.CreateTokenResult{}, err)
				return
			}
			h.tokens.created(h, record, &d.Events[0].Event, func(live bool, err error) {
				if err = h.stillGood(q, live, err); err != nil {
					done(parley.CreateTokenResult{}, err)
					return
				}
				done(parley.CreateTokenResult{Token: token, TokenID: record.TokenID}, nil)
			})
		}})
	})
}

// stillGood refuses a token that was made and has never been one, or has ended before it was known.
func (h *Hub) stillGood(q *parley.CreateTokenParams, live bool, err error) error {
	switch {
	case err != nil:
		return err
	case !live:
		return errRevoked // before the event in the log: the token that it names has never been one
	case q.Claim != nil && !h.turns.stands(fold.HashClaim(q.Claim.ClaimID)):
		h.tokens.endClaim(fold.HashClaim(q.Claim.ClaimID)) // it has ended meanwhile, perhaps before the token was known
		return parley.Refuse(parley.ErrClaimLost, "the claim has ended", "")
	}
	return nil
}

// withOwnLog pins a conversation of the hub's own, which its first use creates, and passes it on.
func (h *Hub) withOwnLog(id, title string, then func(*conv.Conversation, error)) {
	c, err := h.conv.Pin(id)
	if err != nil {
		then(nil, err)
		return
	}
	head := c.Head()
	there := head.Exists()
	if there {
		then(c, nil)
		return
	}
	cmd := fold.Command{Verb: fold.Create, From: parley.HubID, Create: &parley.CreateConversationParams{Title: title}}
	c.Do(&conv.Request{Cmd: cmd, Reply: func(_ *fold.Decision, err error) {
		if err != nil && !errors.Is(err, parley.ErrAlreadyExists) { // by another's first use
			then(nil, err)
			return
		}
		then(h.conv.Pin(id)) // c's own pin goes with this answer; it is in memory
	}})
}

// newToken holds what is asked for against what the caller has.
func (h *Hub) newToken(p *Principal, q *parley.CreateTokenParams) (*parley.TokenRecord, error) {
	if err := h.allow(p, parley.MethodCreateToken); err != nil {
		return nil, err
	}
	r := &parley.TokenRecord{
		TokenID: strings.ReplaceAll(h.opts.NewID("t"), "_", ""), Agents: []string{q.AgentID}, Scopes: q.Scopes,
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
	checks := []func(*Principal, *parley.TokenRecord) error{checkTokenIDs, checkTokenAgents, checkTokenScopes, checkTokenConversations, checkTokenWorkspaces}
	if q.Claim != nil { // bindToken looks whose the claim is: that may be a seat of the caller's agent
		checks = slices.Delete(checks, 1, 2)
	}
	for _, check := range checks {
		if err := check(p, r); err != nil {
			return nil, err
		}
	}
	if err := h.tokens.room(p); err != nil {
		return nil, err
	}
	if err := h.checkTokenExpiry(p, r, q.ExpiresInMs); err != nil {
		return nil, err
	}
	return r, h.bindToken(p, r, q)
}

// parentID is what a token made by p names as its parent.
func (p *Principal) parentID() string {
	if p.TokenID == rootTokenID {
		return ""
	}
	return p.TokenID
}

// maxTokensOfOne bounds the live tokens that one participant without scope admin has made.
const maxTokensOfOne = 1000

// room refuses one more where a participant has made as many as it may.
func (t *tokens) room(p *Principal) error {
	if p.Admin() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.made[p.AgentID]) < maxTokensOfOne {
		return nil
	}
	now := t.now() // only p's own are looked through: nobody who asks again and again shall hold up the others
	t.made[p.AgentID] = slices.DeleteFunc(t.made[p.AgentID], func(k *token) bool { return !t.livesLocked(k, now) })
	if made := len(t.made[p.AgentID]); made >= maxTokensOfOne {
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("%s has made %d tokens that are live", p.AgentID, made), fmt.Sprintf("at most %d", maxTokensOfOne))
	}
	return nil
}
