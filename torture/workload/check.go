package workload

import (
	"fmt"

	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/ledger"
)

// Check compares all that the users know with the logs. The world must have settled.
func (w *World) Check(l *ledger.Ledger) {
	for _, a := range w.writers {
		l.Hold(a.id, a.said)
	}
	for _, e := range w.closers {
		l.Hold(e.id, e.said)
	}
	l.HoldStrangers()
	for _, r := range w.readers {
		l.HoldSeen(4, r.id, r.seen)
	}
	l.HoldHistory(w.recorder.Ops())
}

// Lost counts the acknowledged messages, and those of them that a log does not have.
func (w *World) Lost(logs *ledger.Logs) (lost, acked int) {
	for author, m := range w.Said() {
		if m.Seq == 0 {
			continue
		}
		acked++
		if !logs.Has(author, m) {
			lost++
		}
	}
	return lost, acked
}

// Kept reports the result of the promises 1 to 5 after so many faults. The files count as appends.
// A run that tried too little fails.
func (w *World) Kept(l *ledger.Ledger, faults, files int, figure string) {
	w.t.Helper()
	found, conflicts, refused := 0, 0, 0
	for _, a := range w.writers {
		found, conflicts, refused = found+a.found, conflicts+a.conflicts, refused+a.refused
	}
	counts := fmt.Sprintf(
		"%d lost answers, %d found repetitions, %d taken keys, %d late messages, %d closed conversations, %d reads",
		l.Lost, found, conflicts, refused, l.Closed, w.Reads(),
	)
	if l.Lost == 0 || found == 0 || conflicts == 0 || refused == 0 || l.Closed == 0 || w.Reads() == 0 {
		w.t.Errorf("the run proves too little: %s", counts)
	}
	l.Kept(1, promise.Tried{Faults: faults, Operations: l.Acked + files, Unknown: l.Lost, Figure: figure})
	l.Kept(2, promise.Tried{Faults: faults, Operations: l.Never, Unknown: l.Lost})
	l.Kept(3, promise.Tried{Faults: faults, Operations: found + conflicts, Unknown: l.Lost})
	l.Kept(4, promise.Tried{Faults: faults, Operations: l.Ops, Unknown: l.Lost})
	l.Kept(5, promise.Tried{
		Faults: faults, Operations: l.Closed + int(w.shut.Load()), Unknown: l.Lost,
		Figure: fmt.Sprintf("%d conversations closed under their writers", l.Closed),
	})
}
