package hub_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// closedLong makes a conversation of more than 64 events, so that its state is kept, that b closes under the key "end".
func closedLong(t *testing.T, h *hub.Hub) (id string, last *parley.SendMessageParams, first parley.SendResult) {
	t.Helper()
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id = create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b"), ClientRequestID: "c"})
	for i := range 40 {
		say(t, h, a, message(id, fmt.Sprint("a", i), parley.FinalityTurn, fmt.Sprint("k", i)))
		say(t, h, b, message(id, fmt.Sprint("b", i), parley.FinalityTurn, fmt.Sprint("k", i)))
	}
	say(t, h, a, message(id, "last words", parley.FinalityTurn, ""))
	last = message(id, "bye", parley.FinalityConversation, "end")
	last.Outcome = &parley.Outcome{Status: parley.OutcomeFailed, Reason: "no <reason>"}
	last.Payload = json.RawMessage("{ \"text\":  \"bye <\u2028>\" }")
	return id, last, say(t, h, b, last)
}

// checkRetries holds every retry against the first result.
func checkRetries(t *testing.T, h *hub.Hub, id string, last *parley.SendMessageParams, first parley.SendResult) {
	t.Helper()
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	want := first
	want.Duplicate = true
	again := *last
	again.Payload = json.RawMessage("{\"text\":\"bye <\u2028>\"}")
	for range 2 {
		if got := say(t, h, b, &again); got != want {
			t.Fatalf("retry of the close: %+v, want %+v", got, want)
		}
	}
	for i := range 40 {
		if got := say(t, h, b, message(id, fmt.Sprint("b", i), parley.FinalityTurn, fmt.Sprint("k", i))); !got.Duplicate ||
			got.Turn != int64(2*i+2) {
			t.Fatalf("retry of k%d: %+v", i, got)
		}
	}
	for name, change := range map[string]func(*parley.SendMessageParams){
		"payload":  func(q *parley.SendMessageParams) { q.Payload = text("other") },
		"finality": func(q *parley.SendMessageParams) { q.Finality, q.Outcome = parley.FinalityTurn, nil },
		"outcome":  func(q *parley.SendMessageParams) { q.Outcome = &parley.Outcome{Status: parley.OutcomeFailed} },
		"none":     func(q *parley.SendMessageParams) { q.Outcome = nil },
	} {
		other := *last
		change(&other)
		r := <-post(h, b, &other)
		if r.err == nil {
			t.Fatalf("other %s: %+v", name, r)
		}
		refused(t, r.err, parley.ErrIdempotencyConflict)
	}
	_, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(b, trace(id, "x", "end"), done) })
	refused(t, err, parley.ErrIdempotencyConflict)
	_, err = one(func(done func(parley.SeqResult, error)) { h.SendNote(b, note(id, "x", "end"), done) })
	refused(t, err, parley.ErrIdempotencyConflict)
	refused(t, (<-post(h, a, &again)).err, parley.ErrConversationClosed) // another's key
	s, err := h.Client(a).CreateConversation(context.Background(),
		&parley.CreateConversationParams{Participants: seats("a", "b"), ClientRequestID: "c"})
	if err != nil || s.ConversationID != id || s.Status != parley.StatusClosed || s.LatestSeq != first.Seq {
		t.Fatalf("retry of create: %+v, %v", s, err)
	}
	_, err = h.Client(a).CreateConversation(context.Background(),
		&parley.CreateConversationParams{Participants: seats("a", "c"), ClientRequestID: "c"})
	refused(t, err, parley.ErrIdempotencyConflict)
}

