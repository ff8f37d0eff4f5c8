package hub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/methods"
)

// TestWhoSeesWhat: by no method does anybody read what is not for them.
func TestWhoSeesWhat(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	maker := h.LocalPrincipal("maker")
	q := open2("a", "b", "t")
	q.Participants[0].Private, q.Participants[1].Private = "PRIVATE-A", "PRIVATE-B"
	id := create(t, h, maker, q)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	tracer := h.LocalPrincipal("t", parley.ScopeRead, parley.ScopeTrace)
	admin := h.LocalPrincipal("root", parley.ScopeAdmin)
	for _, w := range []struct {
		p     *hub.Principal
		words string
	}{{a, "TRACE-A"}, {b, "TRACE-B"}} {
		if _, err := one(func(done func(parley.SendResult, error)) {
			h.SendTrace(w.p, trace(id, w.words, ""), done)
		}); err != nil {
			t.Fatal(err)
		}
		say(t, h, w.p, message(id, "MESSAGE-"+w.p.AgentID, parley.FinalityTurn, ""))
	}
	add := &parley.AddParticipantParams{ConversationID: id, Participant: parley.Participant{ID: "c",
		Kind: parley.KindAgent, Private: "PRIVATE-C"}}
	if _, err := one(func(done func(parley.SeqResult, error)) { h.AddParticipant(maker, add, done) }); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"PRIVATE-A", "PRIVATE-B", "PRIVATE-C", "TRACE-A", "TRACE-B"}
	for _, who := range []struct {
		p    *hub.Principal
		sees []string
	}{
		{a, []string{"PRIVATE-A", "TRACE-A"}},
		{b, []string{"PRIVATE-B", "TRACE-B"}},
		{h.LocalPrincipal("c"), []string{"PRIVATE-C"}},
		{maker, nil},
		{tracer, secrets},
		{admin, secrets},
	} {
		for _, restarted := range []bool{false, true} { // from memory, and from the journal
			from := h
			if restarted {
				from = startOn(t, j, counted("r"))
			}
			for _, c := range calls[:7] {
				told, err := c.do(from, who.p, id)
				if err != nil {
					t.Fatalf("%s %s: %v", who.p.AgentID, c.method, err)
				}
				raw := c.method == methods.Tail || c.method == methods.Subscribe ||
					c.method == methods.GetConversation
				for _, s := range secrets {
					if may := raw && slices.Contains(who.sees, s); strings.Contains(told, s) != may {
						t.Errorf("%s by %s (restarted %t): %s is shown: %t", who.p.AgentID, c.method, restarted, s, !may)
					}
				}
				if raw && !(strings.Contains(told, "MESSAGE-a") && strings.Contains(told, "MESSAGE-b")) {
					t.Errorf("%s by %s: messages are missing", who.p.AgentID, c.method)
				}
			}
		}
	}
}

