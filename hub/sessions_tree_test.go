package hub_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestDepth: sessions start sessions, eight deep.
func TestDepth(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := arrive(t, h, "writer", parley.RegisterExecutorParams{ExecutorID: "w1", Agents: []string{"writer"}, Capacity: 20})
		root := create(t, h, h.LocalPrincipal("ann"), open2("ann"))
		parent, who := root, h.LocalPrincipal("ann")
		ask := func() *parley.StartSessionParams {
			return &parley.StartSessionParams{AgentName: "writer", Prompt: "p", Mode: parley.ModeAsyncPoll,
				ParentConversationID: parent}
		}
		var all []*parley.Session
		for depth := 1; depth <= limits.MaxSessionDepth; depth++ {
			s := start(t, h, who, ask())
			if s.Depth != depth {
				t.Fatalf("%+v", s)
			}
			log := events(t, j, s.SessionID)
			if sys, err := log[0].System(); err != nil || sys.Session.Root != root || sys.Session.Parent != parent {
				t.Fatalf("%s %v", log[0].Raw(), err)
			}
			o := w.oneOffer()
			w.take(o.ConversationID, o.ClaimID)
			parent, who = s.SessionID, w.p
			all = append(all, s)
		}
		before := j.Last()
		_, err := h.StartSession(t.Context(), who, ask())
		refused(t, err, parley.ErrTooLarge)
		if j.Last() != before {
			t.Error("something was written")
		}
		if live, places := h.SessionsHeld(); live != limits.MaxSessionDepth || places != live {
			t.Errorf("%d live, %d places", live, places)
		}
		// A session that is closed in the middle stops only those below it.
		if _, err := h.StopSession(t.Context(), h.LocalPrincipal("root", parley.ScopeAdmin),
			&parley.StopSessionParams{SessionID: all[3].SessionID}); err != nil {
			t.Fatal(err)
		}
		admin := h.LocalPrincipal("root", parley.ScopeAdmin)
		for i, s := range all {
			switch {
			case i < 3:
				stands(t, h, admin, s.SessionID, parley.SessionRunning, "")
			case i == 3:
				stands(t, h, admin, s.SessionID, parley.SessionStopped, parley.ReasonStopped)
			default:
				stands(t, h, admin, s.SessionID, parley.SessionStopped, parley.ReasonParentClosed)
			}
		}
	})
}

// TestTree: 64 sessions of one tree run at once, also over a restart. An end makes room, and other
// trees have separate room.
func TestTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 100})
		b := counter("count")
		b.TimeoutMs = limits.MaxSessionTimeoutMs
		x.says(b)
		ann := h.LocalPrincipal("ann")
		root := create(t, h, ann, open2("ann"))
		poll := func() *parley.StartSessionParams { return counts("count", 1, parley.ModeAsyncPoll, root) }
		first := start(t, h, ann, poll())
		claim := x.oneOffer().ClaimID
		x.take(first.SessionID, claim)
		command := func() *hub.Principal {
			t.Helper()
			p, err := h.Authenticate(t.Context(), "plc_"+first.SessionID+"_"+claim, "")
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		below := counts("count", 1, parley.ModeSync, "")
		below.TimeoutMs = 1
		for i := range limits.MaxLiveSessions - 1 {
			if i%2 == 0 {
				start(t, h, ann, poll())
			} else {
				start(t, h, command(), below)
			}
		}
		full := func() {
			t.Helper()
			synctest.Wait()
			before := j.Last()
			_, err := h.StartSession(t.Context(), ann, poll())
			refused(t, err, parley.ErrTooLarge)
			_, err = h.StartSession(t.Context(), command(), below)
			refused(t, err, parley.ErrTooLarge)
			if j.Last() != before {
				t.Error("something was written")
			}
			if live, places := h.SessionsHeld(); live != limits.MaxLiveSessions || places != live {
				t.Fatalf("%d live, %d places", live, places)
			}
		}
		full()
		j = crash(t, j)
		h = startOn(t, j, counted("y"))
		ann = h.LocalPrincipal("ann")
		full()
		start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, create(t, h, ann, open2("ann"))))
		alone := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, ""))
		if _, err := h.StopSession(t.Context(), ann, &parley.StopSessionParams{SessionID: alone.SessionID}); err != nil {
			t.Fatal(err)
		}
		_, err := h.StartSession(t.Context(), ann, poll())
		refused(t, err, parley.ErrTooLarge) // of another tree
		x = arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 100, Holding: []string{claim}})
		for _, o := range x.offered()[:1] {
			x.take(o.ConversationID, o.ClaimID)
			x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("x"))
		}
		synctest.Wait()
		start(t, h, ann, poll())
		_, err = h.StartSession(t.Context(), ann, poll())
		refused(t, err, parley.ErrTooLarge)
		if _, err := h.Client(ann).CloseConversation(t.Context(),
			&parley.CloseConversationParams{ConversationID: root}); err != nil {
			t.Fatal(err)
		}
		x.says() // the one of the other tree
		quiet(t, h)
	})
}

