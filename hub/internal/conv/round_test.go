package conv

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// heldJournal keeps each batch until a test passes it on, or ends.
type heldJournal struct {
	journal.Journal
	batches chan journal.Batch
	taken   *journal.Batch // by the test, and not answered
	ended   chan struct{}
}

// take returns the next batch.
func (j *heldJournal) take() journal.Batch {
	b := (<-j.batches).Sealed()
	j.taken = &b
	return b
}

// pass passes on the batch that was taken.
func (j *heldJournal) pass() {
	j.Journal.Submit(*j.taken)
	j.taken = nil
}

// fail fails the batch that was taken.
func (j *heldJournal) fail(err error) {
	j.taken.Done(journal.Head{}, err)
	j.taken = nil
}

func (j *heldJournal) Submit(b journal.Batch) {
	select {
	case <-j.ended:
		j.Journal.Submit(b)
	default:
		j.batches <- b
	}
}

// answer is what a request of a test was answered.
type answer struct {
	seq       int64
	duplicate bool
	err       error
}

// post asks for a message with a key and returns its answer.
func post(e *Engine, c *Conversation, from, key string) <-chan answer {
	return postText(e, c, from, key, "x")
}

func postText(e *Engine, c *Conversation, from, key, text string) <-chan answer {
	answers := make(chan answer, 1)
	e.Repin(c)
	c.Do(&Request{
		By: testCaller(from),
		Cmd: fold.Command{From: from, Key: key,
			Do: &fold.Message{Finality: parley.FinalityTurn, Payload: []byte(`{"text":"` + text + `"}`)}},
		Reply: func(d *fold.Decision, err error) { answers <- answer{d.Seq, d.Duplicate, err} },
	})
	return answers
}

func unanswered(t *testing.T, all ...<-chan answer) {
	t.Helper()
	for i, a := range all {
		select {
		case got := <-a:
			t.Fatalf("request %d was answered with %+v before the commit that it depends on", i, got)
		default:
		}
	}
}

// hold makes the journal of a conversation keep the batches of the messages after this call.
func hold(t *testing.T, e *Engine) *heldJournal {
	j := &heldJournal{Journal: e.journal, batches: make(chan journal.Batch, 100), ended: make(chan struct{})}
	e.journal = j
	t.Cleanup(func() { // before the engine closes, which waits for the answers
		close(j.ended)
		if j.taken != nil {
			j.pass()
		}
		for len(j.batches) > 0 {
			j.Journal.Submit(<-j.batches)
		}
	})
	return j
}

// TestRound_TakesAllThatArrivedInFlight checks that requests are not decided while an append is in
// flight, that they are one append after it, and that none is answered before its commit.
func TestRound_TakesAllThatArrivedInFlight(t *testing.T) {
	e, c := newConversation(t)
	j := hold(t, e)
	first := post(e, c, "a", "1")
	b := j.take()
	second, third, repeated := post(e, c, "a", "2"), post(e, c, "a", "3"), post(e, c, "a", "2")
	foreign := post(e, c, "b", "4") // b has no seat
	if len(j.batches) > 0 || len(b.Events) != 1 || b.After != 1 {
		t.Fatalf("%d more batches; the first has %d events after %d", len(j.batches), len(b.Events), b.After)
	}
	unanswered(t, first, second, third, repeated, foreign)
	j.pass()
	if got := <-first; got != (answer{seq: 2}) {
		t.Errorf("the first: %+v", got)
	}
	b = j.take()
	if len(j.batches) > 0 || len(b.Events) != 2 || b.After != 2 {
		t.Fatalf("%d more batches; the second has %d events after %d", len(j.batches), len(b.Events), b.After)
	}
	unanswered(t, second, third, repeated, foreign)
	j.pass()
	for i, want := range []answer{{seq: 3}, {seq: 4}, {seq: 3, duplicate: true}} {
		if got := <-[]<-chan answer{second, third, repeated}[i]; got != want {
			t.Errorf("request %d of the round: %+v, want %+v", i, got, want)
		}
	}
	if got := <-foreign; !errors.Is(got.err, parley.ErrForbidden) {
		t.Errorf("a participant without a seat: %+v", got)
	}
}

// TestRound_OpenUntilTaken checks that requests join a round until the journal takes it, and that a
// round that the journal refuses before that is lost like any other.
func TestRound_OpenUntilTaken(t *testing.T) {
	e, c := newConversation(t)
	j := hold(t, e)
	first, second := post(e, c, "a", "1"), post(e, c, "a", "2")
	if b := j.take(); len(j.batches) > 0 || len(b.Events) != 2 {
		t.Fatalf("%d more batches; the first has %d events", len(j.batches), len(b.Events))
	}
	unanswered(t, first, second)
	j.pass()
	if a, b := <-first, <-second; a != (answer{seq: 2}) || b != (answer{seq: 3}) {
		t.Errorf("the answers: %+v, %+v", a, b)
	}
	third, fourth := post(e, c, "a", "3"), post(e, c, "a", "4")
	(<-j.batches).Done(journal.Head{}, journal.ErrOverloaded)
	for _, a := range []<-chan answer{third, fourth} {
		if got := <-a; !errors.Is(got.err, parley.ErrUnavailable) {
			t.Errorf("a request of a refused round: %+v", got)
		}
	}
	fifth := post(e, c, "a", "3")
	j.take()
	j.pass()
	if got := <-fifth; got != (answer{seq: 4}) {
		t.Errorf("a retry of a refused request: %+v", got)
	}
}

