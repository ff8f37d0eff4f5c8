package network

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
)

var (
	slowFast    = flag.Int("slow.fast", 100, "subscribers that read what comes")
	slowStopped = flag.Int("slow.stopped", 10, "subscribers whose process is stopped by SIGSTOP")
	slowTrickle = flag.Int("slow.trickle", 10, "subscribers that read a byte a second")
	slowPairs   = flag.Int("slow.pairs", 1, "pairs of windows, one without and one with the bad subscribers")
	slowDropped = flag.Duration("slow.dropped", 0,
		"time in which the hub must drop all bad ones: 10 s for a write, where the pings alone take 25 s; 0 only logs it")
	slowWindow = flag.Duration("slow.window", 3*time.Second, "how long a window is")
	slowWithin = flag.Int("slow.within", 0,
		"by how many percent the fast ones' p99 may be worse with the bad ones; 0: it is only told")
)

const (
	slowLive    = "live"    // what all read
	slowBacklog = "backlog" // what only the bad ones ask for: far more than fits between them and the hub
	// backlogWriters say backlogEvents of backlogSize bytes each: 4 MiB together.
	backlogWriters, backlogEvents, backlogSize = 32, 64, 2048
	// slowWriters say slowSize bytes each, one in slowPace.
	slowWriters, slowSize, slowPace = 4, 1024, 200 * time.Millisecond
	// ofOneProcess is how many laggards a process has, at most.
	ofOneProcess = 10
	// slowSettle is the time from the moment when all are there to the window.
	slowSettle = 500 * time.Millisecond
	// slowGone detects a hang of any wait.
	slowGone = 3 * time.Minute
	// slowMemory is by how much the hub may grow for them.
	slowMemory = 64 << 20
)

// TestSlowReaders: subscribers that stop or take a byte a second delay no one, and cost the hub
// bounded memory. They are dropped; what they had until then is the beginning of the log, and from
// there they get the rest.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	h := program.Start(t, t.TempDir())
	w := newSlowWorld(t, h)
	growth := int64(0)
	for pair := range *slowPairs {
		if pair%2 == 0 {
			w.without()
			growth = max(growth, w.with())
		} else {
			growth = max(growth, w.with())
			w.without()
		}
	}
	w.office.rest()
	logs := readLogs(t, h.URL, []string{slowLive, slowBacklog})
	delivered := w.compareFast(logs[slowLive])
	for _, s := range w.later {
		if d := logs[s.Conversation].differs(s); d != "" {
			w.wrong++
			t.Errorf("a bad subscriber after it has come back, %s: %s", s.Conversation, d)
		}
	}
	delete(logs, slowBacklog) // whose writers are gone
	acked := w.office.audit(logs)
	h.Stop(t)
	w.judge(growth, delivered, acked)
}

// slowWorld is a hub, fast readers and writers at a steady pace.
type slowWorld struct {
	t       *testing.T
	hub     *hubproc.Hub
	metrics *scraper
	office  *office
	fast    []*fastReader
	wg      sync.WaitGroup
	base    int // sockets without bad ones

	windows []window
	calm    int64         // the most memory without bad ones
	dropped int           // bad ones that the hub has dropped
	slowest time.Duration // from when all bad ones were there until all were dropped
	resumed int           // events that they got after
	later   []seen        // what they had then
	wrong   int           // histories that are not those of the log
	harmed  int           // broken promises about bad subscribers
}

func newSlowWorld(t *testing.T, h *hubproc.Hub) *slowWorld {
	t.Helper()
	w := &slowWorld{t: t, hub: h, metrics: newScraper(h.HTTP())}
	w.fillBacklog()
	var ws []*writer
	var ids []string
	for i := range slowWriters {
		id := fmt.Sprintf("w%d", i)
		ids, ws = append(ids, id), append(ws, &writer{id: id, conversation: slowLive, size: slowSize, pace: slowPace})
	}
	create(t, h.URL, slowLive, ids...)
	for range *slowFast {
		w.fast = append(w.fast, w.startFast())
	}
	t.Cleanup(func() {
		for _, f := range w.fast {
			f.peer.Close()
		}
		w.wg.Wait()
	})
	w.office = employ(t, h.URL, ws)
	w.base = len(w.fast) + slowWriters
	w.awaitSockets(func(n int) bool { return n == w.base })
	return w
}

