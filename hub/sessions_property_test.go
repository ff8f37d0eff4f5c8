package hub_test

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// yard is a hub with a runner, conversations out of which sessions are started, and what was begun there.
type yard struct {
	t       *testing.T
	plan    []byte // the rest of the choices
	j       *doomed
	h       *hub.Hub
	hubs    int
	box     *host
	claims  map[string]string // of the runner, by session
	agents  map[string]*hub.Principal
	parents []string
	begun   map[string]*parley.Session
	keys    int
}

// doomed is a journal that makes nothing durable any more after some batches.
type doomed struct {
	*memory.Journal
	left atomic.Int64 // below 0: for ever
}

func (d *doomed) Submit(b journal.Batch) {
	b = b.Sealed()
	if d.left.Load() >= 0 && d.left.Add(-1) < 0 {
		d.left.Store(0)
		d.Hold()
	}
	d.Journal.Submit(b)
}

// TestEveryEndIsToldOnce: random sessions start, end and wait, and the hub is killed at random. In
// the end every session in mode async_callback of an open parent was reported once, of a closed one
// at most once, and no place in a tree is taken.
func TestEveryEndIsToldOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.Byte(), 10, 300).Draw(rt, "plan")
		wrong := ""
		synctest.Test(t, func(t *testing.T) {
			y := &yard{t: t, plan: plan, claims: map[string]string{}, begun: map[string]*parley.Session{}}
			y.open(memory.New())
			for i, policy := range []parley.PolicyKind{parley.PolicyRoundRobin, parley.PolicyOpen, parley.PolicyAddressed} {
				y.parents = append(y.parents, create(t, y.h, y.h.LocalPrincipal("hal"), &parley.CreateConversationParams{
					ConversationID: fmt.Sprint("parent", i), Policy: &parley.Policy{Kind: policy},
					Participants: append(seatsOf(parley.KindAgent, "a", "b"), parley.Participant{ID: "hal", Kind: parley.KindHuman}),
				}))
			}
			for len(y.plan) > 0 {
				y.step()
			}
			wrong = y.finish()
			y.close()
		})
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// pick makes the next choice.
func (y *yard) pick(n int) int {
	if len(y.plan) == 0 {
		return 0
	}
	c := int(y.plan[0]) % n
	y.plan = y.plan[1:]
	return c
}

func pick[T any](y *yard, all ...T) T { return all[y.pick(len(all))] }

// open starts a hub, and brings back the runner with what it held.
func (y *yard) open(j *memory.Journal) {
	y.hubs++
	y.j = &doomed{Journal: j}
	y.j.left.Store(-1)
	var err error
	if y.h, err = hub.Open(y.j, counted(fmt.Sprint("h", y.hubs, "-"))); err != nil {
		y.t.Fatal(err)
	}
	y.agents = map[string]*hub.Principal{}
	for _, id := range []string{"a", "b", "hal"} {
		y.agents[id] = connect(y.t, y.h, y.h.LocalPrincipal(id)).p
	}
	y.arrive()
}

func (y *yard) arrive() {
	y.box = arrive(y.t, y.h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 50,
		Holding: slices.Collect(maps.Values(y.claims))})
	b := counter("count")
	b.TimeoutMs = 60_000
	twice := counter("twice")
	twice.TimeoutMs, twice.Idempotent = 30_000, true
	y.box.says(b, twice)
}

func (y *yard) close() {
	if err := y.h.Close(); err != nil {
		y.t.Error(err)
	}
	checkLog(y.t, y.j)
	if err := y.j.Close(); err != nil {
		y.t.Error(err)
	}
}

// kill ends the hub as kill -9 would, perhaps in the middle of what it is about to write, and starts the next one.
func (y *yard) kill(torn bool) {
	if torn {
		y.j.left.Store(int64(y.pick(4)))
		y.act()
		synctest.Wait()
	}
	old, left := y.h, y.j.Crash()
	_ = old.Close()
	y.open(left)
}

func (y *yard) step() {
	switch pick(y, "act", "act", "act", "act", "act", "act", "act", "kill", "torn", "time", "leave", "lose") {
	case "act":
		y.act()
		synctest.Wait()
	case "kill":
		y.kill(false)
	case "torn":
		y.kill(true)
	case "time":
		pass(time.Duration(pick(y, 1, 6, 40, 190)) * time.Second)
	case "leave":
		_, _ = y.box.bring()
		y.claims = map[string]string{}
		y.arrive()
	case "lose":
		y.box.conn.Close()
		pass(time.Duration(pick(y, 1, 100, 190)) * time.Second)
		y.arrive()
	}
}

// act makes one random call. It waits for no answer that may not come.
func (y *yard) act() {
	switch pick(y, "start", "start", "start", "take", "take", "end", "end", "end", "stop", "speak", "speak", "speak", "close") {
	case "start":
		y.start()
	case "take":
		for _, o := range y.box.offered() {
			y.h.ClaimTurn(y.box.p, &parley.ClaimTurnParams{ConversationID: o.ConversationID, ClaimID: o.ClaimID},
				func(r parley.ClaimTurnResult, err error) {})
			y.claims[o.ConversationID] = o.ClaimID
		}
	case "end":
		for _, id := range slices.Sorted(maps.Keys(y.claims)) {
			if y.pick(2) == 0 {
				y.end(id)
			}
		}
	case "stop":
		if len(y.begun) > 0 {
			id := pick(y, slices.Sorted(maps.Keys(y.begun))...)
			go func(h *hub.Hub) {
				_, _ = h.StopSession(y.t.Context(), h.LocalPrincipal("root", parley.ScopeAdmin),
					&parley.StopSessionParams{SessionID: id})
			}(y.h)
		}
	case "speak":
		y.speak(pick(y, y.parents...), pick(y, parley.FinalityNone, parley.FinalityTurn))
	case "close":
		if y.pick(5) == 4 {
			id := pick(y, y.parents...)
			y.h.CloseConversation(y.agents["hal"], &parley.CloseConversationParams{ConversationID: id},
				func(parley.SeqResult, error) {})
		}
	}
}

