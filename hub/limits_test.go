package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// limited makes a conversation of a and b with limits.
func limited(t *testing.T, h *hub.Hub, l parley.Limits) string {
	t.Helper()
	return create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{Participants: seats("a", "b"), Limits: &l})
}

// closedBy checks that the last event is the hub's close for a reason, in a turn, at a time after
// the first event, and returns its seq.
func closedBy(t *testing.T, j journal.Journal, id, reason string, turn int64, after time.Duration) int64 {
	t.Helper()
	log := events(t, j, id)
	last := log[len(log)-1]
	if !last.Closes() || last.From != parley.HubID || last.Outcome.Status != parley.OutcomeCanceled ||
		last.Outcome.Reason != reason || last.Turn != turn {
		t.Fatalf("last event %s, want a close for %s in turn %d", last.Raw(), reason, turn)
	}
	if took := last.At.Time().Sub(log[0].At.Time()); after >= 0 && took != after {
		t.Fatalf("closed after %v, want %v", took, after)
	}
	return last.Seq
}

func TestLimitsOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		a := h.LocalPrincipal("a")
		idle := limited(t, h, parley.Limits{IdleTimeoutMs: 1000})
		inTurn := limited(t, h, parley.Limits{IdleTimeoutMs: 1000})
		both := limited(t, h, parley.Limits{IdleTimeoutMs: 60_000, DeadlineMs: 2500})
		deadline := limited(t, h, parley.Limits{DeadlineMs: 3000})
		none := limited(t, h, parley.Limits{})
		<-time.After(900 * time.Millisecond)
		if _, err := one(func(done func(parley.SendResult, error)) {
			h.SendTrace(a, trace(inTurn, "x", ""), done)
		}); err != nil {
			t.Fatal(err)
		}
		for range 3 { // neither a participant nor a delta nor a refusal is activity
			_, _ = one(func(done func(parley.SeqResult, error)) {
				h.AddParticipant(a, &parley.AddParticipantParams{ConversationID: idle,
					Participant: parley.Participant{ID: "c", Kind: parley.KindAgent}}, done)
			})
			_ = (<-post(h, h.LocalPrincipal("b"), message(idle, "x", parley.FinalityTurn, ""))).err
			h.SendDelta(a, &parley.SendDeltaParams{ConversationID: idle, Turn: 1, Text: "x"}, func(error) {})
		}
		<-time.After(10 * time.Second)
		closedBy(t, j, idle, parley.ReasonIdleTimeout, 1, time.Second)
		closedBy(t, j, inTurn, parley.ReasonIdleTimeout, 1, 1900*time.Millisecond)
		closedBy(t, j, both, parley.ReasonDeadline, 1, 2500*time.Millisecond)
		closedBy(t, j, deadline, parley.ReasonDeadline, 1, 3*time.Second)
		if n := len(events(t, j, none)); n != 1 {
			t.Fatalf("%d events without limits", n)
		}
	})
}

// TestNotesKeepAwake: messages, traces and notes start the idle time again.
func TestNotesKeepAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		id := limited(t, h, parley.Limits{IdleTimeoutMs: 1000})
		for range 20 {
			<-time.After(999 * time.Millisecond)
			if _, err := one(func(done func(parley.SeqResult, error)) {
				h.SendNote(h.LocalPrincipal("b"), note(id, "n", ""), done)
			}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Minute)
		closedBy(t, j, id, parley.ReasonIdleTimeout, 1, 20*999*time.Millisecond+time.Second)
	})
}

// TestDueWhileDown: time runs while no hub does; the hub that comes closes what is overdue by itself, or before the first append.
func TestDueWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("1"))
		due := limited(t, h, parley.Limits{DeadlineMs: 5000})
		later := limited(t, h, parley.Limits{DeadlineMs: 20_000})
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		start := time.Now()
		startOn(t, j, counted("2"))
		synctest.Wait()
		closedBy(t, j, due, parley.ReasonDeadline, 1, 10*time.Second)
		<-time.After(time.Minute)
		closedBy(t, j, later, parley.ReasonDeadline, 1, 20*time.Second)
		if time.Since(start) < time.Minute {
			t.Fatal("time did not run")
		}
	})
}

// blind is a journal whose open conversations cannot be listed until the test allows it, so the
// clock of a hub on it has none.
type blind struct {
	journal.Journal
	see chan struct{}
}

func (b *blind) Open(after string, limit int) ([]string, error) {
	<-b.see
	return b.Journal.Open(after, limit)
}