func (w *slowWorld) fillBacklog() {
	w.t.Helper()
	var ids []string
	for i := range backlogWriters {
		ids = append(ids, fmt.Sprintf("filler%d", i))
	}
	create(w.t, w.hub.URL, slowBacklog, ids...)
	var all errgroup.Group
	for _, id := range ids {
		f := &writer{id: id, conversation: slowBacklog, size: backlogSize}
		all.Go(func() error { return f.work(w.hub.URL, nil, backlogEvents) })
	}
	if err := all.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// window is a span of time, in this process's own, and the latencies in it.
type window struct {
	from, to time.Duration
	bad      bool
}

// without measures without bad ones.
func (w *slowWorld) without() {
	w.calm = max(w.calm, w.measure(false))
}

// with measures with them, waits until they are dropped, lets them come back, and returns the
// growth of the hub's memory.
func (w *slowWorld) with() (growth int64) {
	w.t.Helper()
	if w.calm == 0 {
		w.calm = rss(w.t, w.hub.Pid())
	}
	bad := w.startLaggards()
	start := time.Now()
	// the first may be dropped before the last is there
	w.awaitSockets(func(n int) bool { return n >= w.base+(*slowStopped+*slowTrickle)*9/10 })
	time.Sleep(slowSettle)
	peak := w.measure(true)
	w.awaitSockets(func(n int) bool { return n == w.base })
	if took := time.Since(start); took > w.slowest {
		w.slowest = took
	}
	peak = max(peak, rss(w.t, w.hub.Pid()))
	w.comeBack(bad)
	return peak - w.calm
}

// measure lets a window pass, and returns the most memory that the hub had in it.
func (w *slowWorld) measure(bad bool) (peak int64) {
	v := window{from: time.Since(born), bad: bad}
	least := w.office.written.Load() + int64(*slowWindow/slowPace/2) + 1 // more than judge expects, on a slow machine too
	end, late := time.Now().Add(*slowWindow), time.Now().Add(slowGone)
	for ; time.Now().Before(end) || w.office.written.Load() < least; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			w.t.Fatalf("too few messages in a window of %s after %s", *slowWindow, slowGone)
		}
		peak = max(peak, rss(w.t, w.hub.Pid()))
	}
	v.to = time.Since(born)
	w.windows = append(w.windows, v)
	return peak
}

// awaitSockets waits until enough authenticated sockets are open, or few enough.
func (w *slowWorld) awaitSockets(enough func(n int) bool) {
	w.t.Helper()
	var have int
	for deadline := time.Now().Add(slowGone); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		m, err := w.metrics.scrape()
		if err != nil {
			w.t.Fatal(err)
		}
		if have = int(m[authenticated]); enough(have) {
			return
		}
	}
	w.t.Fatalf("after %s the hub has %d sockets, and had %d before", slowGone, have, w.base)
}

// laggards is a process of bad subscribers.
type laggards struct {
	*process
	stopped bool
	n       int
}

// startLaggards starts the bad ones, and stops those that are to be stopped.
func (w *slowWorld) startLaggards() (all []laggards) {
	w.t.Helper()
	for _, kind := range []struct {
		n       int
		trickle bool
	}{{*slowStopped, false}, {*slowTrickle, true}} {
		for left := kind.n; left > 0; left -= ofOneProcess {
			n := min(left, ofOneProcess)
			c := laggardConfig{URL: w.hub.URL, N: n, Trickle: kind.trickle}
			all = append(all, laggards{spawn(w.t, "laggards", c), !kind.trickle, n})
		}
	}
	for _, l := range all {
		var ready int
		l.hear(slowGone, &ready)
		if l.stopped {
			l.signal(syscall.SIGSTOP)
		}
	}
	return all
}

// comeBack lets the bad ones read what they can still get, and then the rest on new connections.
func (w *slowWorld) comeBack(bad []laggards) {
	w.t.Helper()
	for _, id := range []string{slowLive, slowBacklog} { // so that there is more to come for each
		lastWords(w.t, w.hub.URL, []string{id}, fmt.Sprintf("word-%d", len(w.windows)))
	}
	logs := readLogs(w.t, w.hub.URL, []string{slowLive, slowBacklog})
	for _, l := range bad {
		if l.stopped {
			l.signal(syscall.SIGCONT)
		}
		l.tell(laggardGoal{Live: logs[slowLive].last(), Backlog: logs[slowBacklog].last()})
	}
	for _, l := range bad {
		for range l.n {
			var fate laggardFate
			l.hear(slowGone, &fate)
			w.judgeLaggard(logs, &fate)
		}
		l.in.Close()
	}
}