func TestRetryOfTheClose(t *testing.T) {
	reopen := func(spoil func(t *testing.T, j *memory.Journal, id string)) func(*testing.T, *memory.Journal, *hub.Hub, string) *hub.Hub {
		return func(t *testing.T, j *memory.Journal, h *hub.Hub, id string) *hub.Hub {
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if seq, state, err := j.LoadState(id); err != nil || len(state) == 0 || seq < 64 {
				t.Fatalf("no state was kept: %d, %d bytes, %v", seq, len(state), err)
			}
			spoil(t, j, id)
			return startOn(t, j, nil)
		}
	}
	save := func(t *testing.T, j *memory.Journal, id string, seq int64, state []byte) {
		if err := j.SaveState(id, seq, state); err != nil {
			t.Fatal(err)
		}
	}
	type kept struct { // by versions before 8
		Version int
		State   fold.State
		Keys    map[idempotency.KeyID]struct {
			Seq, Turn int64
			Digest    [16]byte
		}
	}
	for name, next := range map[string]func(*testing.T, *memory.Journal, *hub.Hub, string) *hub.Hub{
		"same hub":   func(_ *testing.T, _ *memory.Journal, h *hub.Hub, _ string) *hub.Hub { return h },
		"state kept": reopen(func(*testing.T, *memory.Journal, string) {}),
		"no state":   reopen(func(t *testing.T, j *memory.Journal, id string) { save(t, j, id, 0, nil) }),
		"crash": func(t *testing.T, j *memory.Journal, h *hub.Hub, _ string) *hub.Hub {
			next := crash(t, j)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			return startOn(t, next, nil)
		},
		"corrupt": reopen(func(t *testing.T, j *memory.Journal, id string) {
			seq, state, _ := j.LoadState(id)
			for i := range state {
				state[i] ^= byte(i)
			}
			save(t, j, id, seq, state)
		}),
		"cut": reopen(func(t *testing.T, j *memory.Journal, id string) {
			seq, state, _ := j.LoadState(id)
			save(t, j, id, seq, state[:len(state)/2])
		}),
		"other seq": reopen(func(t *testing.T, j *memory.Journal, id string) {
			seq, state, _ := j.LoadState(id)
			save(t, j, id, seq-1, state)
		}),
		"old version": reopen(func(t *testing.T, j *memory.Journal, id string) {
			seq, _, _ := j.LoadState(id)
			var buf bytes.Buffer
			if err := gob.NewEncoder(&buf).Encode(kept{Version: 7, State: fold.State{ID: id, Seq: seq,
				Status: parley.StatusActive}}); err != nil {
				t.Fatal(err)
			}
			save(t, j, id, seq, buf.Bytes())
		}),
		"settled keys lost": reopen(func(t *testing.T, j *memory.Journal, id string) { save(t, j, id+" 1", 0, nil) }),
		"settled keys damaged": reopen(func(t *testing.T, j *memory.Journal, id string) {
			seq, keys, _ := j.LoadState(id + " 1")
			if len(keys) == 0 {
				t.Fatal("no settled keys were kept")
			}
			keys[20] ^= 1
			save(t, j, id+" 1", seq, keys)
		}),
		"settled keys cut": reopen(func(t *testing.T, j *memory.Journal, id string) {
			seq, keys, _ := j.LoadState(id + " 1")
			save(t, j, id+" 1", seq, keys[:len(keys)-34])
		}),
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t)
			h := startOn(t, j, nil)
			id, last, first := closedLong(t, h)
			checkRetries(t, next(t, j, h, id), id, last, first)
		})
	}
}

func TestRetryAfterEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, &hub.Options{IdleEvict: time.Second})
		id, last, first := closedLong(t, h)
		<-time.After(3 * time.Second)
		if seq, _, err := j.LoadState(id); err != nil || seq != first.Seq || h.Loaded() != 0 {
			t.Fatalf("state kept at %d, %v; %d loaded", seq, err, h.Loaded())
		}
		checkRetries(t, h, id, last, first)
	})
}

// waitBriefly lets the hub's goroutines go on.
func waitBriefly(t *testing.T) {
	select {
	case <-time.After(time.Millisecond):
	case <-t.Context().Done():
		t.Fatal("the test has ended")
	}
}

// TestRetryOfOthers repeats traces, notes, and refused writes.
func TestRetryOfOthers(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b")})
	tr := func(p *hub.Principal, q *parley.SendTraceParams) (parley.SendResult, error) {
		return one(func(done func(parley.SendResult, error)) { h.SendTrace(p, q, done) })
	}
	nt := func(p *hub.Principal, q *parley.SendNoteParams) (parley.SeqResult, error) {
		return one(func(done func(parley.SeqResult, error)) { h.SendNote(p, q, done) })
	}
	// A refused write leaves its key free.
	refused(t, (<-post(h, b, message(id, "too soon", parley.FinalityTurn, "k"))).err, parley.ErrNotYourTurn)
	t1, err := tr(a, trace(id, "t", "t"))
	if err != nil {
		t.Fatal(err)
	}
	n1, err := nt(b, note(id, "n", "n"))
	if err != nil {
		t.Fatal(err)
	}
	say(t, h, a, message(id, "done", parley.FinalityTurn, "k"))
	if r := say(t, h, b, message(id, "other", parley.FinalityTurn, "k")); r.Duplicate {
		t.Fatalf("the key of a refused write: %+v", r)
	}
	if t2, err := tr(a, trace(id, "t", "t")); err != nil || !t2.Duplicate || t2.Seq != t1.Seq || t2.Turn != t1.Turn {
		t.Fatalf("trace %+v, again %+v, %v", t1, t2, err)
	}
	if n2, err := nt(b, note(id, "n", "n")); err != nil || !n2.Duplicate || n2.Seq != n1.Seq {
		t.Fatalf("note %+v, again %+v, %v", n1, n2, err)
	}
	_, err = nt(b, note(id, "other", "n"))
	refused(t, err, parley.ErrIdempotencyConflict)
}

// TestOutcomeIsTheHubs: a caller that uses its params again does not reach into the hub.
func TestOutcomeIsTheHubs(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	q := message(id, "bye", parley.FinalityConversation, "")
	q.Outcome = &parley.Outcome{Status: parley.OutcomeFailed, Reason: "broken"}
	say(t, h, a, q)
	q.Outcome.Reason = "mended"
	for range 2 {
		s, err := h.Client(a).GetConversation(t.Context(), &parley.GetConversationParams{ConversationID: id})
		if err != nil || s.Outcome.Reason != "broken" || s.Participants[0].ID != "a" {
			t.Fatalf("%+v %+v, %v", s.Outcome, s.Participants, err)
		}
		s.Outcome.Reason, s.Participants[0].ID = "changed", "z"
	}
}
