package hub_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

func root(h *hub.Hub) *hub.Principal { return h.LocalPrincipal("admin", parley.ScopeAdmin) }

// What every participant reads of the creation must not depend on what only one of them may read: it could be guessed from that.
func TestCreationTellsNothingOfPrivates(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	boss := h.LocalPrincipal("boss")
	hashes := map[string]bool{}
	for _, private := range []string{"", "floor price 4200", "floor price 4300"} {
		q := open2("a", "b")
		q.Participants[1].Private, q.ClientRequestID = private, "k"+private
		id := create(t, h, boss, q)
		page, err := h.Tail(t.Context(), h.LocalPrincipal("a"), &parley.TailParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		var e parley.Event
		if err := json.Unmarshal(page.Events[0], &e); err != nil {
			t.Fatal(err)
		}
		sys, err := e.System()
		if err != nil {
			t.Fatal(err)
		}
		hashes[sys.ParamsHash] = true

		if again := create(t, h, boss, q); again != id {
			t.Fatalf("the retry got %s, not %s", again, id)
		}
		q.Participants[1].Private = "another"
		_, err = one(func(done func(*parley.Snapshot, error)) { h.CreateConversation(boss, q, done) })
		refused(t, err, parley.ErrIdempotencyConflict)
	}
	if len(hashes) != 1 {
		t.Fatalf("the hashes tell the private texts apart: %v", hashes)
	}
}

// The hub's own conversations are the hub's: an admin reads them and that is all.
func TestTokensAreTheHubs(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	admin := root(h)
	token := func() error {
		_, err := one(func(done func(parley.CreateTokenResult, error)) {
			h.CreateToken(admin, &parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{"read", "read", "write"}}, done)
		})
		return err
	}
	if err := token(); err != nil {
		t.Fatal(err)
	}
	_, err := one(func(done func(parley.SeqResult, error)) {
		h.CloseConversation(admin, &parley.CloseConversationParams{ConversationID: "~tokens"}, done)
	})
	refused(t, err, parley.ErrForbidden)
	_, err = one(func(done func(parley.SeqResult, error)) {
		h.AddParticipant(admin, &parley.AddParticipantParams{ConversationID: "~tokens", Participant: seats("admin")[0]}, done)
	})
	refused(t, err, parley.ErrForbidden)
	if err := token(); err != nil {
		t.Fatal(err)
	}
	page, err := h.Tail(t.Context(), admin, &parley.TailParams{ConversationID: "~tokens"})
	if err != nil || len(page.Events) != 3 {
		t.Fatalf("%d events, %v", len(page.Events), err)
	}
	if !strings.Contains(string(page.Events[1]), `"scopes":["read","write"]`) {
		t.Errorf("scopes are kept as given: %s", page.Events[1])
	}
}

// A caller cannot choose an id that another caller's key leads to.
func TestMadeIDsAreNotChosen(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	q := open2("a")
	q.ConversationID = "cnv_mine"
	_, err := one(func(done func(*parley.Snapshot, error)) { h.CreateConversation(h.LocalPrincipal("a"), q, done) })
	refused(t, err, parley.ErrValidationFailed)
}

// A subscription ends with the token that it was made or renewed with, and is renewed only by one that allows as much.
func TestSubscriptionEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), nil)
		admin := root(h)
		id := create(t, h, admin, open2("a", "b"))
		login := func(scopes ...parley.Scope) *hub.Principal {
			r, err := one(func(done func(parley.CreateTokenResult, error)) {
				h.CreateToken(admin, &parley.CreateTokenParams{AgentID: "a", Scopes: scopes, ExpiresInMs: 1000}, done)
			})
			if err != nil {
				t.Fatal(err)
			}
			p, err := h.Authenticate(t.Context(), r.Token, "")
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		s, err := h.Subscribe(t.Context(), login(parley.ScopeRead, parley.ScopeTrace),
			&parley.SubscribeParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, less := range []*hub.Principal{login(parley.ScopeRead), login(parley.ScopeWrite), h.LocalPrincipal("b")} {
			refused(t, s.Allows(less), parley.ErrForbidden)
		}
		time.Sleep(600 * time.Millisecond) // in the bubble
		fresh := login(parley.ScopeRead, parley.ScopeTrace)
		if err := s.Allows(fresh); err != nil {
			t.Fatal(err)
		}
		s.Renew(fresh)
		time.Sleep(600 * time.Millisecond)
		if items, err := s.Next(t.Context(), 10); err != nil || len(items) == 0 {
			t.Fatalf("renewed: %v, %v", items, err)
		}
		time.Sleep(time.Second)
		say(t, h, h.LocalPrincipal("b"), message(id, "late", parley.FinalityTurn, ""))
		_, err = s.Next(t.Context(), 10)
		refused(t, err, parley.ErrUnauthenticated)
	})
}

