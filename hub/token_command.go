package hub

import (
	"encoding/hex"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// The token of a command: plc_<session>_<claim>. It is made by who holds the claim, without asking: the id of the claim is the secret, and the log has its
// hash. It is good as long as the claim stands.
const (
	commandPrefix = "plc_"
	claimBegins   = "_clm_"
)

// identifyCommand tells who shows such a token: the agent of the session.
func (h *Hub) identifyCommand(token string) (Identity, error) {
	rest := strings.TrimPrefix(token, commandPrefix)
	i := strings.Index(rest, claimBegins)
	if i < 0 {
		return Identity{}, errBadToken
	}
	session, claim := rest[:i], rest[i+1:]
	if !h.turns.isRecovered() {
		return Identity{}, &parley.Error{Err: parley.ErrUnavailable, Message: "the hub has just been started, and does not know yet which claims stand", RetryAfterMs: 500}
	}
	hash := fold.HashClaim(claim)
	agent, account, ended, ok := h.turns.commandOf(session, hash)
	if !ok || !strings.HasPrefix(session, sessionPrefix) {
		return Identity{}, errBadToken
	}
	return Identity{
		TokenID: "claim-" + hex.EncodeToString(hash[:8]), Account: account, Agents: []string{agent}, Revoked: ended, session: session,
		Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeWrite, parley.ScopeCreate},
	}, nil
}

// commandOf tells of a claim that stands in a conversation: whose it is, under whose account what is done counts, and a channel that is closed when it ends.
func (t *turns) commandOf(conversation string, hash fold.ClaimHash) (agent, account string, ended <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holdings[hash]
	if h == nil || h.conversation != conversation {
		return "", "", nil, false
	}
	if h.ended == nil {
		h.ended = make(chan struct{})
	}
	account = "agent " + h.agentID
	if h.x != nil && h.x.by.Account != "" {
		account = h.x.by.Account
	}
	return h.agentID, account, h.ended, true
}

// IsCommand reports whether p has come with the token of a command.
func (p *Principal) IsCommand() bool { return p.session != "" }
