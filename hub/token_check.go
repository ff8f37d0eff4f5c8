package hub

import (
	"fmt"
	"slices"
	"time"

	"github.com/parleyhub/parley"
)

// What a token may say, held against what its maker's says.

func widens(format string, args ...any) error {
	return parley.Refuse(parley.ErrForbidden, fmt.Sprintf(format, args...), "no more than the caller's own token has")
}

func checkTokenIDs(_ *Principal, r *parley.TokenRecord) error {
	if len(r.Agents) > parley.MaxTokenIDs {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("agents: there are %d ids", len(r.Agents)), fmt.Sprintf("at most %d", parley.MaxTokenIDs))
	}
	for _, id := range r.Agents {
		if !parley.ValidParticipantID(id) {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("agentId or agents: %.80q is not acceptable", id), "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub")
		}
	}
	return nil
}

func checkTokenAgents(p *Principal, r *parley.TokenRecord) error {
	for _, id := range r.Agents {
		if !p.maySpeakAs(id) {
			return widens("the caller may not speak as %s", id)
		}
	}
	return nil
}

func checkTokenScopes(p *Principal, r *parley.TokenRecord) error {
	if r.Scopes == nil {
		for _, s := range parley.DefaultScopes {
			if p.Has(s) {
				r.Scopes = append(r.Scopes, s)
			}
		}
	}
	if len(r.Scopes) == 0 {
		return parley.Refuse(parley.ErrValidationFailed, "scopes: the token would have none", "at least one scope")
	}
	for _, s := range r.Scopes {
		if !slices.Contains(parley.Scopes, s) {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("scopes: there is no scope %.80q", s), "read, write, create, claim, approve, trace or admin")
		}
		if !p.Has(s) {
			return widens("the caller does not have the scope %s", s)
		}
	}
	r.Scopes = slices.Compact(slices.Sorted(slices.Values(r.Scopes)))
	return nil
}

func checkTokenConversations(p *Principal, r *parley.TokenRecord) error {
	if r.Conversations == nil {
		r.Conversations = p.conversations
		return nil
	}
	if n := len(r.Conversations); n == 0 || n > parley.MaxConversationScope {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("conversations: there are %d", n), fmt.Sprintf("1 to %d", parley.MaxConversationScope))
	}
	for _, id := range r.Conversations {
		if !parley.ValidConversationID(id) {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("conversations: %.80q is not acceptable", id), "1 to 64 of A-Z a-z 0-9 _ -")
		}
		if !p.reaches(id) {
			return widens("the caller's token is for other conversations than %s", id)
		}
	}
	return nil
}

func checkTokenWorkspaces(p *Principal, r *parley.TokenRecord) error {
	if r.Workspaces == nil {
		return nil
	}
	if n := len(r.Workspaces); n == 0 || n > parley.MaxWorkspaces {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("workspaces: there are %d", n), fmt.Sprintf("1 to %d", parley.MaxWorkspaces))
	}
	for _, w := range r.Workspaces {
		if err := checkWorkspace("workspaces", w); err != nil {
			return err
		}
		if !p.grants(w) {
			return widens("the caller's token does not grant the workspace %s", w)
		}
	}
	r.Workspaces = slices.Compact(slices.Sorted(slices.Values(r.Workspaces)))
	return nil
}

func (h *Hub) checkTokenExpiry(p *Principal, r *parley.TokenRecord, expiresInMs int64) error {
	if expiresInMs == 0 {
		if !p.ExpiresAt.IsZero() {
			r.ExpiresAt = parley.TimestampOf(p.ExpiresAt)
		}
		return nil
	}
	if expiresInMs < 1000 || expiresInMs > parley.MaxDurationMs {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("expiresInMs is %d", expiresInMs), fmt.Sprintf("1000 to %d", int64(parley.MaxDurationMs)))
	}
	at := h.Now().Add(time.Duration(expiresInMs) * time.Millisecond)
	if !p.ExpiresAt.IsZero() && at.After(p.ExpiresAt) {
		return widens("the caller's token ends before")
	}
	r.ExpiresAt = parley.TimestampOf(at)
	return nil
}