// TestCloseWhileStarting: a session that is started while its parent is closed is stopped, or not begun.
func TestCloseWhileStarting(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 100})
		x.says(counter("count"))
		ann := h.LocalPrincipal("ann")
		for range 50 {
			id := create(t, h, ann, open2("ann"))
			answers := []<-chan begun{}
			for range 3 {
				c := make(chan begun, 1)
				answers = append(answers, c)
				go func() {
					s, err := h.StartSession(t.Context(), ann, counts("count", 1, parley.ModeAsyncCallback, id))
					c <- begun{s: s, err: err}
				}()
			}
			if _, err := h.Client(ann).CloseConversation(t.Context(),
				&parley.CloseConversationParams{ConversationID: id}); err != nil {
				t.Fatal(err)
			}
			for _, c := range answers {
				a := <-c
				if a.err != nil {
					refused(t, a.err, parley.ErrConversationClosed)
					continue
				}
				if s := stands(t, h, ann, a.s.SessionID, parley.SessionStopped,
					parley.ReasonParentClosed); s.Callback != parley.CallbackUndeliverable {
					t.Fatalf("%+v", s)
				}
			}
		}
		quiet(t, h)
	})
}

// TestChildEndsWhileClosing: a parent that closes while its session ends has the whole end or
// nothing of it.
func TestChildEndsWhileClosing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		for range 50 {
			id := create(t, h, ann, open2("ann"))
			s := start(t, h, ann, counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
			o := x.oneOffer()
			x.take(s, o.ClaimID)
			closed := make(chan error, 1)
			go func() {
				_, err := h.Client(ann).CloseConversation(t.Context(), &parley.CloseConversationParams{ConversationID: id})
				closed <- err
			}()
			err := (<-post(h, x.p, closing(s, o.ClaimID, parley.OutcomeCompleted, ran("x")))).err
			if cerr := <-closed; cerr != nil {
				t.Fatal(cerr)
			}
			synctest.Wait()
			got := session(t, h, ann, s)
			if err == nil != (got.Status == parley.SessionCompleted) || err != nil && got.Reason != parley.ReasonParentClosed {
				t.Fatalf("%v, and %+v", err, got)
			}
			told := len(callbacks(t, j, id))
			if want := map[parley.CallbackState]int{parley.CallbackDelivered: 1,
				parley.CallbackUndeliverable: 0}; told != want[got.Callback] {
				t.Fatalf("told %d times, and it is %s", told, got.Callback)
			}
		}
		quiet(t, h)
	})
}

// TestParentLimit: a parent that reaches its limit with a session is closed, and the session stopped.
func TestParentLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		q := open2("ann")
		q.Limits = &parley.Limits{MaxEvents: 2}
		id := create(t, h, ann, q)
		first := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, id)).SessionID
		stands(t, h, ann, first, parley.SessionPending, "")
		second := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, id)).SessionID
		for _, s := range []string{first, second} {
			stands(t, h, ann, s, parley.SessionStopped, parley.ReasonParentClosed)
		}
		closedAs(t, j, id, parley.OutcomeCanceled, parley.ReasonMaxEvents)
		quiet(t, h)
	})
}

