package hub_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

func createToken(h *hub.Hub, p *hub.Principal, q parley.CreateTokenParams) (parley.CreateTokenResult, error) {
	return one(func(done func(parley.CreateTokenResult, error)) { h.CreateToken(p, &q, done) })
}

// mustToken makes a token and the principal of it.
func mustToken(t *testing.T, h *hub.Hub, p *hub.Principal, q parley.CreateTokenParams) *hub.Principal {
	t.Helper()
	r, err := createToken(h, p, q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.Authenticate(t.Context(), r.Token, "")
	if err != nil || got.TokenID != r.TokenID {
		t.Fatalf("%+v, %v", got, err)
	}
	return got
}

const rootToken = "plt_root_ROOTSECRET"

func rooted(prefix string) *hub.Options {
	o := counted(prefix)
	o.RootToken = rootToken
	return o
}

// TestTokensNarrow: a token does no more than its maker's.
func TestTokensNarrow(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("t"))
	admin, err := h.Authenticate(t.Context(), rootToken, "")
	if err != nil || admin.AgentID != "admin" || !admin.Admin() {
		t.Fatalf("%+v, %v", admin, err)
	}
	desk := mustToken(t, h, admin, parley.CreateTokenParams{
		AgentID: "a", Agents: []string{"b", "a"}, Conversations: []string{"c1", "c2"}, ExpiresInMs: 60_000,
		Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeWrite, parley.ScopeTrace},
	})
	if desk.AgentID != "a" || desk.Has(parley.ScopeCreate) || !desk.Has(parley.ScopeTrace) || desk.ExpiresAt.IsZero() {
		t.Fatalf("%+v", desk)
	}
	for _, c := range []struct {
		name string
		q    parley.CreateTokenParams
		want error
	}{
		{"same", parley.CreateTokenParams{AgentID: "b"}, nil},
		{"both ids", parley.CreateTokenParams{AgentID: "b", Agents: []string{"a"}}, nil},
		{"other id", parley.CreateTokenParams{AgentID: "c"}, parley.ErrForbidden},
		{"one other id", parley.CreateTokenParams{AgentID: "a", Agents: []string{"c"}}, parley.ErrForbidden},
		{"no id", parley.CreateTokenParams{}, parley.ErrValidationFailed},
		{"id hub", parley.CreateTokenParams{AgentID: "hub"}, parley.ErrValidationFailed},
		{"fewer scopes", parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeTrace}}, nil},
		{"more scopes", parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeCreate}}, parley.ErrForbidden},
		{"admin", parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeAdmin}}, parley.ErrForbidden},
		{"no scope", parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{}}, parley.ErrValidationFailed},
		{"unknown scope", parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{"all"}}, parley.ErrValidationFailed},
		{"self", parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{methods.ScopeSelf}},
			parley.ErrValidationFailed},
		{"one conversation", parley.CreateTokenParams{AgentID: "a", Conversations: []string{"c2"}}, nil},
		{"other conversation", parley.CreateTokenParams{AgentID: "a", Conversations: []string{"c2", "c3"}}, parley.ErrForbidden},
		{"no conversation", parley.CreateTokenParams{AgentID: "a", Conversations: []string{}}, parley.ErrValidationFailed},
		{"the hub's", parley.CreateTokenParams{AgentID: "a", Conversations: []string{"~tokens"}}, parley.ErrValidationFailed},
		{"shorter", parley.CreateTokenParams{AgentID: "a", ExpiresInMs: 50_000}, nil},
		{"longer", parley.CreateTokenParams{AgentID: "a", ExpiresInMs: 70_000}, parley.ErrForbidden},
		{"too short", parley.CreateTokenParams{AgentID: "a", ExpiresInMs: 999}, parley.ErrValidationFailed},
		{"for ever", parley.CreateTokenParams{AgentID: "a", ExpiresInMs: limits.MaxDurationMs + 1},
			parley.ErrValidationFailed},
		{"negative", parley.CreateTokenParams{AgentID: "a", ExpiresInMs: -1}, parley.ErrValidationFailed},
		{"many ids", parley.CreateTokenParams{AgentID: "a", Agents: slices.Collect(func(yield func(string) bool) {
			for i := range 64 {
				if !yield(strings.Repeat("x", i+1)) {
					return
				}
			}
		})}, parley.ErrValidationFailed},
	} {
		r, err := createToken(h, desk, c.q)
		if c.want != nil {
			if refused(t, err, c.want); r.Token != "" {
				t.Errorf("%s: a token came with the refusal", c.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := h.Authenticate(t.Context(), r.Token, "")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got.ExpiresAt.After(desk.ExpiresAt) || got.ExpiresAt.IsZero() || got.Has(parley.ScopeCreate) || got.Admin() {
			t.Errorf("%s: %+v", c.name, got)
		}
		// What it reaches is no more than c1 and c2, whatever was left out.
		if _, err := h.Tail(t.Context(), got,
			&parley.TailParams{ConversationID: "c3"}); parley.ErrorRowOf(err).Err != parley.ErrNotFound &&
			got.Has(parley.ScopeRead) {
			t.Errorf("%s: c3: %v", c.name, err)
		}
	}
	for _, who := range []string{"a", "b"} {
		q := open2("a", "b")
		q.ConversationID = "c" + who
		create(t, h, admin, q)
	}
	read := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a", Conversations: []string{"ca"}})
	if _, err := h.Tail(t.Context(), read, &parley.TailParams{ConversationID: "ca"}); err != nil {
		t.Fatal(err)
	}
	_, err = h.Tail(t.Context(), read, &parley.TailParams{ConversationID: "cb"})
	refused(t, err, parley.ErrNotFound)
	list, err := h.ListConversations(t.Context(), read, &parley.ListConversationsParams{})
	if err != nil || len(list.Conversations) != 1 || list.Conversations[0].ConversationID != "ca" {
		t.Fatalf("%+v, %v", list, err)
	}
	_, err = h.Client(read).CreateConversation(t.Context(), open2("a"))
	refused(t, err, parley.ErrForbidden)
	wide := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "x", Scopes: []parley.Scope{parley.ScopeAdmin},
		Conversations: []string{"ca"}})
	for _, id := range []string{"cb", "~tokens"} {
		_, err = h.Tail(t.Context(), wide, &parley.TailParams{ConversationID: id})
		refused(t, err, parley.ErrNotFound)
	}
	_, err = createToken(h, wide, parley.CreateTokenParams{AgentID: "x", Conversations: []string{"cb"}})
	refused(t, err, parley.ErrForbidden)
}

