package torture

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/torture/duel"
)

// The duel's size. 'make duel' asks for more than the defaults, which 'make test' runs.
var (
	duelTurns     = flag.Int64("duel.turns", 200, "turns of the agent")
	duelTakeovers = flag.Int("duel.takeovers", 10, "fewer takeovers than this are a failure")
	duelReoffer   = flag.Duration("duel.reoffer", 0,
		"time in which a turn is claimed again after a lapse, besides the pause after failures; 0 only logs it")
	duelSeed = flag.Uint64("duel.seed", 0, "of the moments of blows; 0, a new one")
)

const (
	duelReplicas      = 8
	duelConversations = 12
	// slowestTurn detects a hang while a question waits for its answer.
	slowestTurn = 5 * time.Minute
)

// TestDuel runs eight replicas of an agent, each as a process, that answer a person in several
// conversations at once. Replicas and their hub are stopped and killed. Then the test checks the
// log and all answers to callers.
func TestDuel(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the duel left out")
	}
	seed := *duelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-duel.seed %d", seed)
	start := time.Now()
	d := newDuel(t, seed)
	defer d.chaos.end()
	d.run()
	d.took = time.Since(start)
	t.Logf("the duel took %.0f s; %d stops, %d kills, %d kills of the hub", d.took.Seconds(), d.chaos.stops,
		d.chaos.kills, d.chaos.hubKills)
	d.judge()
}

// contest is one run.
type contest struct {
	t       *testing.T
	dir     string
	chaos   *chaos
	driver  *duel.Recorder
	records string // the driver's file
	ids     []string
	took    time.Duration
}

func newDuel(t *testing.T, seed uint64) *contest {
	t.Helper()
	d := &contest{t: t, dir: t.TempDir()}
	d.records = filepath.Join(d.dir, "driver.jsonl")
	d.chaos = &chaos{t: t, rng: rand.New(rand.NewPCG(seed, 0)), dir: d.dir, hub: startDuelHub(t, d.dir, "127.0.0.1:0")}
	ctx := t.Context()
	c, err := sdk.Dial(ctx, d.chaos.hub.URL, &sdk.Options{Token: hubproc.Token, AgentID: duel.Driver, MaxBackoff: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	made, err := c.CreateToken(ctx, &parley.CreateTokenParams{AgentID: duel.Agent})
	if err != nil {
		t.Fatal(err)
	}
	d.chaos.token = made.Token
	f, err := os.Create(d.records)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	d.driver = duel.NewRecorder(c, duel.Driver, f)
	for i := range duelConversations {
		id := fmt.Sprintf("duel-%d", i)
		if err := duel.Create(ctx, c, id); err != nil {
			t.Fatal(err)
		}
		d.ids = append(d.ids, id)
	}
	return d
}

// run lets everybody speak until enough was said, under blows; then the replicas end kindly.
func (d *contest) run() {
	d.t.Helper()
	for i := range duelReplicas {
		r := &replica{id: fmt.Sprintf("replica-%d", i)}
		d.chaos.replicas = append(d.chaos.replicas, r)
		d.chaos.start(r)
	}
	var left atomic.Int64
	left.Store(*duelTurns)
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	failed := make(chan error, len(d.ids))
	var wg sync.WaitGroup
	for _, id := range d.ids {
		wg.Go(func() {
			if err := duel.Drive(ctx, d.driver, id, &left, slowestTurn); err != nil {
				failed <- err
				cancel()
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	for next := time.After(0); ; {
		select {
		case <-ended:
			close(failed)
			for err := range failed {
				d.t.Error(err)
			}
			return
		case <-next:
			next = time.After(d.chaos.work())
		}
	}
}

// judge checks the log and the answers to callers.
func (d *contest) judge() {
	t := d.t
	t.Helper()
	d.chaos.endKindly()
	tails := map[string][]parley.Event{}
	for _, id := range d.ids {
		events, err := duel.TailAll(t.Context(), d.driver.Client, id)
		if err != nil {
			t.Fatal(err)
		}
		tails[id] = events
	}
	d.driver.Client.Close()
	d.chaos.hub.Stop(t)
	files := exported(t, d.dir)
	for _, id := range d.ids {
		if err := duel.SameLog(tails[id], files[id]); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	turns, takeovers, lapses := duel.CountAll(t, d.ids, files)
	ops := d.history()
	for _, o := range duel.Missing(ops, files) {
		t.Errorf("acknowledged, and not in the log: %s", o)
	}
	worst := d.judgeLapses(lapses)
	begun := time.Now()
	if err := history.CheckTurns(ops, 2*time.Minute); err != nil {
		t.Error(err)
	}
	t.Logf("%d turns of the agent, %d takeovers, %d lapses; %d calls judged by the model in %s", turns, takeovers,
		len(lapses), len(ops),
		time.Since(begun).Round(time.Millisecond))
	if c := d.chaos; c.stops == 0 || c.kills == 0 || c.hubKills == 0 {
		t.Error("not every kind of blow has fallen")
	}
	if int64(turns) < *duelTurns || takeovers < *duelTakeovers {
		t.Errorf("%d turns and %d takeovers: expected %d and %d", turns, takeovers, *duelTurns, *duelTakeovers)
	}
	blows := d.chaos.stops + d.chaos.kills + d.chaos.hubKills
	tried := promise.Tried{Faults: blows, Operations: turns, Violations: promise.Broken(t)}
	promise.ID(6).Kept(t, tried)
	promise.ID(7).Kept(t, tried)
	tried.Operations, tried.Figure = len(lapses), fmt.Sprintf("slowest takeover %s after the pause",
		worst.Round(time.Millisecond))
	promise.ID(8).Kept(t, tried)
}

// history reads what all processes wrote, and notes when replicas were registered.
func (d *contest) history() []history.Op {
	d.t.Helper()
	all, _ := duel.ReadRecords(d.t, d.records)
	for _, r := range d.chaos.replicas {
		ops, times := duel.ReadRecords(d.t, r.files...)
		all = append(all, ops...)
		for _, at := range times {
			d.chaos.moments = append(d.chaos.moments, moment{at: at, replica: r.id, blow: registered})
		}
	}
	return all
}

// judgeLapses reports how soon turns were claimed again, and returns the longest lapse beyond the
// pause after failures.
func (d *contest) judgeLapses(lapses []duel.Lapse) (worst time.Duration) {
	d.t.Helper()
	p := presenceOf(d.chaos.moments)
	if there := p.sum(); *duelReoffer > 0 && there < d.took/2 {
		d.t.Errorf("a replica was there for %s of %s: too little to prove anything", there, d.took)
	}
	reasons := map[string]int{}
	for _, l := range lapses {
		reasons[l.Reason]++
		waited, pause := p.waited(l), backoffOf(l.Attempt-1)
		worst = max(worst, waited-pause)
		if *duelReoffer > 0 && waited > *duelReoffer+pause {
			d.t.Errorf("a claim that ended (%s) at %d was followed by another (attempt %d) after %s with a replica there: expected %s",
				l.Reason, l.Ended, l.Attempt, waited, *duelReoffer+pause)
		}
	}
	d.t.Logf("from claim_ended to turn_claimed, while a replica was registered and ran, at most the pause after failures and %s", worst.Round(time.Millisecond))
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		d.t.Logf("  %d claims ended: %s", reasons[reason], reason)
	}
	return worst
}
