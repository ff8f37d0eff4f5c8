package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// TokensConversation is the reserved conversation in which the hub keeps its tokens.
const TokensConversation = "~tokens"

// token is a token that was live when it was looked up: neither it nor a token above it is revoked.
type token struct {
	parley.TokenRecord
	sum       [sha256.Size]byte // the SHA-256 of the token; zero, which no token has, if it is unknown
	createdAt parley.Timestamp
	seq       int64         // of the event that created it
	revoked   chan struct{} // closed when it is revoked
}

// tokens are the live tokens. They are a fold of TokensConversation that drops ended tokens.
type tokens struct {
	now func() time.Time

	folding sync.Mutex // held while the log is read; guards the fields below
	folded  int64      // the last event of the log that was folded
	ends    [1024]revocation

	mu       sync.RWMutex // guards the fields below
	byID     map[string]*token
	children map[string][]*token // by parent; may contain ended tokens
	ordered  []*token            // by seq; may contain ended tokens
	made     map[string][]*token // by creator; may contain ended tokens
	claims   map[string][]string // ids of the tokens of a claim, by its hash; may contain ended tokens
	limit    int                 // the length of ordered at which ended tokens are dropped
	next     chan struct{}       // closed by the next revocation
}

var _ Verifier = (*tokens)(nil)

func newTokens(now func() time.Time) *tokens {
	t := &tokens{now: now, byID: make(map[string]*token), next: make(chan struct{})}
	t.dropEndedLocked()
	return t
}

type revocation struct {
	seq int64
	ids []string
}

func (t *tokens) follow(engine *conv.Engine) error {
	t.folding.Lock()
	defer t.folding.Unlock()
	for e, err := range engine.History(TokensConversation, t.folded) {
		if err == nil {
			err = t.apply(e)
		}
		if err != nil {
			return err
		}
		t.folded = e.Seq
	}
	return nil
}

// apply folds one event of the log. Events must come in the order of their seqs, so that the live tokens
// are the same after a restart and at every hub.
func (t *tokens) apply(e *parley.Event) error {
	sys, err := e.System()
	switch {
	case err != nil:
		return err
	case sys.Kind == parley.KindTokenCreated && sys.Token != nil:
		t.create(sys.Token, e)
	case sys.Kind == parley.KindTokenRevoked:
		t.ends[e.Seq%int64(len(t.ends))] = revocation{e.Seq, t.revoke(sys.TokenID)}
	}
	return nil
}

// revokedBy returns the tokens that the revocation event with a seq ended, if it is a recent one.
func (t *tokens) revokedBy(seq int64) []string {
	t.folding.Lock()
	defer t.folding.Unlock()
	if end := t.ends[seq%int64(len(t.ends))]; end.seq == seq {
		return end.ids
	}
	return nil
}

// create adds a token and reports whether it is live. It is not if its parent was revoked before it in
// the log.
func (t *tokens) create(r *parley.TokenRecord, e *parley.Event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if hasEnded(r, t.now()) || !t.isParentLiveLocked(r.Parent) {
		return false
	}
	made := &token{TokenRecord: *r, sum: parseSum(r), createdAt: e.At, seq: e.Seq, revoked: make(chan struct{})}
	t.byID[r.TokenID] = made
	t.ordered = append(t.ordered, made)
	t.indexLocked(made)
	if len(t.ordered) >= t.limit {
		t.dropEndedLocked()
	}
	return true
}

// isParentLiveLocked knows the hub's tokens only: a token below one of an issuer ends by its expiry.
func (t *tokens) isParentLiveLocked(parent string) bool {
	return parent == "" || isForeignTokenID(parent) || t.byID[parent] != nil
}

func (t *tokens) indexLocked(k *token) {
	t.made[k.CreatedBy] = append(t.made[k.CreatedBy], k)
	if k.ClaimHash != "" {
		t.claims[k.ClaimHash] = append(t.claims[k.ClaimHash], k.TokenID)
	}
	if k.Parent != "" {
		t.children[k.Parent] = append(t.children[k.Parent], k)
	}
}

// revoke ends a token and all tokens below it. It returns their ids in the order of creation.
func (t *tokens) revoke(id string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.byID[id]
	if first == nil {
		return nil
	}
	family := t.familyLocked(first)
	ids := make([]string, 0, len(family))
	for _, k := range family {
		delete(t.byID, k.TokenID)
		delete(t.children, k.TokenID)
		close(k.revoked)
		ids = append(ids, k.TokenID)
	}
	t.announceLocked()
	return ids
}

func (t *tokens) endClaim(hash eventdata.ClaimHash) {
	t.mu.Lock()
	bound := t.claims[hash.String()]
	delete(t.claims, hash.String())
	t.mu.Unlock()
	for _, id := range bound {
		t.revoke(id)
	}
}

func (t *tokens) announce() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.announceLocked()
}

func (t *tokens) announceLocked() {
	close(t.next)
	t.next = make(chan struct{})
}

// familyLocked returns live tokens and all live tokens below them, by seq.
func (t *tokens) familyLocked(first ...*token) []*token {
	family := slices.Clone(first)
	for i := 0; i < len(family); i++ {
		for _, child := range t.children[family[i].TokenID] {
			if t.byID[child.TokenID] == child {
				family = append(family, child)
			}
		}
	}
	slices.SortFunc(family, func(a, b *token) int { return cmp.Compare(a.seq, b.seq) })
	return family
}