func TestTokensHidden(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("t"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	user := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeRead,
		parley.ScopeWrite, parley.ScopeTrace}})
	for _, c := range calls {
		_, err := c.do(h, user, "~tokens")
		refused(t, err, parley.ErrNotFound)
	}
	s, events, err := h.GetConversation(t.Context(), admin, &parley.GetConversationParams{ConversationID: "~tokens"})
	if err != nil || len(events) != 2 || s.Participants == nil {
		t.Fatalf("%+v, %d events, %v", s, len(events), err)
	}
	list, err := h.ListConversations(t.Context(), admin, &parley.ListConversationsParams{})
	if err != nil || len(list.Conversations) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, id := range []string{"~tokens", "~mine"} {
		q := open2("a")
		q.ConversationID = id
		_, err = h.Client(admin).CreateConversation(t.Context(), q)
		refused(t, err, parley.ErrValidationFailed)
	}
}

func TestAuthenticate(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("t"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	r, err := createToken(h, admin, parley.CreateTokenParams{AgentID: "a", Agents: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := createToken(h, admin, parley.CreateTokenParams{AgentID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	secret := r.Token[strings.LastIndexByte(r.Token, '_')+1:]
	for _, bad := range []string{
		"", "plt_", "plt__", "plt_" + r.TokenID, "plt_" + r.TokenID + "_", r.Token + "x", r.Token[:len(r.Token)-1], strings.ToUpper(r.Token),
		"plt_" + other.TokenID + "_" + secret, "plt_nobody_" + secret, " " + r.Token, rootToken + "x", "plt_root_", strings.Repeat("x", 1<<16), "\x00",
	} {
		p, err := h.Authenticate(t.Context(), bad, "a")
		if refused(t, err, parley.ErrUnauthenticated); p != nil {
			t.Errorf("%.40q: %+v", bad, p)
		}
	}
	for id, want := range map[string]error{"": nil, "a": nil, "b": nil, "c": parley.ErrForbidden,
		"admin": parley.ErrForbidden, "hub": parley.ErrForbidden, "a b": parley.ErrForbidden} {
		p, err := h.Authenticate(t.Context(), r.Token, id)
		if want != nil {
			refused(t, err, want)
		} else if err != nil || (id != "" && p.AgentID != id) {
			t.Errorf("as %q: %+v, %v", id, p, err)
		}
	}
	for id, want := range map[string]error{"anyone": nil, "hub": parley.ErrForbidden, "~x": parley.ErrForbidden} {
		if p, err := h.Authenticate(t.Context(), rootToken, id); want != nil {
			refused(t, err, want)
		} else if err != nil || p.AgentID != id {
			t.Errorf("root as %q: %+v, %v", id, p, err)
		}
	}
	none := startOn(t, newJournal(t), nil)
	_, err = none.Authenticate(t.Context(), "", "")
	refused(t, err, parley.ErrUnauthenticated)
}

// TestTokensLast: over restarts and crashes, until they expire; and no secret of theirs is ever in the log.
func TestTokensLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, rooted("1"))
		admin, _ := h.Authenticate(t.Context(), rootToken, "")
		var tokens []string
		for i := range 1500 {
			q := parley.CreateTokenParams{AgentID: "a"}
			if i%2 == 0 {
				q.ExpiresInMs = 10_000
			}
			r, err := createToken(h, admin, q)
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, r.Token)
		}
		check := func(h *hub.Hub, short error) {
			t.Helper()
			for i, token := range tokens {
				_, err := h.Authenticate(t.Context(), token, "")
				if i%2 == 0 && short != nil {
					refused(t, err, short)
				} else if err != nil {
					t.Fatalf("token %d: %v", i, err)
				}
			}
		}
		check(h, nil)
		old, err := h.Authenticate(t.Context(), tokens[0], "")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		h = startOn(t, j, rooted("2"))
		check(h, nil)
		next := crash(t, j)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		h = startOn(t, next, rooted("3"))
		check(h, nil)
		noSecrets(t, next, append(tokens, rootToken))
		<-time.After(9999 * time.Millisecond)
		check(h, nil)
		<-time.After(time.Millisecond)
		check(h, parley.ErrUnauthenticated)
		_, err = h.ListConversations(t.Context(), old, &parley.ListConversationsParams{})
		refused(t, err, parley.ErrUnauthenticated)
		_, err = createToken(h, old, parley.CreateTokenParams{AgentID: "a"})
		refused(t, err, parley.ErrUnauthenticated)
	})
}

