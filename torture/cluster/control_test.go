package cluster

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/torture/ledger"
)

// controls: a disk may write unsynced data by itself, so the control is tried again.
var controls = flag.Int("cluster.controls", 0,
	"how often TestPowerCutWithoutSync tries to lose something; 0 leaves it out")

// partTime is how long an export is tried again that ends with an error after some of the log:
// servers that are not back yet are no loss, a log that stays broken is one.
const partTime = 20 * time.Second

// TestPowerCutWithoutSync is the control: servers that do not wait for their disks must lose, with
// the power of all, something that was acknowledged; else the cuts of TestLogUnderFaults prove
// nothing.
func TestPowerCutWithoutSync(t *testing.T) {
	if testing.Short() {
		t.Skip("short: three hubs without power left out")
	}
	if *controls == 0 {
		t.Skip("-cluster.controls 0: the control is part of make torture")
	}
	for n := range *controls {
		var lost, acked int
		if !t.Run("cut", func(t *testing.T) { lost, acked = loseSome(t, newApart(t, servers+hubs, 1), uint64(n)) }) {
			return
		}
		t.Logf("control %d: %d of %d acknowledged appends are lost", n+1, lost, acked)
		if lost > 0 || acked == 0 { // or it was left out
			return
		}
	}
	t.Errorf("servers that do not wait for their disks have lost nothing in %d cuts: they prove nothing", *controls)
}

// loseSome cuts the power once, and counts what is lost.
func loseSome(t *testing.T, at *apart, seed uint64) (lost, acked int) {
	t.Helper()
	c := newCluster(t, at, true)
	at.sync() // so that there is a log to look into
	w := newWorld(t, c)
	n := newNemesis(c, w, 500, seed)
	n.more(n.much, backTime)
	n.cutNow()
	w.End()
	c.launch(c.servers)
	var there *ledger.Logs
	for begun := time.Now(); ; time.Sleep(readyEvery) {
		var err error
		if there, err = c.export(); err == nil {
			break
		}
		t.Logf("after the cut: %v", err)
		if strings.Contains(err.Error(), "there is no stream") {
			break // all of it is lost
		}
		if len(there.Events) > 0 && time.Since(begun) > partTime {
			t.Logf("no export comes to its end: what the last one has of %d conversations counts as the log", len(there.Events))
			break
		}
		if time.Since(begun) > readyTime {
			t.Fatal("the servers are not back")
		}
		for _, m := range c.servers {
			m.check()
		}
	}
	return w.Lost(there)
}