func (t *tokens) dropEndedLocked() {
	now := t.now()
	kept := make([]*token, 0, len(t.byID))
	for _, k := range t.ordered {
		if t.isLiveLocked(k, now) {
			kept = append(kept, k)
		}
	}
	t.byID, t.children, t.made = make(map[string]*token, len(kept)), make(map[string][]*token), make(map[string][]*token)
	t.claims = make(map[string][]string)
	for _, k := range kept {
		t.byID[k.TokenID] = k
		t.indexLocked(k)
	}
	t.ordered, t.limit = kept, 2*len(kept)+64
}

func (t *tokens) isLiveLocked(k *token, now time.Time) bool {
	return t.byID[k.TokenID] == k && !hasEnded(&k.TokenRecord, now)
}

func hasEnded(r *parley.TokenRecord, now time.Time) bool {
	return r.ExpiresAt != 0 && !now.Before(r.ExpiresAt.Time())
}

func (t *tokens) revocations() <-chan struct{} {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.next
}

func (t *tokens) find(id string) *token {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// parseSum parses the hash of a record; zero if it is invalid.
func parseSum(r *parley.TokenRecord) (sum [sha256.Size]byte) {
	if b, err := hex.DecodeString(r.SHA256); err == nil && len(b) == len(sum) {
		copy(sum[:], b)
	}
	return sum
}

// unknown is compared with a token whose id is unknown.
var unknown token

// Verify implements Verifier. The time of a refusal does not depend on whether the id is known.
func (t *tokens) Verify(_ context.Context, shown string) (Identity, error) {
	known := &unknown
	if id, ok := tokenID(shown); ok {
		if k := t.find(id); k != nil {
			known = k
		}
	}
	sum := sha256.Sum256([]byte(shown))
	if subtle.ConstantTimeCompare(sum[:], known.sum[:]) != 1 || len(known.Agents) == 0 {
		return Identity{}, errBadToken
	}
	if hasEnded(&known.TokenRecord, t.now()) {
		return Identity{}, refusedToken("the token has expired")
	}
	id := Identity{
		TokenID: known.TokenID, Account: known.Account, Agents: known.Agents, Scopes: known.Scopes,
		Conversations: known.Conversations, Workspaces: known.Workspaces,
		Revoked: known.revoked, claimHash: known.ClaimHash,
	}
	if known.ExpiresAt != 0 {
		id.ExpiresAt = known.ExpiresAt.Time()
	}
	return id, nil
}

const tokenPrefix = "plt_"

// tokenID returns the id in a token plt_<id>_<secret>.
func tokenID(shown string) (string, bool) {
	rest, ok := strings.CutPrefix(shown, tokenPrefix)
	if !ok {
		return "", false
	}
	id, _, ok := strings.Cut(rest, "_")
	return id, ok
}

// maxTokensOfOne bounds the live tokens that one participant without scope admin has created.
const maxTokensOfOne = 1000

// checkRoom refuses another token of a participant that has created as many as it may.
func (t *tokens) checkRoom(p *Principal) error {
	if p.Admin() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.made[p.AgentID]) < maxTokensOfOne {
		return nil
	}
	now := t.now() // only the tokens of p are examined, so that its calls do not slow down others
	t.made[p.AgentID] = slices.DeleteFunc(t.made[p.AgentID], func(k *token) bool { return !t.isLiveLocked(k, now) })
	if made := len(t.made[p.AgentID]); made >= maxTokensOfOne {
		return parley.Refuse(parley.ErrTooLarge,
			fmt.Sprintf("%s has %d live tokens", p.AgentID, made), fmt.Sprintf("at most %d", maxTokensOfOne))
	}
	return nil
}

// revocableBy returns the live tokens that p may revoke, by seq.
func (t *tokens) revocableBy(p *Principal) []*token {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var family []*token
	switch {
	case p.managesAllTokens():
		family = t.ordered
	case p.ownsNoToken():
		return nil
	case t.byID[p.TokenID] != nil:
		family = t.familyLocked(t.byID[p.TokenID])
	default: // a token of an issuer, which is not in the list itself
		family = t.familyLocked(t.children[p.TokenID]...)
	}
	now := t.now()
	live := make([]*token, 0, len(family))
	for _, k := range family {
		if t.isLiveLocked(k, now) {
			live = append(live, k)
		}
	}
	return live
}

// mayRevoke reports whether a token is live, and p may revoke it: its token, one below it, or any token
// for an admin.
func (t *tokens) mayRevoke(p *Principal, id string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	k := t.byID[id]
	if k == nil || hasEnded(&k.TokenRecord, t.now()) {
		return false
	}
	if p.managesAllTokens() {
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

func (k *token) info() parley.TokenInfo {
	return parley.TokenInfo{
		TokenID: k.TokenID, Agents: k.Agents, Scopes: k.Scopes, Conversations: k.Conversations, Workspaces: k.Workspaces,
		ExpiresAt: k.ExpiresAt, CreatedBy: k.CreatedBy, CreatedAt: k.createdAt, Parent: k.Parent,
	}
}