// TestForeignIsAbsent: no method distinguishes a conversation of others from a missing one.
func TestForeignIsAbsent(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	id := create(t, h, h.LocalPrincipal("a"), open2("a", "b"))
	closed := create(t, h, h.LocalPrincipal("a"), open2("a", "b"))
	say(t, h, h.LocalPrincipal("a"), message(closed, "bye", parley.FinalityConversation, "k"))
	say(t, h, h.LocalPrincipal("a"), message(id, "hi", parley.FinalityTurn, "k"))
	root, err := one(func(done func(parley.CreateTokenResult, error)) {
		h.CreateToken(h.LocalPrincipal("root", parley.ScopeAdmin),
			&parley.CreateTokenParams{AgentID: "a", Conversations: []string{"other"}}, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := h.Authenticate(t.Context(), root.Token, "")
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{id, closed, "absent", "~tokens", "~absent", "", strings.Repeat("x", 300), "a/b\x00"}
	for _, p := range []*hub.Principal{h.LocalPrincipal("stranger"),
		h.LocalPrincipal("stranger", append(parley.DefaultScopes, parley.ScopeTrace)...), narrow} {
		for _, c := range calls {
			var first parley.WireError
			for i, id := range ids {
				_, err := c.do(h, p, id)
				refused(t, err, parley.ErrNotFound)
				if w := parley.ToWire(err); i == 0 {
					first = w
				} else if w != first {
					t.Errorf("%s %s on %q: %+v, else %+v", p.AgentID, c.method, id, w, first)
				}
			}
		}
		wrong := []struct {
			name string
			err  func(id string) error
		}{
			{"limit", func(id string) error {
				_, err := h.Tail(t.Context(), p, &parley.TailParams{ConversationID: id, SinceSeq: -1, Limit: -1})
				return err
			}},
			{"cursor", func(id string) error {
				_, err := h.Tail(t.Context(), p, &parley.TailParams{ConversationID: id, SinceSeq: 99})
				return err
			}},
			{"types", func(id string) error {
				_, err := h.Subscribe(t.Context(), p, &parley.SubscribeParams{ConversationID: id, Types: []parley.EventType{"x"}})
				return err
			}},
			{"payload", func(id string) error {
				return (<-post(h, p, &parley.SendMessageParams{ConversationID: id, Payload: []byte("{}"), Finality: "x"})).err
			}},
			{"seq", func(id string) error {
				_, err := h.Explain(t.Context(), p, &parley.ExplainParams{ConversationID: id, Seq: 99})
				return err
			}},
			{"known key", func(id string) error {
				return (<-post(h, p, message(id, "hi", parley.FinalityTurn, "k"))).err
			}},
		}
		for _, w := range wrong {
			for _, id := range ids {
				refused(t, w.err(id), parley.ErrNotFound)
			}
		}
		list, err := h.ListConversations(t.Context(), p, &parley.ListConversationsParams{})
		if err != nil || len(list.Conversations) != 0 || list.NextCursor != "" {
			t.Errorf("%s lists %+v, %v", p.AgentID, list, err)
		}
	}
	if h.Loaded() > 3 {
		t.Errorf("%d conversations are loaded: those that do not exist stay", h.Loaded())
	}
}

func TestScopes(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	id := create(t, h, h.LocalPrincipal("a"), open2("a", "b"))
	for _, c := range calls {
		m, ok := methods.ByName(c.method)
		if !ok {
			t.Fatal(c.method)
		}
		for _, s := range parley.Scopes {
			_, err := c.do(h, h.LocalPrincipal("a", s), id)
			if s == m.Scope || s == parley.ScopeAdmin {
				if err != nil && parley.ErrorRowOf(err).Err == parley.ErrForbidden {
					t.Errorf("%s with %s: %v", c.method, s, err)
				}
				continue
			}
			refused(t, err, parley.ErrForbidden)
		}
	}
	_, err := h.Client(h.LocalPrincipal("a", parley.ScopeWrite)).CreateConversation(t.Context(), open2("a"))
	refused(t, err, parley.ErrForbidden)
	_, err = h.ListConversations(t.Context(), h.LocalPrincipal("a", parley.ScopeCreate), &parley.ListConversationsParams{})
	refused(t, err, parley.ErrForbidden)
}

func TestListConversations(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	var want []string
	for i := range 30 {
		q := open2("x")
		if i%3 > 0 {
			q.Participants = seats("x", "a")
		}
		maker := h.LocalPrincipal([]string{"a", "m", "n"}[i%3])
		id := create(t, h, maker, q)
		if i%2 == 0 {
			say(t, h, h.LocalPrincipal("x"), message(id, "bye", parley.FinalityConversation, ""))
		}
		want = append(want, id)
	}
	if _, err := one(func(done func(parley.CreateTokenResult, error)) {
		h.CreateToken(h.LocalPrincipal("a"), &parley.CreateTokenParams{AgentID: "a"}, done)
	}); err != nil {
		t.Fatal(err)
	}
	list := func(p *hub.Principal, status parley.Status, limit int) []string {
		var out []string
		q := &parley.ListConversationsParams{Status: status, Limit: limit}
		for {
			r, err := h.ListConversations(t.Context(), p, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Conversations {
				if status != "" && c.Status != status {
					t.Fatalf("%s is %s", c.ConversationID, c.Status)
				}
				out = append(out, c.ConversationID)
			}
			if q.Cursor = r.NextCursor; q.Cursor == "" {
				return out
			}
		}
	}
	for _, limit := range []int{1, 7, 15, 30, 100} {
		if got := list(h.LocalPrincipal("a"), "", limit); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("a, limit %d: %v", limit, got)
		}
		if got := list(h.LocalPrincipal("root", parley.ScopeAdmin), "", limit); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("admin, limit %d: %v", limit, got)
		}
		if open, closed := list(h.LocalPrincipal("a"), parley.StatusActive, limit), list(h.LocalPrincipal("a"),
			parley.StatusClosed, limit); len(open) != 15 || len(closed) != 15 {
			t.Fatalf("%d open, %d closed", len(open), len(closed))
		}
	}
	if got := list(h.LocalPrincipal("m"), "", 0); len(got) != 10 {
		t.Fatalf("creator sees %d", len(got))
	}
}
