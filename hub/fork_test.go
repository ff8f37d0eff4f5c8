package hub_test

import (
	"errors"
	"fmt"
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
)

// talked is a conversation of ann and bob, created by ann under a key, with five messages.
func talked(t testing.TB, h *hub.Hub) (id string, ann, bob *hub.Principal) {
	t.Helper()
	ann, bob = h.LocalPrincipal("ann"), h.LocalPrincipal("bob")
	q := open2("ann", "bob")
	q.ClientRequestID, q.Title, q.Participants[1].Private = "made", "first", "for bob"
	id = create(t, h, ann, q)
	for i := range 5 {
		say(t, h, []*hub.Principal{ann, bob}[i%2], message(id, fmt.Sprint("words ", i), parley.FinalityTurn, fmt.Sprint("k", i)))
	}
	return id, ann, bob
}

// TestFork: a fork has the bytes of the original and continues separately. Its creator is the
// caller, and the original does not change, also after a restart.
func TestFork(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("x"))
	id, ann, bob := talked(t, h)
	before := records(t, j, id, 7)
	s, err := forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 5, Title: "second", ClientRequestID: "f"})
	if err != nil {
		t.Fatal(err)
	}
	fork := s.ConversationID
	if fork != parley.DerivedForkID("ann", "f") || s.CreatedBy != "ann" || s.Title != "second" || s.LatestSeq != 6 ||
		s.Turn != 4 || s.Duplicate {
		t.Errorf("%+v", s)
	}
	if len(s.Events) != 1 || s.Events[0].Seq != 6 || s.Events[0].ClientRequestID != "f" || s.NextSeq != 6 ||
		s.Fork == nil || s.Fork.ConversationID != id {
		t.Errorf("%+v, fork %+v", s.Events, s.Fork)
	}
	isFork(t, j, fork, id, 5, "ann")
	// the third message still has its key, and the fourth is new
	if again := say(t, h, ann, message(fork, "words 2", parley.FinalityTurn, "k2")); !again.Duplicate || again.Seq != 5 {
		t.Errorf("%+v", again)
	}
	if other := say(t, h, bob, message(fork, "other words", parley.FinalityTurn, "k3")); other.Duplicate ||
		other.Seq != 7 || other.Turn != 4 {
		t.Errorf("%+v", other)
	}
	for i, r := range records(t, j, id, 7) {
		if r.Hash != before[i].Hash {
			t.Error("the other has changed")
		}
	}
	for _, crashed := range []bool{false, true} {
		if crashed {
			j = crash(t, j)
			h = startOn(t, j, counted("y"))
			ann = h.LocalPrincipal("ann")
		}
		if got := snapshot(t, h, ann, fork); got.Fork == nil || *got.Fork != *s.Fork || got.LatestSeq != 7 ||
			got.CreatedAt != s.CreatedAt || got.Title != "second" {
			t.Errorf("crashed %t: %+v", crashed, got)
		}
		list, err := h.ListConversations(t.Context(), h.LocalPrincipal("bob"), &parley.ListConversationsParams{})
		if err != nil || len(list.Conversations) != 2 || list.Conversations[1].ConversationID != fork ||
			list.Conversations[1].Fork == nil || *list.Conversations[1].Fork != *s.Fork {
			t.Errorf("crashed %t: %+v, %v", crashed, list, err)
		}
		got, err := forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 5, Title: "second", ClientRequestID: "f"})
		if err != nil || !got.Duplicate || got.ConversationID != fork || got.LatestSeq != 7 {
			t.Errorf("crashed %t: %+v, %v", crashed, got, err)
		}
	}
}

// TestForkBytes: events that a newer or older hub wrote are copied unchanged, also if this hub
// would encode them differently.
func TestForkBytes(t *testing.T) {
	first := memory.New()
	h, err := hub.Open(first, counted("x"))
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := talked(t, h)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	j := newJournal(t)
	all := records(t, first, id, 7)
	batch := journal.Batch{Conversation: id}
	for i, r := range all {
		if i == 4 {
			r.Data = []byte(strings.Replace(string(r.Data), `,"from"`, ` , "later":{"x":1} ,"from"`, 1))
		}
		batch.Events = append(batch.Events, r.Data)
	}
	if _, err := journal.Append(t.Context(), j, batch); err != nil {
		t.Fatal(err)
	}
	h = startOn(t, j, counted("y"))
	fork := forked(t, h, j, h.LocalPrincipal("ann"), id, 6)
	page, err := h.Tail(t.Context(), h.LocalPrincipal("ann"), &parley.TailParams{ConversationID: fork, SinceSeq: 3, Limit: 2})
	if err != nil || !slices.ContainsFunc(page.Events, func(b []byte) bool { return strings.Contains(string(b), `"later":{"x":1}`) }) {
		t.Errorf("%s, %v", page.Events, err)
	}
}

