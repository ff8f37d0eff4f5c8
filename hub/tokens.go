package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// tokensConversation is where the hub keeps its tokens: an ordinary log that only admins see.
const tokensConversation = "~tokens"

// token is one that was live when it was last looked at: neither it nor one that it was made with is revoked.
type token struct {
	parley.TokenRecord
	sum       [sha256.Size]byte // its SHA256; zero, which is that of no token, where that is none
	createdAt parley.Timestamp
	seq       int64         // of the event that made it
	revoked   chan struct{} // closed when it is revoked
}

// tokens are the live tokens. They are a fold of tokensConversation; what has ended is forgotten.
type tokens struct {
	now func() time.Time

	folding sync.Mutex // held while the log is read; guards the fields below
	folded  int64      // the last event of the log that was taken in
	ends    [1024]revoking

	mu       sync.RWMutex // guards the fields below
	byID     map[string]*token
	children map[string][]*token // by the token that they were made with; some may have ended
	ordered  []*token            // by seq; some may have ended
	made     map[string][]*token // by who made them; some may have ended
	claims   map[string][]string // ids of those that end with a claim, by its hash; some may have ended
	crowd    int                 // at so many in ordered those that have ended are forgotten
	next     chan struct{}       // closed by the next revocation
}

var _ Verifier = (*tokens)(nil)

func newTokens(now func() time.Time) *tokens {
	t := &tokens{now: now, byID: make(map[string]*token), next: make(chan struct{})}
	t.forgetLocked()
	return t
}

// revoking is what came of a revocation.
type revoking struct {
	seq int64
	ids []string
}

func loadTokens(h *Hub) (*tokens, error) {
	t := newTokens(h.Now)
	return t, t.follow(h.journal)
}

// follow takes in what the log has that was not taken in. A hub that is alone needs it once: it takes in its own events as they are committed.
func (t *tokens) follow(j journal.Journal) error {
	t.folding.Lock()
	defer t.folding.Unlock()
	for {
		records, err := j.Read(tokensConversation, t.folded, 1000, 4<<20)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			var e parley.Event
			if err := json.Unmarshal(r.Data, &e); err != nil {
				return err
			}
			if err := t.take(&e); err != nil {
				return err
			}
			t.folded = r.Seq
		}
	}
}

// take folds one event of the log. Events must be taken in the order of their seqs, so that what is live is the same after a restart, and at every hub.
func (t *tokens) take(e *parley.Event) error {
	sys, err := e.System()
	switch {
	case err != nil:
		return err
	case sys.Kind == parley.KindTokenCreated && sys.Token != nil:
		t.create(sys.Token, e)
	case sys.Kind == parley.KindTokenRevoked:
		t.ends[e.Seq%int64(len(t.ends))] = revoking{e.Seq, t.revoke(sys.TokenID)}
	}
	return nil
}

// created takes in a token whose event was just committed, and tells then whether it is live. A hub that shares its journal may have to take in events of others before.
func (t *tokens) created(h *Hub, r *parley.TokenRecord, e *parley.Event, then func(live bool, err error)) {
	if !h.shared {
		then(t.create(r, e), nil)
		return
	}
	h.conv.Go(func() { // the goroutine of the commits does not read
		err := t.follow(h.journal)
		then(err == nil && t.find(r.TokenID) != nil, err)
	})
}

// revoked is created for a revocation: it tells then which tokens it has ended.
func (t *tokens) revoked(h *Hub, id string, seq int64, then func(ids []string, err error)) {
	if !h.shared {
		then(t.revoke(id), nil)
		return
	}
	h.conv.Go(func() {
		err := t.follow(h.journal)
		t.folding.Lock()
		end := t.ends[seq%int64(len(t.ends))]
		t.folding.Unlock()
		if end.seq != seq {
			end.ids = nil
		}
		then(end.ids, err)
	})
}