// TestRound_LostAppendLeavesNoTrace checks that a failed append is refused to all whose events it has,
// that its keys are free again, and that a duplicate of it is decided again.
func TestRound_LostAppendLeavesNoTrace(t *testing.T) {
	e, c := newConversation(t)
	j := hold(t, e)
	first := post(e, c, "a", "1")
	j.take()
	lost, repeated := post(e, c, "a", "2"), post(e, c, "a", "2")
	j.pass()
	<-first
	j.take()
	j.fail(journal.ErrStorageFull)
	if got := <-lost; !errors.Is(got.err, parley.ErrStorageFull) {
		t.Errorf("the lost request: %+v", got)
	}
	j.take() // of the duplicate, which is the first with its key now
	unanswered(t, repeated)
	j.pass()
	if got := <-repeated; got != (answer{seq: 3}) {
		t.Errorf("the same request again: %+v", got)
	}
	if s := c.Head(); s.Seq != 3 {
		t.Errorf("the head is %d, want 3", s.Seq)
	}
}

// TestRound_FollowsLostRound checks that requests which arrived while an append was in flight are
// decided again if it is lost.
func TestRound_FollowsLostRound(t *testing.T) {
	e, c := newConversation(t)
	j := hold(t, e)
	lost := post(e, c, "a", "1")
	j.take()
	repeated, second := post(e, c, "a", "1"), post(e, c, "a", "2")
	if s := c.Head(); s.Seq != 3 {
		t.Errorf("the head is %d with two writes that are not durable, want 3", s.Seq)
	}
	j.fail(journal.ErrStorageFull)
	if got := <-lost; !errors.Is(got.err, parley.ErrStorageFull) {
		t.Errorf("the lost request: %+v", got)
	}
	if b := j.take(); len(b.Events) != 2 || b.After != 1 {
		t.Errorf("%d events after %d", len(b.Events), b.After)
	}
	j.pass()
	if a, b := <-repeated, <-second; a != (answer{seq: 2}) || b != (answer{seq: 3}) {
		t.Errorf("the requests behind it: %+v, %+v", a, b)
	}
}

// TestRound_AnswersWhatFollowsFlight checks that a request without events that arrived while an append
// was in flight is answered after it, and not with the next append.
func TestRound_AnswersWhatFollowsFlight(t *testing.T) {
	e, c := newConversation(t)
	j := hold(t, e)
	first := post(e, c, "a", "1")
	j.take()
	repeated, second := post(e, c, "a", "1"), post(e, c, "a", "2")
	unanswered(t, first, repeated, second)
	j.pass()
	if a, b := <-first, <-repeated; a != (answer{seq: 2}) || b != (answer{seq: 2, duplicate: true}) {
		t.Errorf("the answers: %+v, %+v", a, b)
	}
	j.take()
	unanswered(t, second)
	j.pass()
	if got := <-second; got != (answer{seq: 3}) {
		t.Errorf("the next round: %+v", got)
	}
}

// TestRound_Bounds checks that a round ends with its bound of events, and that the rest follows in
// order.
func TestRound_Bounds(t *testing.T) {
	e, c := newConversation(t)
	j := hold(t, e)
	all := []<-chan answer{post(e, c, "a", "k0")}
	first := j.take()
	for i := range maxRoundEvents + 10 {
		all = append(all, post(e, c, "a", fmt.Sprint("k", i+1)))
	}
	if j.pass(); len(first.Events) != 1 {
		t.Errorf("the first round has %d events", len(first.Events))
	}
	for _, want := range []int{maxRoundEvents, 10} {
		if b := j.take(); len(b.Events) != want {
			t.Errorf("a round has %d events, want %d", len(b.Events), want)
		}
		j.pass()
	}
	for i, a := range all {
		if got := <-a; got != (answer{seq: int64(i + 2)}) {
			t.Fatalf("request %d: %+v", i, got)
		}
	}
}

// TestDo_BoundsUnansweredBytes checks that requests are refused while those that are not answered have
// too many bytes, and are accepted again afterwards.
func TestDo_BoundsUnansweredBytes(t *testing.T) {
	e, c := newConversation(t)
	j := hold(t, e)
	text := strings.Repeat("x", 64<<10)
	var accepted []<-chan answer
	for i := range maxAsked >> 16 {
		a := postText(e, c, "a", fmt.Sprint("k", i), text)
		if e.asked.Load() <= maxAsked && len(a) == 0 {
			accepted = append(accepted, a)
			continue
		}
		if got := <-a; !errors.Is(got.err, parley.ErrUnavailable) {
			t.Errorf("a request beyond the bound: %+v", got)
		}
	}
	if n := len(accepted); n < 900 || n >= maxAsked>>16 {
		t.Errorf("%d requests were accepted", n)
	}
	unanswered(t, accepted...)
	for len(accepted) > 0 {
		n := len(j.take().Events)
		j.pass()
		for _, a := range accepted[:n] {
			if got := <-a; got.err != nil {
				t.Fatalf("a request within the bound: %+v", got)
			}
		}
		accepted = accepted[n:]
	}
	again := post(e, c, "a", "again")
	j.take()
	j.pass()
	if got := <-again; got.err != nil {
		t.Errorf("a request after the others were answered: %+v", got)
	}
}
