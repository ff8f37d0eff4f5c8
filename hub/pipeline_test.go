package hub_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// pipelined runs a test in a bubble with two participants, a and b, of a conversation of policy p.
func pipelined(t *testing.T, kind parley.PolicyKind, test func(t *testing.T, h *hub.Hub, j *memory.Journal, a,
	b *hub.Principal, id string)) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		t.Cleanup(j.Release)
		a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
		id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b"),
			Policy: &parley.Policy{Kind: kind}})
		test(t, h, j, a, b, id)
	})
}

func unanswered(t *testing.T, answers ...<-chan sent) {
	t.Helper()
	synctest.Wait()
	for i, c := range answers {
		select {
		case r := <-c:
			t.Fatalf("write %d was answered before the commit: %+v", i, r)
		default:
		}
	}
}

func texts(t *testing.T, j journal.Journal, id string) []string {
	var out []string
	for _, e := range events(t, j, id) {
		if e.Type == parley.TypeMessage && e.From != parley.HubID {
			m, err := e.Message()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, m.Text)
		}
	}
	return out
}

func wantTexts(t *testing.T, j journal.Journal, id string, want ...string) {
	t.Helper()
	if got := texts(t, j, id); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("log has %v, want %v", got, want)
	}
}

func TestManyOnPendingState(t *testing.T) {
	pipelined(t, parley.PolicyRoundRobin, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		j.Hold()
		var answers []<-chan sent
		var want []string
		for i := range 30 {
			words := fmt.Sprint("m", i)
			want = append(want, words)
			f := parley.FinalityNone
			if i%3 == 2 {
				f = parley.FinalityTurn
			}
			p := []*hub.Principal{a, b}[i/3%2]
			answers = append(answers, post(h, p, message(id, words, f, words)))
		}
		unanswered(t, answers...)
		page, err := h.Tail(t.Context(), a, &parley.TailParams{ConversationID: id})
		if err != nil || page.LatestSeq != 1 || len(page.Events) != 1 {
			t.Fatalf("readers see what is not durable: %+v, %v", page, err)
		}
		j.Release()
		for i, c := range answers {
			if r := <-c; r.err != nil || r.Seq != int64(i+2) || r.Turn != int64(i/3+1) {
				t.Fatalf("write %d: %+v", i, r)
			}
		}
		wantTexts(t, j, id, want...)
	})
}

// TestRefusalWaits: a refusal or a duplicate that depends on a pending event is answered when that
// event is durable.
func TestRefusalWaits(t *testing.T) {
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		j.Hold()
		end := message(id, "end", parley.FinalityConversation, "e")
		first := post(h, a, end)
		again := post(h, a, end)
		conflict := post(h, a, message(id, "other", parley.FinalityTurn, "e"))
		late := post(h, b, message(id, "late", parley.FinalityTurn, ""))
		closed := make(chan sent, 1)
		h.CloseConversation(a, &parley.CloseConversationParams{ConversationID: id},
			func(_ parley.SeqResult, err error) { closed <- sent{err: err} })
		delta := make(chan sent, 1)
		h.SendDelta(b, &parley.SendDeltaParams{ConversationID: id, Turn: 1}, func(err error) { delta <- sent{err: err} })
		unanswered(t, first, again, conflict, late, closed, delta)
		j.Release()
		if r := <-first; r.err != nil || r.Seq != 2 || r.Duplicate {
			t.Fatalf("%+v", r)
		}
		if r := <-again; r.err != nil || r.Seq != 2 || !r.Duplicate {
			t.Fatalf("%+v", r)
		}
		refused(t, (<-conflict).err, parley.ErrIdempotencyConflict)
		for _, c := range []<-chan sent{late, closed, delta} {
			refused(t, (<-c).err, parley.ErrConversationClosed)
		}
	})
}

// TestCrashBeforeSync: nothing that was acknowledged is lost, and what was not is either unknown or unavailable.
func TestCrashBeforeSync(t *testing.T) {
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		say(t, h, a, message(id, "kept", parley.FinalityTurn, ""))
		j.Hold()
		end := post(h, a, message(id, "end", parley.FinalityConversation, "e"))
		late := post(h, b, message(id, "late", parley.FinalityTurn, "l"))
		unanswered(t, end, late)
		next := crash(t, j)
		refused(t, (<-end).err, parley.ErrOutcomeUnknown)
		if r := <-late; !errors.Is(r.err, parley.ErrUnavailable) {
			t.Fatalf("a refusal that rests on a lost event: %+v", r)
		}
		<-h.Failed()
		h2 := startOn(t, next, counted("x"))
		wantTexts(t, next, id, "kept")
		if r := say(t, h2, b, message(id, "late", parley.FinalityTurn, "l")); r.Duplicate {
			t.Fatalf("%+v", r)
		}
		say(t, h2, a, message(id, "end", parley.FinalityConversation, "e"))
	})
}