// create adds a token and reports whether it is live: one whose parent was revoked before it in the log has never been.
func (t *tokens) create(r *parley.TokenRecord, e *parley.Event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ended(r, t.now()) || !t.parentLivesLocked(r.Parent) {
		return false
	}
	made := &token{TokenRecord: *r, sum: sumOf(r), createdAt: e.At, seq: e.Seq, revoked: make(chan struct{})}
	t.byID[r.TokenID] = made
	t.ordered = append(t.ordered, made)
	t.countLocked(made)
	if len(t.ordered) >= t.crowd {
		t.forgetLocked()
	}
	return true
}

// parentLivesLocked knows only the hub's own tokens: what was made with the token of an issuer ends by its expiry.
func (t *tokens) parentLivesLocked(parent string) bool {
	return parent == "" || foreignTokenID(parent) || t.byID[parent] != nil
}

func (t *tokens) countLocked(k *token) {
	t.made[k.CreatedBy] = append(t.made[k.CreatedBy], k)
	if k.ClaimHash != "" {
		t.claims[k.ClaimHash] = append(t.claims[k.ClaimHash], k.TokenID)
	}
	if k.Parent != "" {
		t.children[k.Parent] = append(t.children[k.Parent], k)
	}
}

// revoke ends a token and all that were made with it, and gives their ids in order of creation.
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

// announce tells those who wait that a token has ended.
func (t *tokens) announce() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.announceLocked()
}

func (t *tokens) announceLocked() {
	close(t.next)
	t.next = make(chan struct{})
}

// familyLocked gives live tokens and all live ones that were made with them, by seq.
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

// forgetLocked forgets what has ended.
func (t *tokens) forgetLocked() {
	now := t.now()
	kept := make([]*token, 0, len(t.byID))
	for _, k := range t.ordered {
		if t.livesLocked(k, now) {
			kept = append(kept, k)
		}
	}
	t.byID, t.children, t.made = make(map[string]*token, len(kept)), make(map[string][]*token), make(map[string][]*token)
	t.claims = make(map[string][]string)
	for _, k := range kept {
		t.byID[k.TokenID] = k
		t.countLocked(k)
	}
	t.ordered, t.crowd = kept, 2*len(kept)+64
}

func (t *tokens) livesLocked(k *token, now time.Time) bool {
	return t.byID[k.TokenID] == k && !ended(&k.TokenRecord, now)
}

func ended(r *parley.TokenRecord, now time.Time) bool {
	return r.ExpiresAt != 0 && !now.Before(r.ExpiresAt.Time())
}

// revocations gives a channel that is closed by the next revocation.
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

// sumOf reads the hash in a record.
func sumOf(r *parley.TokenRecord) (sum [sha256.Size]byte) {
	if b, err := hex.DecodeString(r.SHA256); err == nil && len(b) == len(sum) {
		copy(sum[:], b)
	}
	return sum
}

// nobody stands for every token that is not known.
var nobody token

// Verify makes the hub's own tokens one verifier among others. How long a refusal takes does not tell whether there is a token of that id.
func (t *tokens) Verify(_ context.Context, shown string) (Identity, error) {
	known := &nobody
	if id, ok := tokenID(shown); ok {
		if k := t.find(id); k != nil {
			known = k
		}
	}
	sum := sha256.Sum256([]byte(shown))
	if subtle.ConstantTimeCompare(sum[:], known.sum[:]) != 1 || len(known.Agents) == 0 || ended(&known.TokenRecord, t.now()) {
		return Identity{}, errBadToken
	}
	id := Identity{
		TokenID: known.TokenID, Account: known.Account, Agents: known.Agents, Scopes: known.Scopes, Conversations: known.Conversations, Revoked: known.revoked,
		Workspaces: known.Workspaces, claimHash: known.ClaimHash,
	}
	if known.ExpiresAt != 0 {
		id.ExpiresAt = known.ExpiresAt.Time()
	}
	return id, nil
}

// tokenPrefix begins the tokens that a hub makes.
const tokenPrefix = "plt_"

// tokenID takes the id out of plt_<id>_<secret>.
func tokenID(shown string) (string, bool) {
	rest, ok := strings.CutPrefix(shown, tokenPrefix)
	if !ok {
		return "", false
	}
	id, _, ok := strings.Cut(rest, "_")
	return id, ok
}
