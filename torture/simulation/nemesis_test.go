package simulation

import (
	"time"

	"github.com/parleyhub/parley/hub/journal"
)

// harm carries out the plan.
func (w *world) harm() {
	for _, s := range w.plan.steps {
		time.Sleep(s.after)
		w.note("NEMESIS %v", s)
		w.mu.Lock()
		w.broken++
		w.mu.Unlock()
		w.harmBy(s)
	}
}

func (w *world) harmBy(s step) {
	switch s.fault {
	case kill:
		w.crash()
		w.takeRest(s.lasts)
		w.open()
	case killHeld:
		w.journal.Hold()
		time.Sleep(s.lasts)
		w.crash()
		w.open()
	case drain:
		w.stop()
		time.Sleep(s.lasts)
		w.open()
	case full:
		w.journal.FailNext(journal.ErrStorageFull)
	case unknown:
		w.journal.FailNext(journal.ErrOutcomeUnknown)
		w.failed(s)
	case lose:
		w.journal.LoseNext()
		w.failed(s)
	case hold:
		w.journal.Hold()
		time.Sleep(s.lasts)
		w.journal.Release()
	case cutOne:
		if c := w.net.pick(s.which); c != nil {
			c.cut()
		}
	case cutAll:
		for _, c := range w.net.all() {
			c.cut()
		}
	case cutFrame:
		if c := w.net.pick(s.which); c != nil {
			c.arm(s.way, s.bytes)
		}
	case takeARest:
		w.takeRest(s.lasts)
	}
}

// failed waits until the hub detects that it cannot continue, and restarts it, as an operator does.
func (w *world) failed(s step) {
	select {
	case <-w.run.hub.Failed():
		time.Sleep(s.lasts)
	case <-time.After(time.Second): // no one wrote anything
	}
	w.crash()
	w.open()
}

// takeRest lets time pass in which no one begins anything.
func (w *world) takeRest(d time.Duration) {
	over := make(chan struct{})
	w.mu.Lock()
	w.rest = over
	w.mu.Unlock()
	time.Sleep(d)
	w.mu.Lock()
	w.rest = nil
	w.mu.Unlock()
	close(over)
}