func TestSubscribeToNoTypes(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	_, err := h.Subscribe(t.Context(), a, &parley.SubscribeParams{ConversationID: id, Types: []parley.EventType{}})
	refused(t, err, parley.ErrValidationFailed)
}

// While there is no room the hub serves but is not ready.
func TestNotReadyWhileFull(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	j.FailNext(journal.ErrStorageFull)
	r := <-post(h, a, message(id, "lost", parley.FinalityTurn, ""))
	refused(t, r.err, parley.ErrStorageFull)
	refused(t, h.Ready(), parley.ErrStorageFull)
	say(t, h, a, message(id, "kept", parley.FinalityTurn, ""))
	if err := h.Ready(); err != nil {
		t.Fatal(err)
	}
}

// A hub without writes is ready again after a while. Otherwise a load balancer that checks
// readiness would send it no writes.
func TestReadyAgainWithoutAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		a := h.LocalPrincipal("a")
		id := create(t, h, a, open2("a"))
		j.FailNext(journal.ErrStorageFull)
		r := <-post(h, a, message(id, "lost", parley.FinalityTurn, ""))
		refused(t, r.err, parley.ErrStorageFull)
		time.Sleep(9 * time.Second) // in the bubble
		refused(t, h.Ready(), parley.ErrStorageFull)
		time.Sleep(2 * time.Second)
		if err := h.Ready(); err != nil {
			t.Fatal(err)
		}
	})
}

// damaged is a journal in which one conversation cannot be read.
type damaged struct {
	journal.Journal
	id string
}

func (d damaged) Read(id string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	if id == d.id {
		return nil, &journal.DamageError{Conversation: id, Seq: after + 1, What: "checksum"}
	}
	return d.Journal.Read(id, after, limit, maxBytes)
}

// One damaged conversation does not hide the others.
func TestListPassesDamage(t *testing.T) {
	j := newJournal(t)
	first, err := hub.Open(j, counted("a"))
	if err != nil {
		t.Fatal(err)
	}
	a := first.LocalPrincipal("a")
	bad, good := create(t, first, a, open2("a")), create(t, first, a, open2("a"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	h := startOn(t, damaged{j, bad}, counted("b"))
	list, err := h.ListConversations(t.Context(), a, &parley.ListConversationsParams{})
	if err != nil || len(list.Conversations) != 1 || list.Conversations[0].ConversationID != good {
		t.Fatalf("%+v, %v", list, err)
	}
	_, err = h.Tail(t.Context(), a, &parley.TailParams{ConversationID: bad})
	var damage *journal.DamageError
	if !errors.As(err, &damage) {
		t.Fatalf("tail of the damaged one: %v", err)
	}
}

// Unused conversations are evicted when they have too many bytes, even if they are few.
func TestBoundedBytes(t *testing.T) {
	h := startOn(t, newJournal(t), &hub.Options{MaxLoadedBytes: 32 << 10})
	a := h.LocalPrincipal("a")
	for range 40 {
		say(t, h, a, message(create(t, h, a, open2("a")), strings.Repeat("x", 16<<10), parley.FinalityTurn, ""))
	}
	for deadline := time.Now().Add(5 * time.Minute); h.Loaded() > 8; {
		if time.Now().After(deadline) {
			t.Fatalf("%d conversations of over 4 KiB are in memory", h.Loaded())
		}
		<-time.After(time.Millisecond)
	}
}
