//go:build linux

package disk

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/faultfs"
)

var sweepPoints = flag.Int("disk.points", 20,
	"operations that TestEveryFailure lets fail, spread over all; 0: every one")

const (
	// sweepAppends is how many appends each of the two writers makes.
	sweepAppends = 100
	// sweepLanes is how many hubs there are at once.
	sweepLanes = 2
	// afterwards is how many appends are sent to show how the hub continues after a fault, at every
	// other point.
	afterwards = 6
	// endTimeout detects a hub that hangs instead of ending.
	endTimeout = 2 * time.Minute
)

// The ways in which each kind of operation fails, taken in turn.
var ways = map[faultfs.Kind][]faultfs.Fault{
	faultfs.Write:    {{}, {Done: true}, {Errno: syscall.ENOSPC}, {Errno: syscall.ENOSPC, Short: true}, {Errno: syscall.ENOSPC, Done: true}},
	faultfs.Sync:     {{}, {Lost: true}, {Errno: syscall.ENOSPC}, {Errno: syscall.ENOSPC, Lost: true}},
	faultfs.Truncate: {{}, {Errno: syscall.ENOSPC}, {Done: true}},
}

// target is a part of all operations.
type target struct {
	name string
	kind faultfs.Kind
	of   func(faultfs.Op) bool
	rare bool // there may be none
}

// logMeta is where the pages of log.db end that say which of the others count.
const logMeta = 32 << 10

// targets are all operations, each once.
var targets = []target{
	{name: "write of a record", kind: faultfs.Write, of: func(op faultfs.Op) bool {
		return isLog(op) &&
			op.Offset >= logMeta
	}},
	{name: "write of what makes records count", kind: faultfs.Write,
		of: func(op faultfs.Op) bool { return isLog(op) && op.Offset < logMeta }},
	{name: "sync of the log", kind: faultfs.Sync, of: isLog},
	{name: "truncate", kind: faultfs.Truncate, of: func(faultfs.Op) bool { return true }},
	{name: "write of a file", kind: faultfs.Write, of: isFile},
	{name: "sync of a file", kind: faultfs.Sync, of: isFile},
	{name: "write of the index", kind: faultfs.Write, of: isIndex, rare: true},
	{name: "sync of the index", kind: faultfs.Sync, of: isIndex, rare: true},
}

func isLog(op faultfs.Op) bool   { return filepath.Base(op.Path) == "log.db" }
func isIndex(op faultfs.Op) bool { return filepath.Base(op.Path) == "index.db" }
func isFile(op faultfs.Op) bool  { return !isLog(op) && !isIndex(op) }

// point is one of them.
type point struct {
	target string
	faultfs.Fault
	rare bool // another run may not come to it
}

func (p point) String() string { return p.target + ": " + p.Fault.String() }