func TestStorageFull(t *testing.T) {
	pipelined(t, parley.PolicyRoundRobin, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		j.Hold()
		lost := post(h, a, message(id, "lost", parley.FinalityNone, "k"))
		synctest.Wait() // the committer holds the first alone
		again := post(h, a, message(id, "lost", parley.FinalityNone, "k"))
		second := post(h, a, message(id, "second", parley.FinalityTurn, "s"))
		third := post(h, b, message(id, "third", parley.FinalityTurn, ""))
		wrong := post(h, b, message(id, "wrong", parley.FinalityTurn, ""))
		j.FailNext(journal.ErrStorageFull)
		unanswered(t, lost, again, second, third, wrong)
		j.Release()
		refused(t, (<-lost).err, parley.ErrStorageFull)
		if r := <-again; r.err != nil || r.Duplicate || r.Seq != 2 {
			t.Fatalf("a duplicate of what was lost: %+v", r)
		}
		if r := <-second; r.err != nil || r.Seq != 3 {
			t.Fatalf("%+v", r)
		}
		if r := <-third; r.err != nil || r.Seq != 4 || r.Turn != 2 {
			t.Fatalf("%+v", r)
		}
		refused(t, (<-wrong).err, parley.ErrNotYourTurn)
		wantTexts(t, j, id, "lost", "second", "third")
		if err := h.Ready(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLostTurn: what rested on a lost turn is decided on the log as it is.
func TestLostTurn(t *testing.T) {
	pipelined(t, parley.PolicyRoundRobin, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		j.Hold()
		lost := post(h, a, message(id, "lost", parley.FinalityTurn, "k"))
		synctest.Wait()
		answer := post(h, b, message(id, "answer", parley.FinalityTurn, ""))
		back := post(h, a, message(id, "back", parley.FinalityTurn, ""))
		j.FailNext(journal.ErrStorageFull)
		j.Release()
		refused(t, (<-lost).err, parley.ErrStorageFull)
		refused(t, (<-answer).err, parley.ErrNotYourTurn)
		if r := <-back; r.err != nil || r.Turn != 1 {
			t.Fatalf("%+v", r)
		}
		wantTexts(t, j, id, "back")
	})
}

// TestLostCreate: what rests on a create that is lost meets no conversation, and what rests on one that is not meets it.
func TestLostCreate(t *testing.T) {
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, _ string) {
		q := open2("a")
		q.ConversationID = "mine"
		begin := func(p *hub.Principal) <-chan sent { // the answers of two may come in any order
			made := make(chan sent, 1)
			h.CreateConversation(p, q, func(_ *parley.Snapshot, err error) { made <- sent{err: err} })
			return made
		}
		j.Hold()
		made := begin(a)
		synctest.Wait()
		first := post(h, a, message("mine", "first", parley.FinalityTurn, ""))
		unanswered(t, made, first)
		refused(t, (<-post(h, b, message("mine", "foreign", parley.FinalityTurn, ""))).err, parley.ErrNotFound)
		j.FailNext(journal.ErrStorageFull)
		j.Release()
		refused(t, (<-made).err, parley.ErrStorageFull)
		refused(t, (<-first).err, parley.ErrNotFound)
		synctest.Wait()
		j.Hold()
		made = begin(a)
		second := post(h, a, message("mine", "second", parley.FinalityTurn, ""))
		taken := begin(b)
		j.Release()
		if r := <-made; r.err != nil {
			t.Fatal(r.err)
		}
		if r := <-second; r.err != nil || r.Seq != 2 {
			t.Fatalf("a write right behind the create: %+v", r)
		}
		refused(t, (<-taken).err, parley.ErrAlreadyExists)
		wantTexts(t, j, "mine", "second")
	})
}

