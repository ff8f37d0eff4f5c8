package hub

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The duel: several replicas of an agent fight for its turns, on three hubs that share a journal, each of which reads a replica of it that lags, with clocks ten minutes apart,
// while hubs crash, commits are lost and storage is full. It is inside the package because no option makes a clock wrong.
//
// What everybody does comes from the seed, and time is not real; only the order of what happens at the same instant, and the jitter of backoff, do not.

var (
	duelSeeds = flag.Int("duel.seeds", 40, "how many duels TestDuel plays")
	duelFirst = flag.Bool("duel.first", false, "end TestDuel with the first duel that has a problem")
	duelSeed  = flag.Uint64("duel.seed", 0, "the one duel that TestDuel plays and shows; 0 is all of them")
)

// TestDuel passes if each turn has one final message under the current claim, callers were answered
// with what the log has, and turns proceed.
func TestDuel(t *testing.T) {
	if *duelSeed != 0 {
		r := play(t, *duelSeed, "")
		t.Logf("%v\n%s", r, strings.Join(r.story, "\n"))
		report(t, *duelSeed, r)
		return
	}
	seeds := *duelSeeds
	if testing.Short() {
		seeds = min(seeds, 6)
	}
	began := time.Now()
	total := playAll(t, seeds, "", func(t *testing.T, seed uint64, r result) { report(t, seed, r) })
	spent := time.Since(began)
	t.Logf("%d seeds: %v; %.0f seeds/s", seeds, total, float64(seeds)/spent.Seconds())
	if total.unjudged > int64(max(1, seeds/100)) {
		t.Errorf("the model could not judge %d duels", total.unjudged)
	}
	if total.turns < int64(20*seeds) {
		t.Errorf("%d turns are too few", total.turns)
	}
	if seeds < 40 {
		return
	}
	if n := int64(seeds); total.takeovers < 2*n || total.crashes < 3*n || total.lapses < 4*n {
		t.Errorf("%d takeovers, %d crashes and %d lapses are too few to prove anything", total.takeovers, total.crashes, total.lapses)
	}
}

func report(t *testing.T, seed uint64, r result) {
	for i, p := range r.problems {
		if i == 5 {
			t.Errorf("seed %d: and %d more", seed, len(r.problems)-i)
			break
		}
		t.Errorf("seed %d: %s", seed, p)
	}
}

// playAll plays the duels of some seeds, as many at once as there are processors.
func playAll(t *testing.T, seeds int, plant string, each func(*testing.T, uint64, result)) result {
	var mu sync.Mutex
	var total result
	var last atomic.Uint64
	t.Run("seeds", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for seed := last.Add(1); seed <= uint64(seeds); seed = last.Add(1) {
					r := play(t, seed, plant)
					each(t, seed, r)
					mu.Lock()
					total.add(r)
					mu.Unlock()
					if *duelFirst && len(r.problems) > 0 {
						last.Store(uint64(seeds))
					}
				}
			})
		}
	})
	return total
}

// play plays one duel.
func play(t *testing.T, seed uint64, plant string) result {
	var d *duel
	synctest.Test(t, func(t *testing.T) {
		d = newDuel(t, seed, plant)
		d.play()
	})
	return d.judge()
}

// result is the result of a duel.
type result struct {
	turns, claims, takeovers, lapses int64
	crashes, losses, fulls           int64
	unjudged                         int64 // duels whose history was too tangled for the model in the time it had
	worstTurn, worstOffer            time.Duration
	problems                         []string
	story                            []string // the logs, in words
}

func (r *result) add(o result) {
	r.turns += o.turns
	r.claims += o.claims
	r.takeovers += o.takeovers
	r.lapses += o.lapses
	r.crashes += o.crashes
	r.losses += o.losses
	r.fulls += o.fulls
	r.unjudged += o.unjudged
	r.worstTurn, r.worstOffer = max(r.worstTurn, o.worstTurn), max(r.worstOffer, o.worstOffer)
	r.problems = append(r.problems, o.problems...)
}

func (r result) String() string {
	return fmt.Sprintf("%d turns of agents, %d claims, %d takeovers, %d lapses, %d crashes of hubs, %d lost commits, %d times no room; longest turn %v, longest wait beyond the backoff for a new offer %v; %d not judged by the model",
		r.turns, r.claims, r.takeovers, r.lapses, r.crashes, r.losses, r.fulls, r.worstTurn, r.worstOffer, r.unjudged)
}
