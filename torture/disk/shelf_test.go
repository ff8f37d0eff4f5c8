//go:build linux

package disk

import (
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/faultfs"
)

// The sync after a directory of files was made fails, or the hub is killed in it: a file that is
// put there later is acknowledged only when the directory's own name was synced.
func TestDirectoryOfFile(t *testing.T) {
	needFaults(t, 1)
	ofNames := func(op faultfs.Op) bool { return op.Kind == faultfs.Sync && filepath.Base(op.Path) == "blobs" }
	m := faultfs.Mount(t, t.TempDir())
	copyDir(t, prepare(t, "a"), filepath.Join(m.Under, "data"))
	h := program.Start(t, filepath.Join(m.Dir, "data"))
	w := newWriter("a", conversations[0], 20)
	w.appends = slices.DeleteFunc(w.appends, func(a *utterance) bool { return a.file == nil })
	c := mustDialAs(t, h, w.id)
	defer func() { c.Close() }()
	violations := 0
	again := func(a *utterance) {
		t.Helper()
		m.Heal()
		if w.do(c, a) != acked {
			t.Fatalf("%s again: %v", a.key, a.err)
		}
		if !slices.ContainsFunc(m.Ops(), ofNames) {
			violations++
			t.Errorf("%s was acknowledged, and the name of its directory never synced", a.key)
		}
	}
	m.Fail(faultfs.Fault{Kind: faultfs.Sync, Of: ofNames})
	if first := w.appends[0]; w.do(c, first) != refused || !m.Hit() {
		t.Fatalf("with a failed sync: %v", first.err)
	}
	again(w.appends[0])

	hold := m.Hold(t)
	second := w.appends[1]
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.do(c, second)
	}()
	for held := hold.Held(t); held.Name != "blobs"; held = hold.Held(t) {
		held.Let()
	}
	if err := syscall.Kill(h.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.Heal() // a process that waits for a file system only dies after the answer
	h.Kill(t)
	<-done
	if !errors.Is(second.err, hubproc.ErrGone) {
		t.Fatalf("%s, whose hub was killed: %v", second.key, second.err)
	}
	h = program.Start(t, filepath.Join(m.Dir, "data"))
	c.Close()
	c = mustDialAs(t, h, w.id)
	again(second)
	promise.ID(1).Kept(t, promise.Tried{Faults: 2, Operations: 2, Violations: violations})
}
