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

var kills = flag.Int("power.kills", 4, "how often TestKills kills the hub")

const (
	// seasonRounds is how many rounds the same conversations are used, and leastAppends to twice that how many appends a round has before its fault.
	seasonRounds = 3
	leastAppends = 500
	// stopEvery: each so manieth round ends by SIGTERM, which the hub must follow within stopTime; it gives itself 10 s.
	stopEvery = 5
	stopTime  = 30 * time.Second
)

// rounds is the load between the faults of a world.
type rounds struct {
	done     int
	slowest  float64
	slowStop time.Duration
	stops    int
	start    time.Time
}

// load lets the users of a world work until a random number of appends was acknowledged, and a moment more. The seasons change beside it.
func (r *rounds) load(w *world) {
	w.t.Helper()
	if r.done == 0 {
		r.start = time.Now()
	} else if r.done%seasonRounds == 0 {
		w.newSeason()
	}
	r.done++
	rate := w.load(leastAppends + rand.Int64N(leastAppends))
	if rate < minRate {
		w.t.Fatalf("round %d: %.0f appends/s: too little to prove anything", r.done, rate)
	}
	if r.slowest == 0 || rate < r.slowest {
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
	w.change(func(m *moment) { w.stopped[m.life] = true })
	start := time.Now()
	h.Terminate(w.t)
	if code := h.Ended(w.t, stopTime); code != 0 {
		w.t.Fatalf("exit code %d after SIGTERM, expected 0\n%s", code, h.Stderr())
	}
	r.stops++
	r.slowStop = max(r.slowStop, time.Since(start))
}

// TestKills: a hub under load is killed at any moment, and stopped now and then; whatever it has told anybody stays true.
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
	w.settle()
	j := w.judge()
	w.now.hub.Stop(t)
	t.Log(verify(t, dir))
	w.tell(j, &r, fmt.Sprintf("%d kills and %d stops", *kills, r.stops))
	w.keptAll(j, *kills)
	if n := w.unsaid.Load(); n > 0 {
		j.Broke(18, "%d appends were made by a hub that was stopped, and not answered", n)
	}
	if r.stops > 0 {
		j.Kept(18, promise.Tried{
			Faults: r.stops, Operations: j.Acked, Unknown: int(w.cutOff.Load()), Figure: fmt.Sprintf("slowest drain %.1f s", r.slowStop.Seconds()),
		})
	}
}

// keptAll says how hard the promises of the log were tried.
func (w *world) keptAll(j *judge, faults int) {
	w.t.Helper()
	found, conflicts, refused := 0, 0, 0
	for _, a := range w.writers {
		found, conflicts, refused = found+a.found, conflicts+a.conflicts, refused+a.refused
	}
	if j.Lost == 0 || found == 0 || conflicts == 0 || refused == 0 || j.Closed == 0 || j.files == 0 {
		w.t.Errorf("%d answers lost, %d old messages said again, %d keys taken, %d late ones refused, %d conversations closed, %d files: the run proves too little",
			j.Lost, found, conflicts, refused, j.Closed, j.files)
	}
	j.Kept(1, promise.Tried{Faults: faults, Operations: j.Acked + j.files, Unknown: j.Lost, Figure: fmt.Sprintf("%d appends and %d files", j.Acked, j.files)})
	j.Kept(2, promise.Tried{Faults: faults, Operations: j.Never, Unknown: j.Lost})
	j.Kept(3, promise.Tried{Faults: faults, Operations: found + conflicts, Unknown: j.Lost})
	j.Kept(4, promise.Tried{Faults: faults, Operations: j.Ops, Unknown: j.Lost})
	j.Kept(5, promise.Tried{
		Faults: faults, Operations: j.Closed + int(w.shut.Load()), Unknown: j.Lost, Figure: fmt.Sprintf("%d conversations closed under their writers", j.Closed),
	})
}

// tell sums a run up.
func (w *world) tell(j *judge, r *rounds, faults string) {
	w.t.Helper()
	w.t.Logf("%s: %d appends acknowledged (slowest round %.0f/s), %d answers lost, %d refused, %d conversations closed, %d files, %d calls judged, in %.0f s",
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