func noSecrets(t *testing.T, j *memory.Journal, tokens []string) {
	t.Helper()
	var log bytes.Buffer
	for after := journal.Position(0); ; {
		records, err := j.Scan(after, 1000, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			log.Write(r.Data)
			after = r.Position
		}
	}
	if log.Len() == 0 {
		t.Fatal("the log is empty")
	}
	for _, what := range []string{"SECRET", "ROOTSECRET", "plt_"} {
		if !strings.Contains(tokens[0]+tokens[len(tokens)-1], what) {
			t.Fatalf("no token has %q: the test looks for nothing", what)
		}
		if bytes.Contains(log.Bytes(), []byte(what)) {
			t.Errorf("%q is in the log", what)
		}
	}
}

// TestTokensAtOnce: the first tokens of a hub, made at the same time.
func TestTokensAtOnce(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	admin := h.LocalPrincipal("root", parley.ScopeAdmin)
	made := make(chan string, 50)
	for range cap(made) {
		go func() {
			r, err := createToken(h, admin, parley.CreateTokenParams{AgentID: "a"})
			if err != nil {
				t.Error(err)
			}
			made <- r.Token
		}()
	}
	for range cap(made) {
		if _, err := h.Authenticate(t.Context(), <-made, "a"); err != nil {
			t.Error(err)
		}
	}
	if n := len(events(t, j, "~tokens")); n != 51 {
		t.Fatalf("%d events", n)
	}
}

// TestTokenWithoutRoom: a token that could not be written is invalid.
func TestTokenWithoutRoom(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("f"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	for range 2 { // with and without the log of tokens
		j.FailNext(journal.ErrStorageFull)
		r, err := createToken(h, admin, parley.CreateTokenParams{AgentID: "a"})
		if refused(t, err, parley.ErrStorageFull); r.Token != "" {
			t.Fatalf("%+v", r)
		}
		mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a"})
	}
}
