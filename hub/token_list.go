package hub

import (
	"context"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// maxTokensPage bounds limit of listTokens.
const maxTokensPage = 1000

// ListTokens gives a page of the live tokens that the caller may revoke, in order of creation.
func (h *Hub) ListTokens(_ context.Context, p *Principal, q *parley.ListTokensParams) (parley.ListTokensResult, error) {
	out := parley.ListTokensResult{Tokens: []parley.TokenInfo{}}
	if err := h.allow(p, parley.MethodListTokens); err != nil {
		return out, err
	}
	limit, err := checkLimit(q.Limit, maxTokensPage, parley.DefaultPage)
	if err != nil {
		return out, err
	}
	after, err := parseCursor(q.Cursor, false)
	if err != nil {
		return out, err
	}
	for _, k := range h.tokens.of(p) {
		if journal.Position(k.seq) <= after {
			continue
		}
		if len(out.Tokens) == limit {
			out.NextCursor = strconv.FormatUint(uint64(after), 10)
			break
		}
		out.Tokens = append(out.Tokens, k.info())
		after = journal.Position(k.seq)
	}
	return out, nil
}

// of gives the live tokens that p may revoke, by seq.
func (t *tokens) of(p *Principal) []*token {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var family []*token
	switch {
	case p.overTokens():
		family = t.ordered
	case p.ownsNoToken():
		return nil
	case t.byID[p.TokenID] != nil:
		family = t.familyLocked(t.byID[p.TokenID])
	default: // of an issuer: not in the list itself
		family = t.familyLocked(t.children[p.TokenID]...)
	}
	now := t.now()
	live := make([]*token, 0, len(family))
	for _, k := range family {
		if t.livesLocked(k, now) {
			live = append(live, k)
		}
	}
	return live
}

func (k *token) info() parley.TokenInfo {
	return parley.TokenInfo{
		TokenID: k.TokenID, Agents: k.Agents, Scopes: k.Scopes, Conversations: k.Conversations, Workspaces: k.Workspaces,
		ExpiresAt: k.ExpiresAt, CreatedBy: k.CreatedBy, CreatedAt: k.createdAt, Parent: k.Parent,
	}
}