// TestForkRetried: a retry meets the fork, whatever has become of it, and another call under the key is refused.
func TestForkRetried(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("x"))
	id, ann, bob := talked(t, h)
	q := parley.ForkConversationParams{ConversationID: id, Seq: 3, ClientRequestID: "f"}
	first, err := forks(h, ann, q)
	if err != nil {
		t.Fatal(err)
	}
	fork := first.ConversationID
	again := q
	again.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	meets := func() {
		t.Helper()
		if got, err := forks(h, ann, again); err != nil || !got.Duplicate || got.ConversationID != fork || len(got.Events) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	meets()
	say(t, h, bob, message(fork, "on", parley.FinalityTurn, ""))
	meets()
	say(t, h, ann, message(fork, "over", parley.FinalityConversation, ""))
	meets()
	for _, other := range []parley.ForkConversationParams{
		{ConversationID: id, Seq: 4, ClientRequestID: "f"}, {ConversationID: id, Seq: 3, ClientRequestID: "f", Title: "x"},
		{ConversationID: forked(t, h, j, ann, id, 4), Seq: 3, ClientRequestID: "f"},
	} {
		_, err := forks(h, ann, other)
		refused(t, err, parley.ErrIdempotencyConflict)
	}
	// under the key of the other, which is another method's, and the id of the fork by hand
	if got, err := forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 3,
		ClientRequestID: "made"}); err != nil || got.Duplicate {
		t.Errorf("%+v, %v", got, err)
	}
	chosen := parley.ForkConversationParams{ConversationID: id, Seq: 3, ForkID: "mine", ClientRequestID: "f"}
	for _, duplicate := range []bool{false, true} {
		if got, err := forks(h, ann, chosen); err != nil || got.ConversationID != "mine" || got.Duplicate != duplicate {
			t.Errorf("%+v, %v", got, err)
		}
	}
	chosen.ClientRequestID = ""
	_, err = forks(h, ann, chosen)
	refused(t, err, parley.ErrAlreadyExists)
	_, err = h.Client(ann).CreateConversation(t.Context(), &parley.CreateConversationParams{ConversationID: "mine",
		Participants: seats("ann"), ClientRequestID: "f"})
	refused(t, err, parley.ErrIdempotencyConflict)
	_, err = forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 3, ForkID: id})
	if err == nil {
		t.Error("a fork with the id of the other")
	}
}

// TestForksAtOnce: of many calls at once under one key one makes the fork and all get it, also where its commit fails at first.
func TestForksAtOnce(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("x"))
	id, ann, _ := talked(t, h)
	j.FailNext(journal.ErrStorageFull)
	q := parley.ForkConversationParams{ConversationID: id, Seq: 6, ClientRequestID: "f"}
	_, err := forks(h, ann, q)
	refused(t, err, parley.ErrStorageFull)
	if head, err := j.Head(parley.DerivedForkID("ann", "f")); err != nil || head.Seq != 0 {
		t.Fatalf("%+v, %v", head, err)
	}
	type answer struct {
		s   *parley.Snapshot
		err error
	}
	answers := make(chan answer, 20)
	for range cap(answers) {
		h.ForkConversation(ann, &q, func(s *parley.Snapshot, err error) { answers <- answer{s, err} })
	}
	made := 0
	for range cap(answers) {
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		if !a.s.Duplicate {
			made++
		}
	}
	if made != 1 {
		t.Errorf("made %d times", made)
	}
	isFork(t, j, parley.DerivedForkID("ann", "f"), id, 6, "ann")
}