// TestAddedParticipantLost: a participant that only a lost event added does not see the
// conversation.
func TestAddedParticipantLost(t *testing.T) {
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, _ *hub.Principal, id string) {
		c := h.LocalPrincipal("c")
		add := &parley.AddParticipantParams{ConversationID: id, Participant: parley.Participant{ID: "c",
			Kind: parley.KindAgent}}
		added := make(chan sent, 1)
		done := func(_ parley.SeqResult, err error) { added <- sent{err: err} }
		j.Hold()
		h.AddParticipant(a, add, done)
		synctest.Wait()
		hello := post(h, c, message(id, "hello", parley.FinalityTurn, ""))
		unanswered(t, added, hello)
		j.FailNext(journal.ErrStorageFull)
		j.Release()
		refused(t, (<-added).err, parley.ErrStorageFull)
		refused(t, (<-hello).err, parley.ErrNotFound)
		j.Hold()
		h.AddParticipant(a, add, done)
		hello = post(h, c, message(id, "hello", parley.FinalityTurn, ""))
		j.Release()
		if r := <-hello; r.err != nil {
			t.Fatal(r.err)
		}
	})
}

// TestWriteBehindTwoWrites checks that a call sees the earlier calls of its caller, also if they wait
// for an append in flight.
func TestWriteBehindTwoWrites(t *testing.T) {
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, _ *hub.Principal, id string) {
		j.Hold()
		first := post(h, a, message(id, "first", parley.FinalityTurn, ""))
		synctest.Wait() // until the journal takes it
		added := make(chan error, 1)
		h.AddParticipant(a, &parley.AddParticipantParams{ConversationID: id, Participant: seats("c")[0]},
			func(_ parley.SeqResult, err error) { added <- err })
		second := post(h, h.LocalPrincipal("c"), message(id, "second", parley.FinalityTurn, ""))
		unanswered(t, first, second)
		j.Release()
		if err := <-added; err != nil {
			t.Fatal(err)
		}
		if r := <-second; r.err != nil || r.Seq != 4 {
			t.Fatalf("the message of the new participant: %+v", r)
		}
	})
}

// TestClaimOfOneRound checks that a claim that begins and ends in one append is reported to its holder
// and then forgotten.
func TestClaimOfOneRound(t *testing.T) {
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, _ *hub.Principal, _ string) {
		id := create(t, h, a, &parley.CreateConversationParams{Participants: seatsOf(parley.KindAgent, "a", "b")})
		j.Hold()
		note := &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "first.v1", Data: []byte(`{}`)}}
		first := make(chan error, 1)
		h.SendNote(a, note, func(_ parley.SeqResult, err error) { first <- err })
		synctest.Wait() // until the journal takes it, so that the others join the next round
		trace := make(chan sent, 1)
		h.SendTrace(a, &parley.SendTraceParams{ConversationID: id, Payload: []byte(`{"kind":"progress","text":"x"}`)},
			func(r parley.SendResult, err error) { trace <- sent{r, err} })
		closed := make(chan error, 1)
		h.CloseConversation(a, &parley.CloseConversationParams{ConversationID: id},
			func(_ parley.SeqResult, err error) { closed <- err })
		j.Release()
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		if r := <-trace; r.err != nil || r.ClaimID == "" {
			t.Fatalf("the trace that takes the claim: %+v", r)
		}
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if n := h.Counted().Claims; n != 0 {
			t.Errorf("%d claims are known after the close", n)
		}
	})
}

func TestOutcomeUnknown(t *testing.T) {
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprint(written), func(t *testing.T) {
			pipelined(t, parley.PolicyRoundRobin, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
				j.Hold()
				q := message(id, "perhaps", parley.FinalityTurn, "k")
				unknown := post(h, a, q)
				synctest.Wait()
				next := post(h, b, message(id, "next", parley.FinalityTurn, "n"))
				resting := post(h, b, message(id, "next", parley.FinalityTurn, "n"))
				early := post(h, b, message(id, "early", parley.FinalityTurn, ""))
				if written {
					j.LoseNext()
				} else {
					j.FailNext(journal.ErrOutcomeUnknown)
				}
				j.Release()
				refused(t, (<-unknown).err, parley.ErrOutcomeUnknown)
				refused(t, (<-next).err, parley.ErrUnavailable)
				refused(t, (<-resting).err, parley.ErrUnavailable)
				refused(t, (<-early).err, parley.ErrUnavailable)
				<-h.Failed()
				refused(t, h.Ready(), parley.ErrUnavailable)
				if !errors.Is(h.Err(), journal.ErrOutcomeUnknown) {
					t.Fatalf("Err: %v", h.Err())
				}
				for _, c := range calls {
					_, err := c.do(h, a, id)
					refused(t, err, parley.ErrUnavailable)
				}
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				j2 := crash(t, j)
				h2 := startOn(t, j2, nil)
				if r := say(t, h2, a, q); r.Duplicate != written || r.Seq != 2 {
					t.Fatalf("retry: %+v, written %t", r, written)
				}
				if r := say(t, h2, b, message(id, "next", parley.FinalityTurn, "n")); r.Duplicate {
					t.Fatalf("%+v", r)
				}
			})
		})
	}
}

