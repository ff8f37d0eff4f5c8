package hub_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/promise"
)

var waitRaces = flag.Int("simulation.races", 20_000, "how many waits TestWaitRaces lets race with an append")

// TestWaitRaces: a wait that races an append ends with it, and no wait ends before there is a change or its time is over. In a bubble nothing else can move the
// clock than a wait that oversleeps, so each one shows.
func TestWaitRaces(t *testing.T) {
	const inOneBubble = 1000
	races := *waitRaces
	if testing.Short() {
		races = min(races, 3*inOneBubble)
	}
	var next atomic.Int64
	var mu sync.Mutex
	var total raceCounts
	t.Run("races", func(t *testing.T) {
		for i := range (runtime.GOMAXPROCS(0) + 1) / 2 { // so that those who race have a processor each
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1); !t.Failed() && int(seed-1)*inOneBubble < races; seed = next.Add(1) {
					var g *raceGround
					synctest.Test(t, func(t *testing.T) { g = raceIn(t, uint64(seed), inOneBubble) })
					mu.Lock()
					total.add(g.n)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d waits: %d began before the append, %d while it was under way, %d behind it, %d at the moment at which they ended; %d had nothing to wait for, %d were given up; %d commits were held, %d found no room, %d conversations came back to memory, %d were busy",
		total.all(), total.before, total.amid, total.behind, total.tied, total.idle, total.canceled, total.held, total.full, total.evicted, total.crowded)
	for _, n := range []int{total.before, total.amid, total.behind, total.tied, total.idle, total.canceled, total.held,
		total.full, total.evicted} {
		if n*200 < total.all() {
			t.Errorf("there are too few of some kind to prove anything")
			break
		}
	}
	promise.ID(10).Kept(t, promise.Tried{Faults: total.held + total.full + total.evicted, Operations: total.all(),
		Violations: total.wrong})
}

// raceCounts are how many waits there were of each kind.
type raceCounts struct {
	before, amid, behind, tied, idle, canceled int
	held, full, evicted, crowded               int // rounds
	wrong                                      int
}

func (c *raceCounts) all() int { return c.before + c.amid + c.behind + c.tied + c.idle + c.canceled }

func (c *raceCounts) add(o raceCounts) {
	c.before, c.amid, c.behind, c.tied, c.idle = c.before+o.before, c.amid+o.amid, c.behind+o.behind, c.tied+o.tied, c.idle+o.idle
	c.canceled, c.held, c.full, c.evicted = c.canceled+o.canceled, c.held+o.held, c.full+o.full, c.evicted+o.evicted
	c.crowded, c.wrong = c.crowded+o.crowded, c.wrong+o.wrong
}

// raceGround is a hub in a bubble, with two conversations.
type raceGround struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	j      *memory.Journal
	h      *hub.Hub
	a, b   *hub.Principal
	ids    [2]string
	heads  [2]int64
	which  int
	stamps atomic.Int64

	mu sync.Mutex // guards the field below
	n  raceCounts
}

func raceIn(t *testing.T, seed uint64, waits int) *raceGround {
	g := &raceGround{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 10)), j: newJournal(t)}
	g.h = startOn(t, g.j, &hub.Options{MaxLoaded: 1})
	g.a, g.b = g.h.LocalPrincipal("a"), g.h.LocalPrincipal("b")
	for i := range g.ids {
		g.ids[i], g.heads[i] = create(t, g.h, g.a, open2("a", "b")), 1
	}
	for g.n.all() < waits && !t.Failed() {
		g.round()
	}
	return g
}

// racing is one round: an append, and some waits for it.
type racing struct {
	which        int // conversation
	id           string
	since        int64
	timeout      time.Duration
	begun, acked atomic.Int64 // stamps of the append; 0 before
}

// wrong notes a wait that is not as it should be.
func (g *raceGround) wrong(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n.wrong++
	g.t.Errorf("seed %d: "+format, append([]any{g.seed}, args...)...)
}

// maxStall is how long a step is put off at most.
const maxStall = 6000

// stall lets some time pass that is no time of the bubble: others run, and then n turns of a loop, each of a ns or so.
func stall(n int) {
	if n%4 == 0 {
		runtime.Gosched()
	}
	for range n {
		spun.Load()
	}
}

var spun atomic.Int64

