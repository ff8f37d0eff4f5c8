package hub

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// tokensConversation is where the hub keeps its tokens: an ordinary log that only admins see.
const tokensConversation = "~tokens"

// tokens are the tokens by id. They are a fold of tokensConversation.
type tokens struct {
	mu   sync.RWMutex // guards the field below
	byID map[string]*parley.TokenRecord
}

func loadTokens(h *Hub) (*tokens, error) {
	t := &tokens{byID: make(map[string]*parley.TokenRecord)}
	for after := int64(0); ; {
		records, err := h.journal.Read(tokensConversation, after, 1000, 4<<20)
		if err != nil || len(records) == 0 {
			return t, err
		}
		for _, r := range records {
			var e parley.Event
			if err := json.Unmarshal(r.Data, &e); err != nil {
				return nil, err
			}
			if sys, err := e.System(); err == nil && sys.Token != nil && !ended(sys.Token, h.Now()) {
				t.byID[sys.Token.TokenID] = sys.Token
			}
			after = r.Seq
		}
	}
}

func (t *tokens) find(id string) *parley.TokenRecord {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

func ended(r *parley.TokenRecord, now time.Time) bool {
	return r.ExpiresAt != 0 && !now.Before(r.ExpiresAt.Time())
}

// maxTokensOfOne bounds the tokens that one participant without scope admin has made and that have not expired.
const maxTokensOfOne = 1000

// room forgets expired tokens and refuses one more where a participant has made as many as it may.
func (t *tokens) room(p *Principal, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	made := 0
	for id, r := range t.byID {
		switch {
		case ended(r, now):
			delete(t.byID, id)
		case r.CreatedBy == p.AgentID:
			made++
		}
	}
	if made >= maxTokensOfOne && !p.Admin() {
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("%s has made %d tokens that have not expired", p.AgentID, made), fmt.Sprintf("at most %d", maxTokensOfOne))
	}
	return nil
}

func (t *tokens) put(r *parley.TokenRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[r.TokenID] = r
}

var errBadToken = parley.Refuse(parley.ErrUnauthenticated, "the token is not valid", "a token of this hub")

// Authenticate tells who calls with a token. agentID chooses among the ids that the token may speak as; empty is its
// first ("admin" for the root token). It fails with ErrUnauthenticated or, for another's id, ErrForbidden.
func (h *Hub) Authenticate(token, agentID string) (*Principal, error) {
	if err := h.serving(); err != nil {
		return nil, err
	}
	p, err := h.principal(token)
	if err != nil {
		return nil, err
	}
	if agentID == "" {
		return p, nil
	}
	if !parley.ValidParticipantID(agentID) || !p.maySpeakAs(agentID) {
		return nil, parley.Refuse(parley.ErrForbidden, "the token may not speak as this id", "an id of the token")
	}
	p.AgentID = agentID
	return p, nil
}

func (h *Hub) principal(token string) (*Principal, error) {
	sum := sha256.Sum256([]byte(token))
	if h.root != nil && subtle.ConstantTimeCompare(sum[:], h.root[:]) == 1 {
		return &Principal{AgentID: "admin", TokenID: "root", agents: []string{"admin"}, scopes: []parley.Scope{parley.ScopeAdmin}}, nil
	}
	var record parley.TokenRecord // an unknown id does the same work as a known one
	if id, ok := tokenID(token); ok {
		if r := h.tokens.find(id); r != nil {
			record = *r
		}
	}
	want, _ := hex.DecodeString(record.SHA256)
	if subtle.ConstantTimeCompare(sum[:], want) != 1 {
		return nil, errBadToken
	}
	p := &Principal{
		AgentID: record.Agents[0], TokenID: record.TokenID, agents: record.Agents, scopes: record.Scopes, conversations: record.Conversations,
	}
	if record.ExpiresAt != 0 {
		p.ExpiresAt = record.ExpiresAt.Time()
		if !h.Now().Before(p.ExpiresAt) {
			return nil, errBadToken
		}
	}
	return p, nil
}

