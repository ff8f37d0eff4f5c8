package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

// TestNeverOversleeps: an append that races a wait always ends it.
func TestNeverOversleeps(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	q := open2("a", "b")
	id := create(t, h, a, q)
	const rounds = 10_000
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for seq := int64(1); seq <= rounds; seq++ {
		posted := make(chan sent, 1)
		go func() { posted <- <-post(h, a, message(id, "x", parley.FinalityNone, "")) }()
		var latest int64
		var timedOut bool
		if seq%2 == 0 {
			r, err := h.WaitForChange(ctx, a, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: seq, TimeoutMs: 60_000})
			if err != nil {
				t.Fatal(err)
			}
			latest, timedOut = r.LatestSeq, r.TimedOut
		} else {
			r, events, err := h.GetUpdates(ctx, a, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: seq, TimeoutMs: 60_000})
			if err != nil || len(events) != 1 {
				t.Fatalf("%d events, %v", len(events), err)
			}
			latest, timedOut = r.LatestSeq, r.TimedOut
		}
		if latest != seq+1 || timedOut {
			t.Fatalf("round %d: latest %d, timed out %t", seq, latest, timedOut)
		}
		if r := <-posted; r.err != nil {
			t.Fatal(r.err)
		}
	}
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), nil)
		a := h.LocalPrincipal("a")
		id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("b", "a")})
		for _, c := range []struct{ ms, want int64 }{{0, 0}, {1, 1}, {1234, 1234}, {60_000, 60_000}, {60_001, 60_000}, {1 << 53, 60_000}} {
			start := time.Now()
			r, err := h.WaitForChange(t.Context(), a, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: 1, TimeoutMs: c.ms})
			if took := time.Since(start).Milliseconds(); err != nil || r.TimedOut != (c.ms > 0) || r.LatestSeq != 1 || took != c.want {
				t.Fatalf("waitForChange %d: %+v, %v after %d ms", c.ms, r, err, took)
			}
			for _, until := range []parley.Until{"", parley.UntilAny, parley.UntilMessage, parley.UntilMyTurn, parley.UntilClosed} {
				start := time.Now()
				u, _, err := h.GetUpdates(t.Context(), a, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: 1,
					TimeoutMs: c.ms, Until: until})
				if took := time.Since(start).Milliseconds(); err != nil || u.TimedOut != (c.ms > 0) || took != c.want {
					t.Fatalf("getUpdates %d until %q: %+v, %v after %d ms", c.ms, until, u, err, took)
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.WaitForChange(ctx, a, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: 1,
			TimeoutMs: 5000}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ended ctx: %v", err)
		}
	})
}

// TestUntil: what ends each wait, and what does not.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), nil)
		a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
		id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b")})
		waits := make(map[parley.Until]chan *parley.GetUpdatesResult)
		messages := make(map[parley.Until]int)
		for _, until := range []parley.Until{parley.UntilAny, parley.UntilMessage, parley.UntilMyTurn, parley.UntilClosed} {
			c := make(chan *parley.GetUpdatesResult, 1)
			waits[until] = c
			go func() {
				u, events, err := h.GetUpdates(t.Context(), b, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: 1,
					TimeoutMs: 60_000, Until: until})
				if err != nil {
					t.Error(err)
				}
				messages[until] = len(events)
				c <- u
			}()
		}
		ended := func(now ...parley.Until) {
			t.Helper()
			synctest.Wait()
			for until, c := range waits {
				want := false
				for _, n := range now {
					want = want || n == until
				}
				if got := len(c) == 1; got != want {
					t.Fatalf("until %s ended: %t", until, got)
				}
			}
		}
		ended()
		if _, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(a, trace(id, "x", ""), done) }); err != nil {
			t.Fatal(err)
		}
		ended() // b does not see it
		if _, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(a, note(id, "x", ""), done) }); err != nil {
			t.Fatal(err)
		}
		ended(parley.UntilAny)
		if u := <-waits[parley.UntilAny]; u.NextSeq != 3 || u.LatestSeq != 3 || messages[parley.UntilAny] != 0 ||
			u.Guidance.Kind != parley.Wait {
			t.Fatalf("any: %+v", u)
		}
		delete(waits, parley.UntilAny)
		say(t, h, a, message(id, "progress", parley.FinalityNone, ""))
		ended(parley.UntilMessage)
		delete(waits, parley.UntilMessage)
		say(t, h, a, message(id, "yours", parley.FinalityTurn, ""))
		ended(parley.UntilMyTurn)
		if u := <-waits[parley.UntilMyTurn]; messages[parley.UntilMyTurn] != 2 || u.Guidance.Kind != parley.MaySpeak || u.NextSeq != 5 {
			t.Fatalf("my_turn: %+v with %d messages", u, messages[parley.UntilMyTurn])
		}
		delete(waits, parley.UntilMyTurn)
		say(t, h, b, message(id, "bye", parley.FinalityConversation, ""))
		ended(parley.UntilClosed)
		for _, until := range []parley.Until{parley.UntilAny, parley.UntilMessage, parley.UntilMyTurn, parley.UntilClosed} {
			u, _, err := h.GetUpdates(t.Context(), a, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: 6,
				TimeoutMs: 60_000, Until: until})
			if err != nil || u.TimedOut || u.Status != parley.StatusClosed {
				t.Fatalf("until %s of a closed one: %+v, %v", until, u, err)
			}
		}
	})
}