func (g *raceGround) round() {
	if g.random.IntN(12) == 0 { // the other one takes its place in memory
		g.which = 1 - g.which
		g.n.evicted++
	}
	r := &racing{which: g.which, timeout: time.Minute}
	r.id, r.since = g.ids[r.which], g.heads[r.which]
	switch g.random.IntN(20) {
	case 0:
		g.idleRound(r)
	case 1:
		g.tiedRound(r)
	case 2:
		g.canceledRound(r)
	case 3, 4, 5, 6, 7, 8:
		g.racedRound(r)
	default:
		g.alignedRound(r)
	}
}

// alignedRound prepares the append up to its commit, and the wait on another processor; then both
// continue at once.
func (g *raceGround) alignedRound(r *racing) {
	g.n.held++
	g.j.Hold()
	kind, before := g.random.IntN(5), g.random.IntN(maxStall/4)
	var all sync.WaitGroup
	var ready, start atomic.Bool
	all.Go(func() { g.write(r) })
	all.Go(func() {
		ready.Store(true)
		for n := 1; !start.Load(); n++ {
			if n%1000 == 0 {
				runtime.Gosched() // there may be no other processor
			}
		}
		for range before {
			spun.Load()
		}
		g.wait(r, kind)
	})
	for !ready.Load() || r.begun.Load() == 0 {
		runtime.Gosched()
	}
	start.Store(true)
	g.j.Release()
	all.Wait()
	g.heads[r.which]++
}

// racedRound lets an append race with waits.
func (g *raceGround) racedRound(r *racing) {
	if g.random.IntN(8) == 0 {
		g.n.full++
		g.j.FailNext(journal.ErrStorageFull)
	}
	hold := g.random.IntN(4) == 0
	if hold {
		g.n.held++
		g.j.Hold()
	}
	var all sync.WaitGroup
	stalls := [2]int{g.random.IntN(maxStall), g.random.IntN(maxStall)}
	writes := func() { all.Go(func() { stall(stalls[0]); g.write(r) }) }
	if r.since > 1 && g.random.IntN(2) == 0 { // a turn has ended
		g.n.crowded++
		for range 2 {
			all.Go(func() { g.crowd(r) })
		}
	}
	first := g.random.IntN(2) == 0
	if first {
		writes()
	}
	for range 1 + g.random.IntN(3) {
		kind, before := g.random.IntN(5), g.random.IntN(maxStall)
		all.Go(func() { stall(before); g.wait(r, kind) })
	}
	if !first {
		writes()
	}
	if hold {
		stall(stalls[1])
		if stalls[1]%3 == 0 {
			synctest.Wait() // until everybody sleeps
		}
		g.j.Release()
	}
	all.Wait()
	g.heads[r.which]++
}

// crowd sends refused commands to the conversation, so that others lock it between two reads.
func (g *raceGround) crowd(r *racing) {
	for range 6 {
		q := message(r.id, "late", parley.FinalityTurn, "")
		q.Turn = 1
		if got := <-post(g.h, g.b, q); !errors.Is(got.err, parley.ErrTurnClosed) {
			g.t.Errorf("what is said too late: %+v", got)
		}
	}
}

// write appends one message; where there is no room, once more.
func (g *raceGround) write(r *racing) {
	r.begun.Store(g.stamps.Add(1))
	for {
		got := <-post(g.h, g.a, message(r.id, "x", parley.FinalityTurn, ""))
		if errors.Is(got.err, parley.ErrStorageFull) {
			continue
		}
		if got.err != nil || got.Seq != r.since+1 {
			g.t.Errorf("the append: %+v", got)
		}
		break
	}
	r.acked.Store(g.stamps.Add(1))
}

// wait waits in one of the ways, and holds the answer against what has happened.
func (g *raceGround) wait(r *racing, kind int) {
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*r.timeout)
	defer cancel()
	began, begun, acked := time.Now(), r.begun.Load(), r.acked.Load()
	latest, timedOut, err := g.waitBy(ctx, r, kind)
	took := time.Since(began)
	switch {
	case err != nil:
		g.wrong("wait %d: %v", kind, err)
	case took != 0 || timedOut:
		g.wrong("wait %d behind %d has overslept: it took %v, in vain: %t", kind, r.since, took, timedOut)
	case latest <= r.since:
		g.wrong("wait %d behind %d has ended at %d", kind, r.since, latest)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case acked > 0:
		g.n.behind++
	case begun > 0:
		g.n.amid++
	default:
		g.n.before++
	}
}