// tokenID takes the id out of plt_<id>_<secret>.
func tokenID(token string) (string, bool) {
	rest, ok := strings.CutPrefix(token, "plt_")
	if !ok {
		return "", false
	}
	id, _, ok := strings.Cut(rest, "_")
	return id, ok
}

// CreateToken makes a token that may do no more than the caller's.
func (h *Hub) CreateToken(p *Principal, q *parley.CreateTokenParams, done func(parley.CreateTokenResult, error)) {
	record, err := h.newToken(p, q)
	if err != nil {
		done(parley.CreateTokenResult{}, err)
		return
	}
	secret := h.opts.NewSecret()
	token := "plt_" + record.TokenID + "_" + secret
	sum := sha256.Sum256([]byte(token))
	record.SHA256 = hex.EncodeToString(sum[:])
	h.withTokensLog(func(c *conversation, err error) {
		if err != nil {
			done(parley.CreateTokenResult{}, err)
			return
		}
		cmd := fold.Command{Verb: fold.Token, From: parley.HubID, Admin: true, Token: record}
		c.do(&op{cmd: cmd, reply: func(_ *fold.Decision, err error) {
			if err != nil {
				done(parley.CreateTokenResult{}, err)
				return
			}
			h.tokens.put(record)
			done(parley.CreateTokenResult{Token: token, TokenID: record.TokenID}, nil)
		}})
	})
}

// withTokensLog pins the log of tokens, which the first token creates, and passes it on.
func (h *Hub) withTokensLog(then func(*conversation, error)) {
	c, err := h.pin(tokensConversation)
	if err != nil {
		then(nil, err)
		return
	}
	c.mu.Lock()
	there := c.head.Exists()
	c.mu.Unlock()
	if there {
		then(c, nil)
		return
	}
	cmd := fold.Command{Verb: fold.Create, From: parley.HubID, Create: &parley.CreateConversationParams{Title: "tokens"}}
	c.do(&op{cmd: cmd, reply: func(_ *fold.Decision, err error) {
		if err != nil && !errors.Is(err, parley.ErrAlreadyExists) { // by another's first token
			then(nil, err)
			return
		}
		then(h.pin(tokensConversation)) // c's own pin goes with this answer; it is in memory
	}})
}

// newToken holds what is asked for against what the caller has.
func (h *Hub) newToken(p *Principal, q *parley.CreateTokenParams) (*parley.TokenRecord, error) {
	if err := h.allow(p, parley.MethodCreateToken); err != nil {
		return nil, err
	}
	r := &parley.TokenRecord{
		TokenID: strings.ReplaceAll(h.opts.NewID("t"), "_", ""), Agents: []string{q.AgentID}, Scopes: q.Scopes,
		Conversations: q.Conversations, CreatedBy: p.AgentID,
	}
	for _, id := range q.Agents {
		if !slices.Contains(r.Agents, id) {
			r.Agents = append(r.Agents, id)
		}
	}
	for _, check := range []func(*Principal, *parley.TokenRecord) error{checkTokenAgents, checkTokenScopes, checkTokenConversations} {
		if err := check(p, r); err != nil {
			return nil, err
		}
	}
	if err := h.tokens.room(p, h.Now()); err != nil {
		return nil, err
	}
	return r, h.checkTokenExpiry(p, r, q.ExpiresInMs)
}

func widens(format string, args ...any) error {
	return parley.Refuse(parley.ErrForbidden, fmt.Sprintf(format, args...), "no more than the caller's own token has")
}

func checkTokenAgents(p *Principal, r *parley.TokenRecord) error {
	if len(r.Agents) > parley.MaxTokenIDs {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("agents: there are %d ids", len(r.Agents)), fmt.Sprintf("at most %d", parley.MaxTokenIDs))
	}
	for _, id := range r.Agents {
		if !parley.ValidParticipantID(id) {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("agentId or agents: %.80q is not acceptable", id), "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub")
		}
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