// TestOverdueAppend: a write that comes before the clock closes the conversation and is refused.
func TestOverdueAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &blind{newJournal(t), make(chan struct{})}
		h := startOn(t, j.Journal, counted("1"))
		ways := writes()
		var ids []string
		for range ways {
			ids = append(ids, limited(t, h, parley.Limits{DeadlineMs: 1000}))
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		<-time.After(2500 * time.Millisecond)
		h = startOn(t, j, counted("2"))
		for i, w := range ways {
			_, err := w.do(h, h.LocalPrincipal("a"), ids[i])
			refused(t, err, parley.ErrConversationClosed)
			if seq := closedBy(t, j, ids[i], parley.ReasonDeadline, 1, 2500*time.Millisecond); seq != 2 {
				t.Fatalf("%s: closed at %d", w.method, seq)
			}
		}
		if rows, err := j.Labeled("p:new", 0, 10); err != nil || len(rows) > 0 {
			t.Fatalf("who was not added is in the list: %+v, %v", rows, err)
		}
		close(j.see)
	})
}

// TestTimeNeverGoesBack: At of an event is not before the last one's, though that came from a hub with a later clock.
func TestTimeNeverGoesBack(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	future := parley.TimestampOf(time.Now().Add(time.Hour))
	said := parley.Event{Seq: 2, Turn: 1, Type: parley.TypeMessage, From: "a", At: future, Finality: parley.FinalityTurn,
		Payload: text("from the future")}
	data, err := said.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Append(t.Context(), j, journal.Batch{Conversation: id, After: 1,
		Events: [][]byte{data}}); err != nil {
		t.Fatal(err)
	}
	say(t, h, a, message(id, "now", parley.FinalityTurn, ""))
	if log := events(t, j, id); len(log) != 3 || log[2].At != future {
		t.Fatalf("at %v after %v", log[2].At, future)
	}
}

func TestLimitsOfCount(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	turn := func(p *hub.Principal, id string, f parley.Finality) {
		t.Helper()
		say(t, h, p, message(id, "m", f, ""))
	}

	id := limited(t, h, parley.Limits{MaxTurns: 3})
	turn(a, id, parley.FinalityTurn)
	turn(b, id, parley.FinalityNone)
	turn(b, id, parley.FinalityTurn)
	turn(a, id, parley.FinalityNone)
	turn(a, id, parley.FinalityTurn)
	if seq := closedBy(t, j, id, parley.ReasonMaxTurns, 4, -1); seq != 7 {
		t.Fatalf("maxTurns closed at %d", seq)
	}
	refused(t, (<-post(h, b, message(id, "late", parley.FinalityTurn, ""))).err, parley.ErrConversationClosed)

	id = limited(t, h, parley.Limits{MaxEvents: 3})
	if _, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(b, note(id, "n", ""), done) }); err != nil {
		t.Fatal(err)
	}
	if _, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(a, trace(id, "x", ""), done) }); err != nil {
		t.Fatal(err)
	}
	turn(a, id, parley.FinalityNone)
	if seq := closedBy(t, j, id, parley.ReasonMaxEvents, 1, -1); seq != 5 { // in the open turn
		t.Fatalf("maxEvents closed at %d", seq)
	}

	id = limited(t, h, parley.Limits{MaxTurns: 1, MaxEvents: 1})
	turn(a, id, parley.FinalityConversation) // the caller's own close is the last word
	if log := events(t, j, id); len(log) != 2 || log[1].From != "a" {
		t.Fatalf("%d events", len(log))
	}

	id = limited(t, h, parley.Limits{MaxEvents: 1})
	if _, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(b, note(id, "n", ""), done) }); err != nil {
		t.Fatal(err)
	}
	closedBy(t, j, id, parley.ReasonMaxEvents, 1, -1) // no turn was open: it opens and closes one
}

// TestMaxBytesIsExact: the event that brings the stored bytes to the limit is the last; one byte less and it is not.
func TestMaxBytesIsExact(t *testing.T) {
	for short := range 2 {
		t.Run(fmt.Sprint(short), func(t *testing.T) {
			j := newJournal(t)
			h := startOn(t, j, nil)
			a := h.LocalPrincipal("a")
			id := limited(t, h, parley.Limits{MaxBytes: 1024})
			say(t, h, a, message(id, "x", parley.FinalityNone, ""))
			one := len(events(t, j, id)[1].Raw())
			say(t, h, a, message(id, strings.Repeat("x", 1024-2*one+1-short), parley.FinalityNone, ""))
			bytes := one + len(events(t, j, id)[2].Raw())
			if bytes != 1024-short {
				t.Fatalf("%d bytes", bytes)
			}
			if n := len(events(t, j, id)); n != 4-short {
				t.Fatalf("%d events with %d bytes", n, bytes)
			}
		})
	}
}
