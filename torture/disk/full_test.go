//go:build linux

package disk

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
)

var fullRounds = flag.Int("disk.rounds", 2, "times that TestDiskFull fills the disk")

const (
	// fullAppends is how many appends of each writer come before the disk is full in a round, and
	// fullRefusals how many refusals each gets then.
	fullAppends  = 20
	fullRefusals = 3
	// fullTries limits the appends until a writer fills the disk. Free space inside the log file is
	// used first.
	fullTries = 300
	// fullBytes is the size of the disk, and fullRoundBytes how much more there is for each round.
	fullBytes      = 24 << 20
	fullRoundBytes = 4 << 20
)

// TestDiskFull fills the disk and then frees space. Refused appends are not in the log, reads
// continue, and appends continue without a restart.
func TestDiskFull(t *testing.T) {
	mount := t.TempDir()
	size := fmt.Sprint("size=", fullBytes+*fullRounds*fullRoundBytes)
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, size); err != nil {
		promise.Left(t, fmt.Sprintf("needs root: mount of a tmpfs: %v", err), 1, 2, 3)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ids := []string{"a", "b", "c", "d"}
	dir := filepath.Join(mount, "data")
	copyDir(t, prepare(t, ids...), dir)
	f := &fullDisk{judge: judge{t: t}, h: program.Start(t, dir), ballast: filepath.Join(mount, "ballast")}
	for i, id := range ids {
		f.ws = append(f.ws, &filler{writer: newWriter(id, conversations[i%2], 0)})
	}
	told := watch(t, f.h)
	for round := range *fullRounds {
		f.after = fmt.Sprintf("round %d", round)
		f.each(func(w *filler) error { return w.fill(f.h, fullAppends) })
		f.fill()
		f.each(func(w *filler) error { return w.refusals(f.h) })
		f.look()
		if err := os.Remove(f.ballast); err != nil {
			t.Fatal(err)
		}
		f.each(func(w *filler) error { return w.again(f.h) })
		f.ready(http.StatusOK, "ok")
	}
	events := told.told()
	f.h.Stop(t)
	verifyLog(t, dir, f)
	f.h = program.Start(t, dir)
	var ws []*writer
	again := 0
	for _, w := range f.ws {
		ws = append(ws, w.writer)
		again += w.refused
	}
	f.all(f.h, ws, events)
	f.h.Stop(t)
	t.Logf("full %d times: %d appends refused and made when there was room again, %d acknowledged in all", *fullRounds,
		again, f.acked)
	if again < *fullRounds*fullRefusals*len(ids) {
		t.Errorf("too little to prove anything: %d refusals", again)
	}
	for _, id := range []promise.ID{1, 2, 3} {
		id.Kept(t, promise.Tried{Faults: *fullRounds, Operations: f.acked + again, Violations: f.violations})
	}
}

// fullDisk is a hub on a disk that is filled again and again.
type fullDisk struct {
	judge
	h       *hubproc.Hub
	ballast string
	ws      []*filler
}

// each lets all writers do something at once.
func (f *fullDisk) each(do func(*filler) error) {
	f.t.Helper()
	var ws []*writer
	of := make(map[*writer]*filler)
	for _, w := range f.ws {
		ws, of[w.writer] = append(ws, w.writer), w
	}
	load(f.t, ws, func(w *writer) error { return do(of[w]) })
	if f.t.Failed() {
		f.t.FailNow()
	}
}

// fill leaves no room.
func (f *fullDisk) fill() {
	f.t.Helper()
	file, err := os.Create(f.ballast)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for b := make([]byte, 1<<20); err == nil; {
		_, err = file.Write(b)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		f.t.Fatal(err)
	}
}

// look reads while there is no room: all that was acknowledged is there and nothing that was
// refused, a wait ends at its time, a new client is served, and the hub says that it is not ready.
func (f *fullDisk) look() {
	f.t.Helper()
	c, err := dial(f.h, admin)
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	var ws []*writer
	for _, w := range f.ws {
		ws = append(ws, w.writer)
	}
	now := &judge{t: f.t, after: f.after}
	for _, id := range conversations {
		l := now.read(c, id, ws)
		for _, w := range ws {
			if w.conversation == id {
				now.compare(w, l)
				now.files(c, w, l)
			}
		}
		var waited parley.WaitForChangeResult
		c.must(f.t, methods.WaitForChange, parley.WaitForChangeParams{ConversationID: id, SinceSeq: int64(len(l.raw)),
			TimeoutMs: 1}, &waited)
		if !waited.TimedOut {
			now.wrong("a wait at the end of %s gives %+v", id, waited)
		}
	}
	f.violations += now.violations
	f.ready(http.StatusServiceUnavailable, "room")
}

// ready asks /readyz.
func (f *fullDisk) ready(status int, says string) {
	f.t.Helper()
	r, err := http.Get(f.h.HTTP() + "/readyz")
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); err != nil || r.StatusCode != status || !strings.Contains(string(b), says) {
		f.wrong("readyz says %d %q, %v, expected %d and %q", r.StatusCode, b, err, status, says)
	}
}

// filler is a writer that continues round after round.
type filler struct {
	*writer
	refused int // appends of all rounds that were refused and then made
}

// plan returns the next append.
func (w *filler) plan() *utterance {
	n := len(w.appends)
	w.appends = append(w.appends, newUtterance(w.id, n))
	return w.appends[n]
}

// fill makes n appends, which must be acknowledged.
func (w *filler) fill(h *hubproc.Hub, n int) error {
	c, err := dial(h, w.id)
	if err != nil {
		return err
	}
	defer c.Close()
	for range n {
		if a := w.plan(); w.do(c, a) != acked {
			return fmt.Errorf("with room: %s: %w", a.key, a.err)
		}
	}
	return nil
}

// refusals appends until it was refused some times, one of them a file.
func (w *filler) refusals(h *hubproc.Hub) error {
	c, err := dial(h, w.id)
	if err != nil {
		return err
	}
	defer c.Close()
	refusals, files := 0, 0
	for range fullTries {
		a := w.plan()
		switch w.do(c, a) {
		case acked:
			continue
		case unknown:
			return fmt.Errorf("without room: %s: %w", a.key, a.err)
		}
		if !errors.Is(a.err, parley.ErrStorageFull) {
			return fmt.Errorf("without room: %s: %w, expected %w", a.key, a.err, parley.ErrStorageFull)
		}
		refusals++
		if a.file != nil {
			files++
		}
		if refusals >= fullRefusals && files > 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: without room %d of %d appends were refused, %d of them files", w.id, refusals, fullTries, files)
}

// again makes what was refused, at the first try, and some more.
func (w *filler) again(h *hubproc.Hub) error {
	c, err := dial(h, w.id)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, a := range w.appends {
		if a.outcome != refused {
			continue
		}
		seq, duplicate, err := w.send(c, a)
		if err != nil || duplicate {
			return fmt.Errorf("with room again: %s, which was refused: %v (duplicate: %t)", a.key, err, duplicate)
		}
		a.outcome, a.seq = acked, seq
		w.refused++
	}
	return w.fill(h, fullAppends)
}