// TestWaitingHoldsNothing: a turn that waits for its session uses no capacity of its executor, so
// any number of sessions that wait for each other end. The executor is notified.
func TestWaitingHoldsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 1})
		x.says(counter("count"))
		ann := h.LocalPrincipal("ann")
		answer := starts(t.Context(), h, ann, counts("count", 1, parley.ModeSync, ""))
		type level struct {
			session, claim string
			answer         <-chan begun
		}
		var stack []level
		for depth := 1; ; depth++ {
			o := x.oneOffer()
			x.take(o.ConversationID, o.ClaimID)
			if depth == limits.MaxSessionDepth {
				stack = append(stack, level{o.ConversationID, o.ClaimID, nil})
				break
			}
			command, err := h.Authenticate(t.Context(), "plc_"+o.ConversationID+"_"+o.ClaimID, "")
			if err != nil {
				t.Fatal(err)
			}
			stack = append(stack, level{o.ConversationID, o.ClaimID, starts(t.Context(), h, command, counts("count", depth, "", ""))})
			want := []parley.ClaimWaitingNotification{{ConversationID: o.ConversationID, AgentID: "count", Turn: 2,
				ClaimID: o.ClaimID, Waiting: true}}
			if got := x.waits(); depth == 1 && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("it is told %+v, want %+v", got, want)
			}
		}
		other := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, ""))
		x.noOffer() // the deepest one works
		for i := len(stack) - 1; i >= 0; i-- {
			if stack[i].answer != nil {
				if a := <-stack[i].answer; a.err != nil || a.s.Status != parley.SessionCompleted {
					t.Fatalf("%+v %v", a.s, a.err)
				}
				if got := x.waits(); len(got) != 1 || got[0].Waiting || got[0].ClaimID != stack[i].claim {
					t.Fatalf("it is told %+v", got)
				}
			}
			x.ends(stack[i].session, stack[i].claim, parley.OutcomeCompleted, ran(fmt.Sprint(i)))
		}
		if a := <-answer; a.err != nil || a.s.Status != parley.SessionCompleted {
			t.Fatalf("%+v %v", a.s, a.err)
		}
		pass(time.Minute)
		if got := x.offered(); len(got) == 0 || got[len(got)-1].ConversationID != other.SessionID {
			t.Fatalf("%+v", got)
		}
	})
}

// TestWaitingAfterRestart: which turns wait is known again after a restart, before their holder is back.
func TestWaitingAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 1})
		x.says(counter("count"))
		outer := start(t, h, h.LocalPrincipal("ann"), counts("count", 1, parley.ModeAsyncPoll, ""))
		claim := x.oneOffer().ClaimID
		x.take(outer.SessionID, claim)
		command, err := h.Authenticate(t.Context(), "plc_"+outer.SessionID+"_"+claim, "")
		if err != nil {
			t.Fatal(err)
		}
		q := counts("count", 2, "", "")
		q.TimeoutMs = 1
		inner := start(t, h, command, q)
		j = crash(t, j)
		h = startOn(t, j, counted("y"))
		synctest.Wait()
		x = arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 1, Holding: []string{claim}})
		if got := x.waits(); len(got) != 1 || !got[0].Waiting || got[0].ClaimID != claim {
			t.Fatalf("it is told %+v", got)
		}
		if got := x.works("inner"); got != inner.SessionID {
			t.Fatal(got)
		}
		if got := x.waits(); len(got) != 1 || got[0].Waiting {
			t.Fatalf("it is told %+v", got)
		}
		x.ends(outer.SessionID, claim, parley.OutcomeCompleted, ran("outer"))
		quiet(t, h)
	})
}