// lastWords adds one event to each conversation: a newcomer.
func lastWords(t *testing.T, url string, ids []string, newcomer string) {
	t.Helper()
	for _, id := range ids {
		p, err := dial(url, "auditor", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Call("addParticipant", map[string]any{"conversationId": id, "participant": map[string]any{"id": newcomer,
			"kind": "human"}}, nil)
		p.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// judgeLaggard holds what became of a bad one against what is promised.
func (w *slowWorld) judgeLaggard(logs map[string]*record, f *laggardFate) {
	w.t.Helper()
	fault := func(count *int, format string, args ...any) {
		*count++
		w.t.Errorf("a bad subscriber (%+v): "+format, append([]any{*f}, args...)...)
	}
	switch {
	case f.Failed != "":
		fault(&w.wrong, "%s", f.Failed)
	case !f.Dropped:
		fault(&w.harmed, "it was not dropped")
	case f.CloseCode != -1:
		fault(&w.harmed, "it was told a close code, and had taken nothing for 10 s")
	default:
		w.dropped++
	}
	for _, s := range f.Then {
		if d := logs[s.Conversation].differs(s); d != "" {
			fault(&w.wrong, "%s when it was dropped: %s", s.Conversation, d)
		}
		w.resumed -= int(s.Seq)
	}
	for _, s := range f.Now {
		w.later = append(w.later, s) // its cursor may be beyond these logs
		if s.Seq < f.Goal[s.Conversation] {
			fault(&w.wrong, "%s: it has come to %d of %d", s.Conversation, s.Seq, f.Goal[s.Conversation])
		}
		w.resumed += int(s.Seq)
	}
}

// quantiles are those of one window.
type quantiles struct {
	n        int
	p50, p99 time.Duration
}

func (w *slowWorld) quantiles(v window) quantiles {
	var all []time.Duration
	for _, f := range w.fast {
		for i, at := range f.sent {
			if v.from <= at && at < v.to {
				all = append(all, f.took[i])
			}
		}
	}
	return quantilesOf(all)
}

// judge compares the windows of each pair, and the memory.
func (w *slowWorld) judge(growth int64, delivered, acked int) {
	w.t.Helper()
	var p50s, p99s []float64
	for _, pair := range pairsOf(w.windows) {
		a, b := w.quantiles(pair[0]), w.quantiles(pair[1])
		w.t.Logf("p50 %s without the bad subscribers and %s with, p99 %s and %s (%d and %d deliveries)", a.p50, b.p50, a.p99,
			b.p99, a.n, b.n)
		enough(w.t, "deliveries in a window", min(a.n, b.n), *slowFast*int(*slowWindow/slowPace)/2)
		p50s, p99s = append(p50s, float64(b.p50)/float64(max(a.p50, 1))), append(p99s, float64(b.p99)/float64(max(a.p99, 1)))
	}
	p50, p99 := median(p50s), median(p99s)
	bad := *slowPairs * (*slowStopped + *slowTrickle)
	w.t.Logf("%d fast subscribers had %d deliveries of %d messages; of %d bad ones %d were dropped, the last after %s, and got %d events after that; p50 x%.2f, p99 x%.2f with them, the hub's memory %+.1f MiB",
		len(w.fast), delivered, acked, bad, w.dropped, w.slowest.Round(100*time.Millisecond), w.resumed, p50, p99,
		float64(growth)/(1<<20))
	if allowed := *slowDropped + max(*slowWindow-10*time.Second, 0); *slowDropped > 0 && w.slowest > allowed {
		w.harmed++
		w.t.Errorf("the bad subscribers were dropped after %s, expected %s at most", w.slowest, allowed)
	}
	if growth >= slowMemory {
		w.harmed++
		w.t.Errorf("the hub has grown by %.1f MiB with the bad subscribers, expected less than %d MiB",
			float64(growth)/(1<<20), slowMemory>>20)
	}
	if *slowWithin > 0 && p99 > 1+float64(*slowWithin)/100 {
		w.harmed++
		w.t.Errorf("p99 of the fast subscribers is %.2f times as long with the bad ones, expected %d%% more at most", p99,
			*slowWithin)
	}
	enough(w.t, "subscribers dropped", w.dropped, bad)
	enough(w.t, "events after the drop", w.resumed, bad)
	promise.ID(11).Kept(w.t, promise.Tried{
		Faults: bad, Operations: delivered, Violations: w.harmed,
		Figure: fmt.Sprintf("p99 x%.2f, memory %+.0f MiB", p99, float64(growth)/(1<<20)),
	})
	promise.ID(9).Kept(w.t, promise.Tried{Faults: w.dropped, Operations: delivered + w.resumed, Violations: w.wrong})
}

func median[N cmp.Ordered](all []N) N {
	slices.Sort(all)
	return all[len(all)/2]
}
