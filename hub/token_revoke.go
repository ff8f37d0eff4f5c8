package hub

import (
	"context"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// errNoToken is the one answer for a token that is absent, has ended, or is not the caller's.
var errNoToken = parley.Refuse(parley.ErrNotFound, "there is no such token", "")

// RevokeToken ends a token of the caller's and all that were made with it. When it is answered they are refused everywhere, and what waits
// with them has been told to end.
func (h *Hub) RevokeToken(p *Principal, q *parley.RevokeTokenParams, done func(parley.RevokeTokenResult, error)) {
	var none parley.RevokeTokenResult
	if err := h.allow(p, parley.MethodRevokeToken); err != nil {
		done(none, err)
		return
	}
	if err := h.mayRevoke(p, q.TokenID); err != nil {
		done(none, err)
		return
	}
	c, err := h.conv.Pin(tokensConversation)
	if err != nil {
		done(none, err)
		return
	}
	cmd := fold.Command{Verb: fold.Revoke, From: p.AgentID, Admin: true, TokenID: q.TokenID}
	c.Do(&conv.Request{Cmd: cmd, Reply: func(d *fold.Decision, err error) {
		if err != nil {
			done(none, err)
			return
		}
		h.tokens.revoked(h, q.TokenID, d.Events[0].Event.Seq, func(revoked []string, err error) {
			if err == nil && len(revoked) == 0 { // by another call, a moment ago
				err = errNoToken
			}
			if err != nil {
				done(none, err)
				return
			}
			done(parley.RevokeTokenResult{Revoked: revoked}, nil)
		})
	}})
}

// mayRevoke refuses what is no token, or none of p's. One that another hub has just made is one.
func (h *Hub) mayRevoke(p *Principal, id string) error {
	if h.tokens.mayRevoke(p, id) {
		return nil
	}
	if err := h.conv.CatchUp(context.Background()); err != nil {
		return err
	}
	if h.shared && h.tokens.mayRevoke(p, id) {
		return nil
	}
	return errNoToken
}

// overTokens reports whether p may see and end every token of the hub.
func (p *Principal) overTokens() bool { return p.Admin() && p.conversations == nil }

// ownsNoToken reports whether p calls with no token, or with one that is another's to list and end.
func (p *Principal) ownsNoToken() bool { return p.parentID() == "" || p.guest }

// mayRevoke reports whether a token is live and p's own, made with p's, or any at all for an admin.
func (t *tokens) mayRevoke(p *Principal, id string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	k := t.byID[id]
	if k == nil || ended(&k.TokenRecord, t.now()) {
		return false
	}
	if p.overTokens() {
		return true
	}
	if p.ownsNoToken() {
		return false
	}
	for k.TokenID != p.TokenID {
		if k.Parent == p.TokenID {
			return true
		}
		if k = t.byID[k.Parent]; k == nil {
			return false
		}
	}
	return true
}