// TestSparsePages: pages of a reader who sees little go on from nextSeq and come to all of it.
func TestSparsePages(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id := create(t, h, a, open2("a", "b"))
	visible := []int64{1}
	seq := int64(1)
	for i := range 600 {
		if i%97 == 96 {
			seq = say(t, h, a, message(id, "m", parley.FinalityNone, "")).Seq
			visible = append(visible, seq)
			continue
		}
		if _, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(a, trace(id, "x", ""), done) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []*hub.Hub{h, startOn(t, j, counted("r"))} {
		for _, limit := range []int{1, 2, 3, 0, 1000} {
			var got []int64
			for since := int64(0); ; {
				page, err := from.Tail(t.Context(), b, &parley.TailParams{ConversationID: id, SinceSeq: since, Limit: limit})
				if err != nil || (limit > 0 && len(page.Events) > limit) || page.LatestSeq != 601 {
					t.Fatalf("%+v, %v", page, err)
				}
				for _, raw := range page.Events {
					var e parley.Event
					if err := json.Unmarshal(raw, &e); err != nil || e.Seq <= since || e.Seq > page.NextSeq {
						t.Fatalf("%s after %d, next %d, %v", raw, since, page.NextSeq, err)
					}
					got = append(got, e.Seq)
				}
				if page.NextSeq == since {
					break
				}
				since = page.NextSeq
			}
			if fmt.Sprint(got) != fmt.Sprint(visible) {
				t.Fatalf("limit %d: %v, want %v", limit, got, visible)
			}
		}
		s, events, err := from.GetConversation(t.Context(), b, &parley.GetConversationParams{ConversationID: id,
			SinceSeq: visible[2], Limit: 2})
		if err != nil || len(events) != 2 || s.NextSeq != visible[4] || s.LatestSeq != 601 {
			t.Fatalf("snapshot %+v with %d events, %v", s, len(events), err)
		}
	}
}

// TestPageBytes: a page ends before it passes its bytes, but holds one event at least.
func TestPageBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	for i := range 8 {
		n := 300 << 10
		if i == 4 {
			n = 850 << 10
		}
		say(t, h, a, message(id, strings.Repeat("x", n), parley.FinalityNone, ""))
	}
	pages, seen := 0, 0
	for since := int64(0); since < 9; pages++ {
		page, err := h.Tail(t.Context(), a, &parley.TailParams{ConversationID: id, SinceSeq: since})
		if err != nil || len(page.Events) == 0 {
			t.Fatal(len(page.Events), err)
		}
		size := 0
		for _, e := range page.Events {
			size += len(e)
		}
		if len(page.Events) > 1 && size > limits.MaxPageBytes {
			t.Fatalf("a page of %d bytes", size)
		}
		seen += len(page.Events)
		since = page.NextSeq
	}
	if seen != 9 || pages != 5 { // 1+2, 2, 1 large, 2, 1
		t.Fatalf("%d events in %d pages", seen, pages)
	}
	big := <-post(h, a, message(id, strings.Repeat("x", parley.MaxEventBytes-50), parley.FinalityNone, "k"))
	refused(t, big.err, parley.ErrTooLarge)
	if r := say(t, h, a, message(id, "small", parley.FinalityNone, "k")); r.Seq != 10 {
		t.Fatalf("%+v", r)
	}
}

