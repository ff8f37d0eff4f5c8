package hub

import (
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// A token for one turn ends with its claim. The claim is in the log of its conversation, the token in that of the tokens: a token whose claim does not stand
// is none, whatever its own log says.

// bindToken holds the claim of a token against what stands, and narrows the token to it.
func (h *Hub) bindToken(p *Principal, r *parley.TokenRecord, q *parley.CreateTokenParams) error {
	if p.claim != nil {
		return parley.Refuse(parley.ErrForbidden, "a token for one turn makes no others", "the token of its executor")
	}
	if q.Claim == nil {
		return nil
	}
	if len(q.Agents) > 0 || q.Conversations != nil || q.Workspaces != nil {
		return parley.Refuse(parley.ErrValidationFailed, "agents, conversations or workspaces beside claim", "claim alone, which says the first two and has no workspace")
	}
	if !p.Has(parley.ScopeClaim) {
		return widens("the caller does not have the scope claim")
	}
	hash := fold.HashClaim(q.Claim.ClaimID)
	c, s, err := h.claimed(p, q.Claim.ConversationID, hash)
	if err != nil {
		return err
	}
	defer h.conv.Unpin(c)
	seat := ""
	if s.Claim != nil && s.Claim.Hash == hash {
		seat = s.Claim.AgentID
	}
	who, visible := p.on(&s, seat)
	switch {
	case !visible:
		return p.hidden(&s)
	case seat == "" || who.AgentID != seat:
		return parley.Refuse(parley.ErrClaimLost, "the claim does not stand, or no longer", "a claim of the caller's")
	case q.AgentID != seat:
		return parley.Refuse(parley.ErrValidationFailed, "agentId is not the claim's participant", seat)
	}
	r.ClaimHash, r.Conversations = hash.String(), []string{q.Claim.ConversationID}
	if r.ExpiresAt == 0 {
		r.ExpiresAt = parley.TimestampOf(h.Now().Add(parley.MaxTurnMs * time.Millisecond)) // so that it is forgotten
	}
	return nil
}

// endClaim ends the tokens of a claim.
func (t *tokens) endClaim(hash fold.ClaimHash) {
	t.mu.Lock()
	bound := t.claims[hash.String()]
	delete(t.claims, hash.String())
	t.mu.Unlock()
	for _, id := range bound {
		t.revoke(id)
	}
}

// claimOf gives the claim that a token is for.
func claimOf(id *Identity) (*fold.ClaimHash, bool) {
	if id.claimHash == "" {
		return nil, true
	}
	h, ok := fold.ParseClaimHash(id.claimHash)
	return &h, ok
}

// underClaim makes p speak under the claim of its token, which must stand.
func (h *Hub) underClaim(p *Principal, id *Identity) error {
	hash, ok := claimOf(id)
	if hash == nil {
		return nil
	}
	if !h.turns.isRecovered() {
		return &parley.Error{Err: parley.ErrUnavailable, Message: "the hub has just been started, and does not know yet which claims stand", RetryAfterMs: 500}
	}
	turn, stands := h.turns.turnOf(*hash)
	if !ok || !stands {
		return errClaimOver
	}
	p.claim, p.claimTurn = hash, turn
	return nil
}

var errClaimOver = parley.Refuse(parley.ErrUnauthenticated, "the claim of the token has ended", "a token that is valid")

// isOfNow reports whether p is not bound to a claim, or that one stands: what was decided may not be committed, and the token not ended yet.
func (p *Principal) isOfNow(s *fold.State) bool {
	return p.claim == nil || s.Claim != nil && s.Claim.Hash == *p.claim
}

// turnOf gives the turn of a claim that stands.
func (t *turns) turnOf(hash fold.ClaimHash) (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holdings[hash]
	if h == nil {
		return 0, false
	}
	return h.turn, true
}