// waitBy returns the end of the log according to the wait.
func (g *raceGround) waitBy(ctx context.Context, r *racing, kind int) (latest int64, timedOut bool, err error) {
	ms := r.timeout.Milliseconds()
	switch kind {
	case 0:
		got, err := g.h.WaitForChange(ctx, g.b, &parley.WaitForChangeParams{ConversationID: r.id, SinceSeq: r.since, TimeoutMs: ms})
		return got.LatestSeq, got.TimedOut, err
	case 1:
		return g.updates(ctx, r, parley.UntilAny)
	case 2:
		return g.updates(ctx, r, parley.UntilMessage)
	case 3:
		latest, err = g.subscribed(ctx, r)
		return latest, false, err
	}
	for { // the cursor of tail, and then a wait
		page, err := g.h.Tail(ctx, g.b, &parley.TailParams{ConversationID: r.id, SinceSeq: r.since})
		if err != nil || len(page.Events) > 0 {
			return page.NextSeq, false, err
		}
		got, err := g.h.WaitForChange(ctx, g.b, &parley.WaitForChangeParams{ConversationID: r.id, SinceSeq: page.NextSeq, TimeoutMs: ms})
		if err != nil || got.TimedOut {
			return got.LatestSeq, got.TimedOut, err
		}
	}
}

func (g *raceGround) updates(ctx context.Context, r *racing, until parley.Until) (int64, bool, error) {
	u, messages, err := g.h.GetUpdates(ctx, g.b, &parley.GetUpdatesParams{ConversationID: r.id, SinceSeq: r.since,
		Until: until, TimeoutMs: r.timeout.Milliseconds()})
	if err != nil {
		return 0, false, err
	}
	if len(messages) == 0 && !u.TimedOut {
		return 0, false, fmt.Errorf("no message up to %d", u.NextSeq)
	}
	return u.NextSeq, u.TimedOut, nil
}

// subscribed waits for the next event on a subscription.
func (g *raceGround) subscribed(ctx context.Context, r *racing) (int64, error) {
	s, err := g.h.Subscribe(ctx, g.b, &parley.SubscribeParams{ConversationID: r.id, SinceSeq: r.since})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for {
		items, err := s.Next(ctx, 10)
		if err != nil {
			return 0, err
		}
		for _, i := range items {
			if i.Event != nil {
				return i.Seq, nil
			}
		}
	}
}

// idleRound waits for what does not come.
func (g *raceGround) idleRound(r *racing) {
	r.timeout = time.Duration(1+g.random.IntN(20_000)) * time.Millisecond
	g.n.idle++
	began := time.Now()
	latest, timedOut, err := g.waitBy(g.t.Context(), r, []int{0, 1, 2, 4}[g.random.IntN(4)])
	if took := time.Since(began); err != nil || !timedOut || latest != r.since || took != r.timeout {
		g.wrong("a wait of %v for nothing gives %d, in vain: %t, %v after %v", r.timeout, latest, timedOut, err, took)
	}
}

// tiedRound appends at the moment at which the time of the wait is over. Either may be first, but the answer says which.
func (g *raceGround) tiedRound(r *racing) {
	r.timeout = time.Duration(1+g.random.IntN(50)) * time.Millisecond
	g.n.tied++
	before := g.random.IntN(maxStall)
	var all sync.WaitGroup
	all.Go(func() {
		time.Sleep(r.timeout)
		stall(before)
		g.write(r)
	})
	began := time.Now()
	latest, timedOut, err := g.waitBy(g.t.Context(), r, g.random.IntN(3))
	if took := time.Since(began); err != nil || timedOut != (latest == r.since) || took != r.timeout {
		g.wrong("a wait of %v for an append at its end gives %d behind %d, in vain: %t, %v after %v", r.timeout, latest,
			r.since, timedOut, err, took)
	}
	all.Wait()
	g.heads[r.which]++
}

// canceledRound cancels a wait. The next one finds what was appended meanwhile.
func (g *raceGround) canceledRound(r *racing) {
	g.n.canceled++
	ctx, cancel := context.WithCancel(g.t.Context())
	before, kind := g.random.IntN(maxStall), g.random.IntN(5)
	var all sync.WaitGroup
	all.Go(func() { stall(before); g.write(r) })
	all.Go(func() { stall(before / 2); cancel() })
	began := time.Now()
	latest, timedOut, err := g.waitBy(ctx, r, kind)
	if took := time.Since(began); took != 0 || timedOut || err != nil && !errors.Is(err, context.Canceled) ||
		err == nil && latest <= r.since {
		g.wrong("a wait that is given up gives %d behind %d, in vain: %t, %v after %v", latest, r.since, timedOut, err, took)
	}
	all.Wait()
	r.acked.Store(0)
	g.wait(r, kind)
	g.heads[r.which]++
}
