package torture

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/promise"
)

// How many kills of a hub 'make test' does; more are asked for by hand.
var (
	sessionKills = flag.Int("sessions.kills", 3, "kills of the hub while sessions run")
	sessionSeed  = flag.Uint64("sessions.seed", 0, "of the moments of the kills; 0, a new one")
)

// longestAfter is how long after the beginning of a phase the hub is killed at the latest.
var longestAfter = [phases]time.Duration{
	starting: 60 * time.Millisecond, running: 150 * time.Millisecond, finishing: 80 * time.Millisecond,
	calling: 30 * time.Millisecond,
}

// TestCallbacksUnderKills ends ten children at once while their parent conversation is busy, and
// kills the hub repeatedly while the runner lives. Each command runs once, and each end is posted
// once.
func TestCallbacksUnderKills(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the kills of hubs with sessions left out")
	}
	seed := *sessionSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-sessions.seed %d", seed)
	rng, begun, kills := rand.New(rand.NewPCG(seed, 0)), time.Now(), *sessionKills
	f := newFamily(t, "--capacity", "16")
	var rounds []*round
	fell := map[phase]int{}
	for n := range kills {
		r := f.newRound(n, n%2 == 0)
		rounds = append(rounds, r)
		at := phase(rng.IntN(int(phases)))
		fell[at]++
		f.playAndKill(r, at, time.Duration(rng.Int64N(int64(longestAfter[at]))))
	}
	took := time.Since(begun)
	f.end()
	logs, ran := exported(t, f.dir), f.ran()
	messages := 0
	for _, r := range rounds {
		n, err := r.judge(logs, ran)
		if err != nil {
			t.Errorf("%s: %v", r.parent, err)
		}
		messages += n
	}
	if len(ran) != children*kills {
		t.Errorf("%d sessions have run a command, expected %d", len(ran), children*kills)
	}
	t.Logf("%d kills (%d while sessions were started, %d while they ran, %d while they ended, %d at the callbacks), %d sessions, in %d messages, in %.0f s",
		kills, fell[starting], fell[running], fell[finishing], fell[calling], len(ran), messages, took.Seconds())
	promise.ID(13).Kept(t, promise.Tried{Faults: kills, Operations: len(ran), Violations: promise.Broken(t)})
}

// playAndKill plays a round and kills the hub some time after a phase began.
func (f *family) playAndKill(r *round, at phase, after time.Duration) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), slowestRound)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.play(ctx) }()
	select {
	case <-r.reached[at]:
	case err := <-ended:
		select {
		case <-r.reached[at]: // it was quick
			ended <- err
		default:
			f.t.Fatalf("the round has ended before phase %d: %v", at, err)
		}
	}
	time.Sleep(after) // the blow falls at random
	f.hub.Kill(f.t)
	f.hub = startDuelHub(f.t, f.dir, address(f.hub))
	if err := <-ended; err != nil {
		f.t.Fatalf("the hub was killed %s after the begin of phase %d: %v", after, at, err)
	}
}

// end stops the runner and the hub, and finds no process that is left.
func (f *family) end() {
	f.t.Helper()
	f.runner.Stop(f.t)
	f.boss.Close()
	f.hub.Stop(f.t)
	f.await("no process is left of what was run in "+f.dir, func() bool { return len(processesIn(f.t, f.dir)) == 0 })
}

// judge checks the logs of a parent and its children, and counts the messages about the children.
func (r *round) judge(logs map[string][]parley.Event, ran map[string]int) (messages int, err error) {
	k := newKinship()
	for i := range logs[r.parent] {
		if err := k.take(&logs[r.parent][i]); err != nil {
			return 0, err
		}
	}
	if len(k.started) != children || len(k.ended) != children || len(k.told) != children {
		return 0, fmt.Errorf("%d were started, %d have ended, %d were told, expected %d", len(k.started), len(k.ended),
			len(k.told), children)
	}
	if r.patient && k.tellers != 1 {
		return 0, fmt.Errorf("%d messages tell of what had ended before, expected one", k.tellers)
	}
	for n, id := range r.ids {
		c, told := k.told[id]
		switch {
		case !told:
			return 0, fmt.Errorf("child %d, %s, was not told", n, id)
		case ran[id] != 1:
			return 0, fmt.Errorf("the command of child %d, %s, was run %d times", n, id, ran[id])
		}
		if err := wantResult(&c, n); err != nil {
			return 0, err
		}
		if err := oneRun(logs[id]); err != nil {
			return 0, fmt.Errorf("child %d, %s: %w", n, id, err)
		}
	}
	last := logs[r.parent][len(logs[r.parent])-1]
	if m, err := last.Message(); err != nil || last.Finality != parley.FinalityConversation ||
		!strings.HasPrefix(m.Text, "thank") {
		return 0, fmt.Errorf("it does not end with the words of the boss: %s", last.Payload)
	}
	return k.tellers, nil
}
