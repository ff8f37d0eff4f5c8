//go:build linux

package faultfs

import (
	"sync"
	"testing"
	"time"
)

// holdTimeout is how long Held waits for a sync.
const holdTimeout = 2 * time.Minute

// Hold keeps syncs waiting.
type Hold struct {
	// Syncs returns a channel of the syncs that wait. It is never closed.
	Syncs <-chan *HeldSync

	come chan *HeldSync
	end  chan struct{}
	once sync.Once
}

// HeldSync is a sync that waits.
type HeldSync struct {
	// Name is the base name of its file or directory.
	Name string
	let  chan struct{}
}

// Let lets it go on. It is called once.
func (s *HeldSync) Let() { close(s.let) }

// Hold makes every sync wait until it is let go, or until Heal or the end of the test.
func (f *FS) Hold(t testing.TB) *Hold {
	h := &Hold{come: make(chan *HeldSync), end: make(chan struct{})}
	h.Syncs = h.come
	f.mu.Lock()
	f.hold = h
	f.mu.Unlock()
	t.Cleanup(h.release)
	return h
}

// Held returns the next sync that waits.
func (h *Hold) Held(t testing.TB) *HeldSync {
	t.Helper()
	select {
	case s := <-h.come:
		return s
	case <-time.After(holdTimeout):
		t.Fatalf("no sync within %s", holdTimeout)
		return nil
	}
}

func (h *Hold) release() { h.once.Do(func() { close(h.end) }) }

func (h *Hold) wait(name string) {
	s := &HeldSync{Name: name, let: make(chan struct{})}
	select {
	case h.come <- s:
	case <-h.end:
		return
	}
	select {
	case <-s.let:
	case <-h.end:
	}
}
