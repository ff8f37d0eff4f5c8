package hub_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// refusing is a journal that does not take some batches.
type refusing struct {
	*memory.Journal

	mu    sync.Mutex // guards the fields below
	words string     // that such a batch has
	times int        // how often; -1 is for ever
	err   error
	seen  int
}

func (r *refusing) Submit(b journal.Batch) {
	b = b.Sealed()
	if err := r.refuses(b); err != nil {
		go b.Done(journal.Head{}, err)
		return
	}
	r.Journal.Submit(b)
}

func (r *refusing) refuses(b journal.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range b.Events {
		if r.words != "" && r.times != 0 && bytes.Contains(e, []byte(r.words)) {
			r.times--
			r.seen++
			return r.err
		}
	}
	return nil
}

// stop makes the hub fail at the next batch that has these words, before it is written.
func (r *refusing) stop(words string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words, r.times, r.err = words, -1, fmt.Errorf("%w: stopped", journal.ErrOutcomeUnknown)
}

// full makes the storage full for such batches, that many times.
func (r *refusing) full(words string, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words, r.times, r.err, r.seen = words, times, journal.ErrStorageFull, 0
}

// TestStoppedHalfway: wherever a hub is stopped on the way from a session's start to its callback, once or again and again, the next one finishes it: once.
func TestStoppedHalfway(t *testing.T) {
	for point, words := range map[string]string{
		"the session is begun, its parent does not know":      `"kind":"session_started"`,
		"the session has ended, its parent does not know":     `"kind":"session_ended"`,
		"its parent knows, who has started it was not told":   `"callback_type"`,
		"its runner has left, the session does not know":      `"reason":"interrupted"`,
		"its parent was closed, the session does not know":    `"reason":"parent_closed"`,
		"it was stopped halfway through nothing of all these": "no batch has these words",
	} {
		for times := 1; times <= 3; times++ {
			t.Run(fmt.Sprint(point, times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					stoppedHalfway(t, words, times)
				})
			})
		}
	}
}

func stoppedHalfway(t *testing.T, words string, times int) {
	j := &refusing{Journal: newJournal(t)}
	h := startOn(t, j, counted("h0"))
	leaves, closes := words == `"reason":"interrupted"`, words == `"reason":"parent_closed"`
	x := hosts(t, h, counter("count"))
	ann := h.LocalPrincipal("ann")
	parent := create(t, h, ann, open2("ann"))
	q := counts("count", 1, parley.ModeAsyncCallback, parent)
	q.ClientRequestID = "key"
	j.stop(words)
	answer := starts(t.Context(), h, ann, q)
	claim := ""
	again := func(i int) {
		next := crash(t, j.Journal)
		j = &refusing{Journal: next}
		if i < times {
			j.stop(words)
		}
		h = startOn(t, j, counted(fmt.Sprint("h", i)))
		ann = h.LocalPrincipal("ann")
		var holding []string
		if claim != "" {
			holding = []string{claim}
		}
		if synctest.Wait(); h.Err() != nil { // it is stopped before anybody is back
			return
		}
		x = arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Holding: holding})
		if !leaves {
			x.says(counter("count"))
		}
	}
	i := 0
	for h.Err() != nil {
		i++
		again(i)
	}
	id := ""
	if i == 0 {
		id = (<-answer).s.SessionID
	} else {
		id = start(t, h, ann, q).SessionID // it is met
	}
	o := x.oneOffer()
	claim = o.ClaimID
	x.take(id, claim)
	switch {
	case leaves:
		_, _ = x.bring()
	case closes:
		if _, err := h.Client(ann).CloseConversation(t.Context(),
			&parley.CloseConversationParams{ConversationID: parent}); err != nil {
			t.Fatal(err)
		}
	default:
		x.ends(id, claim, parley.OutcomeCompleted, ran("done"))
	}
	synctest.Wait()
	for h.Err() != nil {
		i++
		again(i)
	}
	if i != times && words != "no batch has these words" {
		t.Fatalf("it was stopped %d times, want %d", i, times)
	}
	synctest.Wait()
	status, reason, told := parley.SessionCompleted, "", [][]string{{id}}
	wantChildren := []string{"started " + id, "completed " + id}
	switch {
	case leaves:
		status, reason = parley.SessionFailed, parley.ReasonInterrupted
		wantChildren[1] = "failed " + id
	case closes:
		status, reason, told = parley.SessionStopped, parley.ReasonParentClosed, nil
		wantChildren = wantChildren[:1]
	}
	for _, restart := range []bool{false, true} {
		if restart {
			i, times = i+1, 0
			again(i)
		}
		stands(t, h, ann, id, status, reason)
		if got := toldIDs(t, j, parent); fmt.Sprint(got) != fmt.Sprint(told) {
			t.Fatalf("told of %v, want %v", got, told)
		}
		if got := children(t, j, parent); fmt.Sprint(got) != fmt.Sprint(wantChildren) {
			t.Fatalf("the parent has %v, want %v", got, wantChildren)
		}
		quiet(t, h)
	}
}

