package cluster

import (
	"flag"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/promise"
)

var (
	faults  = flag.Int("cluster.faults", 2, "how many faults TestLogUnderFaults draws")
	cuts    = flag.Int("cluster.cuts", 1, "how often it cuts the power of all machines")
	lasts   = flag.Duration("cluster.lasts", 2*time.Second, "how long a fault lasts at most")
	seed    = flag.Uint64("cluster.seed", 0, "of the faults; 0, a new one")
	failing = flag.Bool("cluster.failing", false,
		"disks fail up to 20 ms before the power of their machine goes, and the machine is told so")
	keep = flag.String("cluster.keep", "",
		"directory, best an empty one, in which what the machines say stays, and the data of a run that fails")
)

// attacked are the promises that TestLogUnderFaults attacks.
var attacked = []promise.ID{1, 2, 3, 4, 5, 9}

// TestLogUnderFaults runs three hubs on three servers, with clocks ten minutes apart. Hubs and
// servers are killed, paused, disconnected, and lose their power. All earlier answers must remain
// true, and all hubs must give the same answers.
func TestLogUnderFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("short: three hubs under faults left out")
	}
	atSite(t, attacked, func(t *testing.T, at *apart) { attack(t, at, *cuts) },
		func(t *testing.T, at *loopback) { attack(t, at, 0) })
}

// attack attacks a cluster at a site.
func attack(t *testing.T, at site, cuts int) {
	drawn := drawSeed(t)
	start := time.Now()
	c := newCluster(t, at, false)
	t.Logf("three servers and three hubs are ready after %.1f s", time.Since(start).Seconds())
	w := newWorld(t, c)
	n := newNemesis(c, w, 100, drawn)
	n.harm(*faults, cuts)
	w.Settle()
	j := judge(w)
	sum := n.tell()
	j.tell(time.Since(start), n.worst)
	j.kept(sum)
	if kinds := len(n.kinds()); *faults >= kinds && len(n.drawn) < kinds {
		t.Errorf("only %d of %d kinds of faults were tried", len(n.drawn), kinds)
	}
}

// drawSeed returns the seed that was asked for, or a new one.
func drawSeed(t *testing.T) uint64 {
	t.Helper()
	drawn := *seed
	if drawn == 0 {
		drawn = uint64(time.Now().UnixNano())
	}
	t.Logf("-cluster.seed %d", drawn)
	return drawn
}