// TestForkTorn: a hub that is killed while it makes a fork has made all of it or nothing.
func TestForkTorn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		id, ann, _ := talked(t, h)
		j.Hold()
		q := parley.ForkConversationParams{ConversationID: id, Seq: 6, ClientRequestID: "f"}
		told := make(chan error, 1)
		h.ForkConversation(ann, &q, func(_ *parley.Snapshot, err error) { told <- err })
		synctest.Wait()
		if _, err := h.Tail(t.Context(), ann, &parley.TailParams{ConversationID: parley.DerivedForkID("ann",
			"f")}); !errors.Is(err, parley.ErrNotFound) {
			t.Fatalf("before it is durable: %v", err)
		}
		j = crash(t, j)
		<-told
		h = startOn(t, j, counted("y"))
		if head, err := j.Head(parley.DerivedForkID("ann", "f")); err != nil || head.Seq != 0 {
			t.Fatalf("%+v, %v", head, err)
		}
		if got, err := forks(h, h.LocalPrincipal("ann"), q); err != nil || got.Duplicate {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

// TestForkPlaces: a fork at the first event, at the last before the close, and a fork of a fork, before and after where that was made.
func TestForkPlaces(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("x"))
	id, ann, bob := talked(t, h)
	say(t, h, bob, message(id, "over", parley.FinalityConversation, ""))
	first := forked(t, h, j, ann, id, 1)
	if s := snapshot(t, h, ann, first); s.Title != "first" || s.Turn != 1 || s.Status != parley.StatusActive {
		t.Errorf("%+v", s)
	}
	last := forked(t, h, j, ann, id, 7)
	say(t, h, bob, message(last, "not over", parley.FinalityTurn, ""))
	_, err := forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 8})
	refused(t, err, parley.ErrValidationFailed)
	_, err = forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 9})
	refused(t, err, parley.ErrCursorAhead)
	for _, seq := range []int64{2, 7, 8, 9} {
		again := forked(t, h, j, ann, last, seq)
		say(t, h, bob, message(again, "go on", parley.FinalityTurn, ""))
	}
}

// TestForkTimes: the times of a fork begin with it.
func TestForkTimes(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		ann := h.LocalPrincipal("ann")
		q := open2("ann", "bob")
		q.Limits = &parley.Limits{DeadlineMs: 60_000, IdleTimeoutMs: 40_000}
		id := create(t, h, ann, q)
		pass(35 * time.Second)
		fork := forked(t, h, j, ann, id, 1)
		pass(30 * time.Second)
		closedAs(t, j, id, parley.OutcomeCanceled, parley.ReasonIdleTimeout)
		later := forked(t, h, j, ann, id, 1)
		if s := snapshot(t, h, ann, later); s.Status != parley.StatusActive ||
			s.Guidance.DeadlineMs != int64(s.CreatedAt)+40_000 {
			t.Errorf("%+v", s)
		}
		pass(20 * time.Second)
		closedAs(t, j, fork, parley.OutcomeCanceled, parley.ReasonIdleTimeout)
		pass(20 * time.Second)
		closedAs(t, j, later, parley.OutcomeCanceled, parley.ReasonIdleTimeout)
	})
}

// TestForkAtLimit: the counts of the other go on in a fork, and one that would be closed at once is not made.
func TestForkAtLimit(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("x"))
	ann := h.LocalPrincipal("ann")
	q := open2("ann", "bob")
	q.Limits = &parley.Limits{MaxTurns: 2}
	id := create(t, h, ann, q)
	say(t, h, ann, message(id, "one", parley.FinalityTurn, ""))
	say(t, h, ann, message(id, "two", parley.FinalityTurn, ""))
	_, err := forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 3, ForkID: "mine"})
	refused(t, err, parley.ErrValidationFailed)
	if head, _ := j.Head("mine"); head.Seq != 0 {
		t.Error("it was made")
	}
	fork := forked(t, h, j, ann, id, 2)
	say(t, h, ann, message(fork, "other", parley.FinalityTurn, ""))
	closedAs(t, j, fork, parley.OutcomeCanceled, parley.ReasonMaxTurns)
}

// TestForkTooLarge: a fork copies no more than its bounds.
func TestForkTooLarge(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("x"))
	ann := h.LocalPrincipal("ann")
	id := create(t, h, ann, open2("ann"))
	_, err := forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: limits.MaxForkEvents + 1})
	refused(t, err, parley.ErrTooLarge)
	if testing.Short() {
		return // what follows writes more than MaxForkBytes, one message after another
	}
	words := strings.Repeat("x", 200<<10)
	size, last := int64(0), int64(0)
	for size <= limits.MaxForkBytes {
		last = say(t, h, ann, message(id, words, parley.FinalityTurn, "")).Seq
		size += int64(len(words))
	}
	_, err = forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: last, ForkID: "mine"})
	refused(t, err, parley.ErrTooLarge)
	if head, _ := j.Head("mine"); head.Seq != 0 {
		t.Error("it was made")
	}
	forked(t, h, j, ann, id, last-2)
}