// TestKnownFirst: a session is not offered before the log of its parent has its start. Otherwise it
// could end, and a crash could lose its callback.
func TestKnownFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &refusing{Journal: newJournal(t)}
		h := startOn(t, j, counted("x"))
		x := hosts(t, h, counter("count"))
		w := push(t, h, "w1", "writer")
		ann := h.LocalPrincipal("ann")
		parent := create(t, h, ann, open2("ann"))
		j.full(`"kind":"session_started"`, 5)
		command := starts(t.Context(), h, ann, counts("count", 1, parley.ModeAsyncCallback, parent))
		agent := starts(t.Context(), h, ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
			Mode: parley.ModeAsyncCallback, ParentConversationID: parent})
		early := lists(t, h, w.p)
		if len(early) != 1 {
			t.Fatalf("%v", early)
		}
		for range 2 { // each is tried again every second
			x.noOffer()
			w.noOffer()
			_, err := claimTurn(h, w.p, parley.ClaimTurnParams{ConversationID: early[0], Turn: 2})
			refused(t, err, parley.ErrUnavailable)
			refused(t, (<-post(h, w.p, message(early[0], "the end", parley.FinalityConversation, ""))).err, parley.ErrUnavailable)
			pass(time.Second)
		}
		pass(time.Second)
		for _, c := range []<-chan begun{command, agent} {
			if a := <-c; a.err != nil || a.after > 3*time.Second || a.after < 2*time.Second {
				t.Fatalf("%+v %v after %v", a.s, a.err, a.after)
			}
		}
		x.works("done")
		if o := w.oneOffer(); o.ConversationID != early[0] {
			t.Fatalf("%+v", o)
		}
		pass(0)
		if got := callbacks(t, j, parent); len(got) != 1 || len(got[0]) != 1 {
			t.Fatalf("%+v", got)
		}
	})
}

// lists returns the ids of the conversations of a caller.
func lists(t testing.TB, h *hub.Hub, p *hub.Principal) []string {
	t.Helper()
	r, err := h.ListConversations(t.Context(), p, &parley.ListConversationsParams{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range r.Conversations {
		ids = append(ids, c.ConversationID)
	}
	return ids
}

// TestStoppedBeforeKnown: a session that is stopped before its parent has its start is reported
// like any other.
func TestStoppedBeforeKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &refusing{Journal: newJournal(t)}
		h := startOn(t, j, counted("x"))
		hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		parent := create(t, h, ann, open2("ann"))
		j.full(`"kind":"session_started"`, 5)
		answer := starts(t.Context(), h, ann, counts("count", 1, parley.ModeAsyncCallback, parent))
		ids := lists(t, h, ann)
		s, err := h.StopSession(t.Context(), ann, &parley.StopSessionParams{SessionID: ids[1]})
		if err != nil || s.Status != parley.SessionStopped || s.Callback != parley.CallbackPending {
			t.Fatalf("%+v %v", s, err)
		}
		if a := <-answer; a.err != nil || a.s.SessionID != ids[1] || a.s.Status != parley.SessionStopped {
			t.Fatalf("%+v %v", a.s, a.err)
		}
		pass(10 * time.Second)
		if got := toldIDs(t, j, parent); fmt.Sprint(got) != fmt.Sprint([][]string{{ids[1]}}) {
			t.Fatalf("told of %v", got)
		}
		if got, want := children(t, j, parent), []string{"started " + ids[1],
			"stopped " + ids[1]}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("the parent has %v", got)
		}
		if s := session(t, h, ann, ids[1]); s.Callback != parley.CallbackDelivered {
			t.Errorf("%+v", s)
		}
		quiet(t, h)
	})
}

// TestFullStorage: what cannot be written for want of room is written when there is some.
func TestFullStorage(t *testing.T) {
	for _, words := range []string{`"kind":"session_ended"`, `"callback_type"`, `"reason":"interrupted"`, `"kind":"runner_left"`} {
		t.Run(words, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &refusing{Journal: newJournal(t)}
				h := startOn(t, j, counted("x"))
				x := hosts(t, h, counter("count"))
				ann := h.LocalPrincipal("ann")
				parent := create(t, h, ann, open2("ann"))
				id := start(t, h, ann, counts("count", 1, parley.ModeAsyncCallback, parent)).SessionID
				o := x.oneOffer()
				x.take(id, o.ClaimID)
				j.full(words, 3)
				x.conn.Close()
				pass(200 * time.Second)
				if j.seen != 3 {
					t.Fatalf("it was tried %d times", j.seen)
				}
				failsAs(t, h, ann, id, parley.ReasonInterrupted, "Runner disconnected during execution")
				if got := toldIDs(t, j, parent); fmt.Sprint(got) != fmt.Sprint([][]string{{id}}) {
					t.Fatalf("told of %v", got)
				}
				quiet(t, h)
			})
		})
	}
}

// TestDamagedSchema: a schema in the log that this version does not take any more costs its runner its agents, and the hub nothing.
func TestDamagedSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		hosts(t, h, counter("count"))
		other := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "other"})
		other.says(counter("other"))
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		log := events(t, j, "~runners")
		record := bytes.Replace(log[1].Payload, []byte(`"minimum":1`), []byte(`"minimum":"x"`), 1)
		e := parley.Event{Seq: 4, Type: parley.TypeSystem, From: parley.HubID, At: log[2].At, Payload: record}
		data, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Append(t.Context(), j, journal.Batch{Conversation: "~runners", After: 3,
			Events: [][]byte{data}}); err != nil {
			t.Fatal(err)
		}
		h = startOn(t, j, counted("y"))
		agentsAre(t, h, "other of other (away)")
		x := hosts(t, h, counter("count"))
		agentsAre(t, h, "count of box", "other of other (away)")
		x.says()
	})
}