// Each write, each sync and each truncate of 200 appends fails once in turn, each under its own
// hub.
func TestEveryFailure(t *testing.T) {
	needFaults(t, 1, 2, 3)
	start := time.Now()
	prepared := prepare(t, "a", "b")
	ops := countOperations(t, prepared)
	points := choosePoints(t, ops, *sweepPoints)
	var mu sync.Mutex
	var sum tally
	missed, unexpected := 0, 0
	t.Run("lanes", func(t *testing.T) {
		for lane := range sweepLanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				m := faultfs.Mount(t, t.TempDir())
				for i := lane; i < len(points); i += sweepLanes {
					got, hit := tryPoint(t, m, prepared, i, points[i])
					mu.Lock()
					sum.add(got)
					if !hit {
						missed++
						if !points[i].rare {
							unexpected++
						}
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d operations of %d appends; %d of them failed in turn, %d were not reached; %d acknowledged, %d refused, %d unknown of which the log had %d; %d retries, %d events told, in %.0f s",
		len(ops), 2*sweepAppends, sum.faults, missed, sum.acked, sum.refused, sum.unknown, sum.found, sum.retries, sum.shown,
		time.Since(start).Seconds())
	if unexpected > len(points)/10 || sum.unknown == 0 || sum.refused == 0 || sum.shown == 0 {
		t.Errorf("too little to prove anything: %+v of %d points", sum, len(points))
	}
	promise.ID(1).Kept(t, sum.tried(sum.acked))
	promise.ID(2).Kept(t, sum.tried(sum.acked+sum.refused+sum.unknown))
	promise.ID(3).Kept(t, sum.tried(sum.retries))
}

// countOperations lets the writers work without a fault.
func countOperations(t *testing.T, prepared string) []faultfs.Op {
	t.Helper()
	m := faultfs.Mount(t, t.TempDir())
	copyDir(t, prepared, filepath.Join(m.Under, "data"))
	h := program.Start(t, filepath.Join(m.Dir, "data"))
	m.Heal()
	ws := sweepWriters()
	var failed atomic.Bool
	load(t, ws, func(w *writer) error { return w.work(h, &failed, always) })
	counts, ops := m.Counts(), m.Ops()
	for _, w := range ws {
		for _, a := range w.appends {
			if a.outcome != acked {
				t.Fatalf("without a fault: %s: %v", a.key, a.err)
			}
		}
	}
	h.Kill(t)
	if counts[faultfs.Write] < sweepAppends || counts[faultfs.Sync] < sweepAppends || counts[faultfs.Truncate] == 0 {
		t.Fatalf("%s: too few to prove anything", counts)
	}
	return ops
}

func sweepWriters() []*writer {
	return []*writer{newWriter("a", conversations[0], sweepAppends), newWriter("b", conversations[1], sweepAppends)}
}

// load lets all writers work at once.
func load(t *testing.T, ws []*writer, work func(*writer) error) {
	t.Helper()
	var wg sync.WaitGroup
	for _, w := range ws {
		wg.Go(func() {
			if err := work(w); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// choosePoints returns n of the operations that there are, as many of each target; with 0 all.
func choosePoints(t *testing.T, ops []faultfs.Op, n int) []point {
	t.Helper()
	var points []point
	left := len(ops)
	for _, target := range targets {
		var all []point
		for _, op := range ops {
			if op.Kind != target.kind || !target.of(op) {
				continue
			}
			i, ways := len(all), ways[target.kind]
			f := ways[(i+i/len(ways))%len(ways)] // a commit has about as many operations as there are ways
			f.Kind, f.Of, f.Nth = target.kind, target.of, i+1
			all = append(all, point{target.name, f, target.rare})
		}
		if len(all) == 0 && !target.rare {
			t.Fatalf("there is no %s", target.name)
		}
		left -= len(all)
		if some := (n + len(targets) - 1) / len(targets); n > 0 && some < len(all) {
			all = spread(all, some)
		}
		points = append(points, all...)
	}
	if left != 0 {
		t.Fatalf("%d of %d operations are of no target, or of two", left, len(ops))
	}
	return points
}

// spread returns n of all, one at random of each nth part.
func spread(all []point, n int) []point {
	var some []point
	for i := range n {
		from, to := i*len(all)/n, (i+1)*len(all)/n
		some = append(some, all[from+rand.IntN(to-from)])
	}
	return some
}

// tryPoint makes one operation fail under a hub, and compares the hub's answers with the state that
// the next hub finds.
func tryPoint(t *testing.T, m *faultfs.FS, prepared string, i int, p point) (tally, bool) {
	t.Helper()
	name := fmt.Sprint("data-", i)
	under := filepath.Join(m.Under, name)
	copyDir(t, prepared, under)
	defer os.RemoveAll(under)
	h := program.Start(t, filepath.Join(m.Dir, name))
	told := watch(t, h)
	m.Fail(p.Fault)
	ws := sweepWriters()
	var failed atomic.Bool
	var more atomic.Int64
	var alone sync.Mutex
	quiet := i/4%2 == 0
	load(t, ws, func(w *writer) error {
		return w.work(h, &failed, func(do func()) bool {
			if quiet { // the next append could write over what should not be there
				alone.Lock()
				defer alone.Unlock()
			}
			if m.Hit() && (quiet || more.Add(1) > afterwards) {
				return false
			}
			return always(do)
		})
	})
	hit := m.Hit()
	m.Heal()
	switch {
	case failed.Load():
		if code := h.Ended(t, endTimeout); code != 1 {
			t.Errorf("after %s: the hub has ended with code %d, expected 1\n%s", p, code, h.Stderr())
		}
	case i%4 < 2: // in both lanes
		h.Stop(t)
	default:
		h.Kill(t)
	}
	j := &judge{t: t, after: p.String()}
	events := told.told()
	verifyLog(t, under, p)
	h = program.Start(t, under)
	j.all(h, ws, events)
	h.Kill(t)
	if hit {
		j.faults = 1
	}
	return j.tally, hit
}

// verifyLog checks every record and file, as parley log verify does.
func verifyLog(t *testing.T, dir string, after fmt.Stringer) {
	t.Helper()
	j, err := bolt.Open(dir, nil)
	if err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	if _, err := j.Verify(t.Context()); err != nil {
		t.Errorf("after %s: %v", after, err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("after %s: %v", after, err)
	}
}