// behind appends an event to a conversation without the hub's knowing, as another hub on the same journal would.
func behind(t *testing.T, j journal.Journal, id string, c fold.Command) {
	t.Helper()
	state := fold.State{ID: id}
	for _, e := range events(t, j, id) {
		next, err := state.Apply(&e, len(e.Raw()))
		if err != nil {
			t.Fatal(err)
		}
		state = next
	}
	d := fold.Decide(state, idempotency.Keys{}, c)
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	b := journal.Batch{Conversation: id, After: state.Seq, Final: d.State.Closed()}
	for _, e := range d.Events {
		b.Events = append(b.Events, e.Data)
	}
	if _, err := journal.Append(t.Context(), j, b); err != nil {
		t.Fatal(err)
	}
}

func TestHeadMoved(t *testing.T) {
	pipelined(t, parley.PolicyRoundRobin, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		now := parley.TimestampOf(h.Now())
		behind(t, j, id, fold.Command{From: "a", Now: now, Key: "k",
			Do: &fold.Message{Finality: parley.FinalityTurn, Payload: text("one")}})
		if r := say(t, h, a, message(id, "one", parley.FinalityTurn, "k")); !r.Duplicate || r.Seq != 2 {
			t.Fatalf("the other hub has written it: %+v", r)
		}
		if r := say(t, h, b, message(id, "two", parley.FinalityTurn, "")); r.Seq != 3 || r.Turn != 2 {
			t.Fatalf("%+v", r)
		}
		behind(t, j, id, fold.Command{Do: &fold.Message{Finality: parley.FinalityTurn, Payload: text("three")}, From: "a", Now: now})
		refused(t, (<-post(h, a, message(id, "mine", parley.FinalityTurn, ""))).err, parley.ErrNotYourTurn)
		behind(t, j, id, fold.Command{From: "b", Now: now, Key: "e",
			Do: &fold.Message{Finality: parley.FinalityConversation, Payload: text("end")}})
		again := post(h, b, message(id, "end", parley.FinalityConversation, "e"))
		more := post(h, b, message(id, "more", parley.FinalityTurn, ""))
		if r := <-again; r.err != nil || !r.Duplicate || r.Seq != 5 {
			t.Fatalf("the other hub has closed it: %+v", r)
		}
		refused(t, (<-more).err, parley.ErrConversationClosed)
		wantTexts(t, j, id, "one", "two", "three", "end")
	})
}

// TestReadersWakeAfterReload: what came in behind the hub's back reaches those who wait once the hub has read it.
func TestReadersWakeAfterReload(t *testing.T) {
	pipelined(t, parley.PolicyRoundRobin, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		woken := make(chan parley.WaitForChangeResult, 1)
		go func() {
			r, err := h.WaitForChange(t.Context(), b, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: 1, TimeoutMs: 60_000})
			if err != nil {
				t.Error(err)
			}
			woken <- r
		}()
		synctest.Wait()
		behind(t, j, id, fold.Command{From: "a", Now: parley.TimestampOf(h.Now()),
			Do: &fold.Message{Finality: parley.FinalityTurn, Payload: text("one")}})
		refused(t, (<-post(h, a, message(id, "x", parley.FinalityTurn, ""))).err, parley.ErrNotYourTurn)
		if r := <-woken; r.LatestSeq != 2 || r.TimedOut {
			t.Fatalf("%+v", r)
		}
	})
}

// TestFullWhenOverdue: a close that finds no room is tried again, not without pause, and comes when there is room.
func TestFullWhenOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &counting{Journal: newJournal(t)}
		h := startOn(t, j, nil)
		a := h.LocalPrincipal("a")
		q := open2("a")
		q.Limits = &parley.Limits{DeadlineMs: 1000}
		id := create(t, h, a, q)
		j.full.Store(true)
		<-time.After(61 * time.Second)
		if n := j.refused.Load(); n < 6 || n > 120 {
			t.Fatalf("tried %d times in a minute", n)
		}
		refused(t, (<-post(h, a, message(id, "x", parley.FinalityTurn, ""))).err, parley.ErrStorageFull)
		j.full.Store(false)
		<-time.After(10 * time.Second)
		log := events(t, j, id)
		if last := log[len(log)-1]; !last.Closes() || last.Outcome.Reason != parley.ReasonDeadline {
			t.Fatalf("last event %+v", last)
		}
	})
}