func (y *yard) start() {
	y.keys++
	q := counts(pick(y, "count", "twice"), 1,
		pick(y, parley.ModeAsyncCallback, parley.ModeAsyncCallback, parley.ModeAsyncPoll, parley.ModeSync),
		pick(y, y.parents...))
	q.TimeoutMs = 1
	q.ClientRequestID = fmt.Sprint("key", y.keys)
	h, p := y.h, y.agents[pick(y, "a", "b", "hal")]
	answer := make(chan *parley.Session, 1)
	go func() {
		s, _ := h.StartSession(y.t.Context(), p, q)
		answer <- s
	}()
	synctest.Wait()
	time.Sleep(time.Millisecond) // in the bubble: a sync one degrades
	synctest.Wait()
	select {
	case s := <-answer:
		if s != nil {
			y.begun[s.SessionID] = s
		}
	default: // lost with its hub
	}
}

func (y *yard) end(id string) {
	claim := y.claims[id]
	delete(y.claims, id)
	switch y.pick(4) {
	case 0:
		y.h.ReleaseClaim(y.box.p, &parley.ReleaseClaimParams{ConversationID: id, ClaimID: claim,
			Outcome: parley.ReleaseFailed}, func(parley.EmptyResult, error) {})
	case 1:
		post(y.h, y.box.p, closing(id, claim, parley.OutcomeFailed, ran("no")))
	default:
		post(y.h, y.box.p, closing(id, claim, parley.OutcomeCompleted, ran("yes")))
	}
}

// speak lets who has the floor of a parent say something.
func (y *yard) speak(parent string, f parley.Finality) {
	g, err := y.h.GetGuidance(y.t.Context(), y.agents["hal"], &parley.GetGuidanceParams{ConversationID: parent})
	if err != nil || g.Guidance.Kind == parley.Closed {
		return
	}
	who := g.Guidance.Speaker
	if who == "" {
		who = pick(y, "a", "b", "hal")
	}
	post(y.h, y.agents[who], message(parent, "words", f, ""))
}

// finish lets everything end: sessions by their time limits, also abandoned turns, and the holders
// of the floor speak.
func (y *yard) finish() (wrong string) {
	pass(400 * time.Second)
	for id := range y.agents {
		y.agents[id] = y.h.LocalPrincipal(id) // on no connection that has lost a claim
	}
	for range 4 * (y.keys + 1) {
		for _, id := range y.parents {
			y.speak(id, parley.FinalityTurn)
			pass(70 * time.Second)
		}
		if y.idle() {
			return y.check()
		}
	}
	return "it does not come to its end"
}

func (y *yard) idle() bool {
	for _, id := range y.parents {
		if s := y.state(id); !s.Closed() && len(s.Children)+len(s.Callbacks) > 0 {
			return false
		}
	}
	live, places := y.h.SessionsHeld()
	return live == 0 && places == 0
}

// state folds the log of a conversation.
func (y *yard) state(id string) fold.State {
	s := fold.State{ID: id}
	for _, e := range events(y.t, y.j, id) {
		next, err := s.Apply(&e, len(e.Raw()))
		if err != nil {
			y.t.Fatal(err)
		}
		s = next
	}
	return s
}

func (y *yard) check() (wrong string) {
	told, starts, ends := map[string]int{}, map[string]int{}, map[string]int{}
	for _, id := range y.parents {
		for _, ids := range toldIDs(y.t, y.j, id) {
			for _, s := range ids {
				told[s]++
			}
		}
		for _, line := range children(y.t, y.j, id) {
			var what, s string
			if _, err := fmt.Sscan(line, &what, &s); err != nil {
				y.t.Fatal(err)
			}
			if what == "started" {
				starts[s]++
			} else {
				ends[s]++
			}
		}
	}
	rows, err := y.j.Labeled("", 0, 10_000)
	if err != nil {
		y.t.Fatal(err)
	}
	for _, row := range rows {
		child := y.state(row.Conversation)
		if child.Session == nil {
			continue
		}
		if !child.Closed() {
			return child.ID + " has not ended"
		}
		parent, id := y.state(child.Session.Parent), child.ID
		want := 0
		if child.Session.Mode == parley.ModeAsyncCallback {
			want = 1
		}
		switch {
		case starts[id] > 1 || ends[id] > starts[id] || told[id] > want:
			return fmt.Sprintf("%s: started %d times, ended %d times, told %d times", id, starts[id], ends[id], told[id])
		case !parent.Closed() && (starts[id] != 1 || ends[id] != 1 || told[id] != want):
			return fmt.Sprintf("%s, of an open parent: started %d times, ended %d times, told %d times", id, starts[id], ends[id], told[id])
		}
	}
	return ""
}
