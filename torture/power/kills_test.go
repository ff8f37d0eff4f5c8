package power

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
)

var (
	kills   = flag.Int("power.kills", 2, "how often TestKills kills the hub")
	appends = flag.Int64("power.appends", 250, "appends before each fault at least, up to twice as many")
)

const (
	// stopEvery: one of so many rounds ends with SIGTERM. stopTime detects a hub that hangs then; the
	// hub allows itself 10 s.
	stopEvery = 3
	stopTime  = 2 * time.Minute
)

// rounds is the load between the faults of a world.
type rounds struct {
	done     int
	slowest  float64
	slowStop time.Duration
	stops    int
	start    time.Time
}

// load waits for a random number of appends, and a moment more. Too few reads beside them fail the
// test.
func (r *rounds) load(w *world) {
	w.t.Helper()
	if r.done == 0 {
		r.start = time.Now()
	}
	r.done++
	n, reads, start := *appends+rand.Int64N(*appends), w.Reads(), time.Now()
	w.Await(n, hangTime)
	if reads := w.Reads() - reads; reads < minReads {
		w.t.Fatalf("%d reads beside %d appends: too few to prove anything", reads, n)
	}
	if rate := float64(n) / time.Since(start).Seconds(); r.slowest == 0 || rate < r.slowest {
		r.slowest = rate
	}
	pause(3 * time.Millisecond)
}

// pause is the pace of who does the harm: up to most.
func pause(most time.Duration) { time.Sleep(rand.N(most)) }

// stop ends the hub by SIGTERM, which it must follow cleanly and in time.
func (r *rounds) stop(w *world) {
	w.t.Helper()
	h := w.harm()
	w.stopped[w.life] = true
	start := time.Now()
	h.Terminate(w.t)
	if code := h.Ended(w.t, stopTime); code != 0 {
		w.t.Fatalf("exit code %d after SIGTERM, expected 0\n%s", code, h.Stderr())
	}
	r.stops++
	r.slowStop = max(r.slowStop, time.Since(start))
}

// TestKills kills a hub under load at any moment, and stops it sometimes. All earlier answers must
// remain true.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("short: kill -9 under load left out")
	}
	dir := t.TempDir()
	w := newWorld(t, func() *hubproc.Hub { return program.Start(t, dir) })
	var r rounds
	for n := 0; n < *kills; {
		r.load(w)
		if r.done%stopEvery == stopEvery-1 {
			r.stop(w)
		} else {
			w.harm().Kill(t)
			n++
		}
		w.restart()
	}
	w.Settle()
	j := w.judge()
	w.hub.Stop(t)
	t.Log(verify(t, dir))
	w.logSum(j, &r, fmt.Sprintf("%d kills and %d stops", *kills, r.stops))
	w.kept(j, *kills)
	w.keptStops(j, &r)
}

// kept reports the promises of the log.
func (w *world) kept(j *judge, faults int) {
	w.t.Helper()
	if j.files == 0 {
		w.t.Error("no file was uploaded: the run proves too little")
	}
	w.Kept(j.Ledger, faults, j.files, fmt.Sprintf("%d appends and %d files", j.Acked, j.files))
}

// keptStops reports whether the hubs that were stopped answered all that they wrote (P18).
func (w *world) keptStops(j *judge, r *rounds) {
	w.t.Helper()
	cutOff, unsaid := 0, 0 // appends that a stopped hub did not answer, and those of them that it wrote
	for _, m := range w.Said() {
		if !w.stopped[m.LostBy] {
			continue
		}
		cutOff++
		if m.Found && m.Lost == 1 {
			unsaid++
		}
	}
	if unsaid > 0 {
		j.Broke(18, "a hub that was stopped wrote %d appends without an answer", unsaid)
	}
	if r.stops > 0 {
		j.Kept(18, promise.Tried{
			Faults: r.stops, Operations: j.Acked, Unknown: cutOff, Figure: fmt.Sprintf("slowest drain %.1f s",
				r.slowStop.Seconds()),
		})
	}
}

// logSum logs the figures of a run.
func (w *world) logSum(j *judge, r *rounds, faults string) {
	w.t.Helper()
	w.t.Logf("%s: %d appends acknowledged (slowest round %.0f/s), %d answers lost, %d refused, %d conversations closed, %d files, %d calls checked, in %.0f s",
		faults, j.Acked, r.slowest, j.Lost, j.Never, j.Closed, j.files, j.Ops, time.Since(r.start).Seconds())
}

// verify checks the log itself, and an export of it.
func verify(t *testing.T, dir string) string {
	t.Helper()
	checked := program.Run(t, "log", "verify", "--data", dir)
	export := filepath.Join(t.TempDir(), "export.jsonl")
	if err := os.WriteFile(export, []byte(program.Run(t, "log", "export", "--data", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, "log", "verify", export)
	return strings.TrimSpace(checked)
}
