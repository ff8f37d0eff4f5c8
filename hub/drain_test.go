package hub_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
)

// TestDrain: waiting calls are woken, decided commands are answered, new calls are refused, and no
// goroutine is left, or the bubble would not end.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		t.Cleanup(j.Release)
		a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
		id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b"),
			Limits: &parley.Limits{DeadlineMs: 3_600_000}})
		woken := make(chan error, 10)
		go func() {
			_, err := h.WaitForChange(t.Context(), a, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: 1, TimeoutMs: 60_000})
			woken <- err
		}()
		for _, until := range []parley.Until{parley.UntilAny, parley.UntilMessage, parley.UntilMyTurn, parley.UntilClosed} {
			go func() {
				_, _, err := h.GetUpdates(t.Context(), b, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: 1,
					TimeoutMs: 60_000, Until: until})
				woken <- err
			}()
		}
		go func() {
			for _, err := range h.Client(b).Subscribe(t.Context(), &parley.SubscribeParams{ConversationID: id}) {
				if err != nil {
					woken <- err
				}
			}
		}()
		synctest.Wait()
		if len(woken) > 0 {
			t.Fatal(<-woken)
		}
		j.Hold()
		pending := post(h, a, message(id, "pending", parley.FinalityTurn, "k"))
		resting := post(h, a, message(id, "resting", parley.FinalityTurn, ""))
		start := time.Now()
		h.Drain()
		h.Drain()
		for range 6 {
			refused(t, <-woken, parley.ErrUnavailable)
		}
		<-h.Done()
		refused(t, h.Ready(), parley.ErrUnavailable)
		for _, c := range calls {
			_, err := c.do(h, a, id)
			refused(t, err, parley.ErrUnavailable)
		}
		_, err := h.Authenticate(t.Context(), "x", "")
		refused(t, err, parley.ErrUnavailable)
		closed := make(chan error, 1)
		go func() { closed <- h.Close() }()
		unanswered(t, pending, resting)
		if len(closed) > 0 {
			t.Fatal("Close did not wait for the pending append")
		}
		j.Release()
		if r := <-pending; r.err != nil || r.Seq != 2 {
			t.Fatalf("%+v", r)
		}
		refused(t, (<-resting).err, parley.ErrNotYourTurn)
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if time.Since(start) > 0 {
			t.Fatalf("it took %v", time.Since(start))
		}
		if err := h.Close(); err != nil { // again
			t.Fatal(err)
		}
		refused(t, (<-post(h, a, message(id, "late", parley.FinalityTurn, ""))).err, parley.ErrUnavailable)
		wantTexts(t, j, id, "pending")
	})
}

// TestCloseWhileBusy: a hub that is closed in full flight answers every call, and what it acknowledged is in the log.
func TestCloseWhileBusy(t *testing.T) {
	for range 20 {
		j := newJournal(t)
		h := startOn(t, j, nil)
		a := h.LocalPrincipal("a")
		id := create(t, h, a, open2("a"))
		answers := make(chan sent, 2000)
		started := make(chan struct{})
		go func() {
			for n := range cap(answers) {
				h.SendMessage(a, message(id, "x", parley.FinalityNone, ""),
					func(r parley.SendResult, err error) { answers <- sent{r, err} })
				if n == 50 {
					close(started)
				}
			}
		}()
		<-started
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		acked := 0
		for range cap(answers) {
			if r := <-answers; r.err == nil {
				acked++
			} else if !errors.Is(r.err, parley.ErrUnavailable) {
				t.Fatal(r.err)
			}
		}
		if n := len(events(t, j, id)) - 1; n != acked {
			t.Fatalf("%d acknowledged, %d in the log", acked, n)
		}
	}
}

// TestClientEnds: a call whose context ends, or whose client is closed, returns the known outcome.
func TestClientEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		t.Cleanup(j.Release)
		a := h.LocalPrincipal("a")
		id := create(t, h, a, open2("a"))
		c := h.Client(a)
		j.Hold()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.SendMessage(ctx, message(id, "slow", parley.FinalityTurn, "s"))
		if refused(t, err, parley.ErrOutcomeUnknown); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v does not tell of the ctx", err)
		}
		ended := make(chan error, 3)
		go func() {
			_, err := c.SendMessage(t.Context(), message(id, "cut", parley.FinalityTurn, "c"))
			ended <- err
		}()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		err = <-ended
		if refused(t, err, parley.ErrOutcomeUnknown); errors.Is(err, parley.ErrUnavailable) {
			t.Fatalf("%v says that nothing was written", err)
		}
		_, err = c.SendMessage(t.Context(), message(id, "more", parley.FinalityTurn, ""))
		refused(t, err, parley.ErrUnavailable)
		_, err = c.Tail(t.Context(), &parley.TailParams{ConversationID: id})
		refused(t, err, parley.ErrUnavailable)
		for _, err := range c.Events(t.Context(), id, 0) {
			refused(t, err, parley.ErrUnavailable)
		}
		j.Release()
		c2 := h.Client(a)
		defer c2.Close()
		for _, key := range []string{"s", "c"} {
			words := map[string]string{"s": "slow", "c": "cut"}[key]
			if r, err := c2.SendMessage(t.Context(), message(id, words, parley.FinalityTurn, key)); err != nil || !r.Duplicate {
				t.Fatalf("%s: %+v, %v", key, r, err)
			}
		}
		if now, err := c2.Now(t.Context()); err != nil || !now.Equal(h.Now()) {
			t.Fatalf("%v, %v", now, err)
		}
	})
}