func TestCursors(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	for _, c := range []struct {
		since int64
		want  error
	}{{-1, parley.ErrValidationFailed}, {2, parley.ErrCursorAhead}, {1 << 52, parley.ErrCursorAhead}} {
		ctx := t.Context()
		_, err1 := h.Tail(ctx, a, &parley.TailParams{ConversationID: id, SinceSeq: c.since})
		_, err2 := h.WaitForChange(ctx, a, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: c.since, TimeoutMs: 1000})
		_, _, err3 := h.GetUpdates(ctx, a, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: c.since, TimeoutMs: 1000})
		_, _, err4 := h.GetConversation(ctx, a, &parley.GetConversationParams{ConversationID: id, SinceSeq: c.since})
		_, err5 := h.Subscribe(ctx, a, &parley.SubscribeParams{ConversationID: id, SinceSeq: c.since})
		for i, err := range []error{err1, err2, err3, err4, err5} {
			if !errors.Is(err, c.want) {
				t.Errorf("since %d, method %d: %v", c.since, i, err)
			}
		}
	}
}

// TestUpdatesAreOfOneMoment: a caller whose guidance says that it may speak also gets the messages
// that led to that.
func TestUpdatesAreOfOneMoment(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b")})
	const turns = 400
	done := make(chan error, 2)
	for _, p := range []*hub.Principal{a, b} {
		go func() {
			var since int64
			for {
				u, _, err := h.GetUpdates(t.Context(), p, &parley.GetUpdatesParams{
					ConversationID: id, SinceSeq: since, TimeoutMs: 60_000, Until: parley.UntilMyTurn, Limit: 1000,
				})
				if err != nil || u.Status == parley.StatusClosed {
					done <- err
					return
				}
				since = u.NextSeq
				q := message(id, "x", parley.FinalityTurn, "")
				if q.AfterSeq = &since; u.Guidance.Turn == turns {
					q.Finality = parley.FinalityConversation
				}
				if r := <-post(h, p, q); r.err != nil {
					done <- fmt.Errorf("turn %d after seq %d: %w", u.Guidance.Turn, since, r.err)
					return
				}
			}
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadsAreOfOneMoment: a page that was not cut short reaches up to the seq that the state beside it is of.
func TestReadsAreOfOneMoment(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id := create(t, h, a, open2("a", "b"))
	const writes = 5000
	go func() {
		for i := range writes {
			f := []parley.Finality{parley.FinalityNone, parley.FinalityTurn}[i%2]
			h.SendMessage(a, message(id, "x", f, ""), func(_ parley.SendResult, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
	}()
	open := func(seq int64) bool { return seq%2 == 0 } // event 1 is the create, 2 opens a turn, 3 closes it
	for since := int64(1); since <= writes; {
		u, events, err := h.GetUpdates(t.Context(), b, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: since,
			TimeoutMs: 60_000, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(events) < 1000 && u.NextSeq != u.LatestSeq {
			t.Fatalf("updates: next %d, latest %d", u.NextSeq, u.LatestSeq)
		}
		if may := u.Guidance.Kind == parley.MaySpeak; may == open(u.LatestSeq) {
			t.Fatalf("may speak %t at %d", may, u.LatestSeq)
		}
		s, _, err := h.GetConversation(t.Context(), b, &parley.GetConversationParams{ConversationID: id, SinceSeq: u.NextSeq, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if (s.OpenTurn != nil) != open(s.LatestSeq) || s.NextSeq > s.LatestSeq ||
			(s.LatestSeq-u.NextSeq < 900 && s.NextSeq != s.LatestSeq) {
			t.Fatalf("snapshot: open %+v, next %d, latest %d", s.OpenTurn, s.NextSeq, s.LatestSeq)
		}
		since = u.NextSeq
	}
}
