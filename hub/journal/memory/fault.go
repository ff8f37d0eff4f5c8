package memory

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley/hub/journal"
)

// fault is what happens to one commit.
type fault struct {
	err     error
	written bool
}

// Hold keeps batches from becoming durable until Release.
func (j *Journal) Hold() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held = true
}

// Release ends Hold.
func (j *Journal) Release() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.held = false
	j.gate.Broadcast()
}

// FailNext makes the next commit that would write fail with err, writing nothing. After ErrOutcomeUnknown the journal
// takes no more batches.
func (j *Journal) FailNext(err error) { j.setNext(&fault{err: err}) }

// LoseNext makes the next commit durable, but answers it with ErrOutcomeUnknown. What it wrote shows after Crash; the journal
// takes no more batches.
func (j *Journal) LoseNext() {
	j.setNext(&fault{err: fmt.Errorf("%w: reply lost", journal.ErrOutcomeUnknown), written: true})
}

func (j *Journal) setNext(f *fault) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next = f
}

func (j *Journal) failLocked(f *fault, records []journal.Record) error {
	if errors.Is(f.err, journal.ErrOutcomeUnknown) {
		j.err = f.err
	}
	if f.written {
		s := newStore()
		s.append(records) // a copy: the batches' slices are given back with Done
		j.lost = s.records
	}
	return f.err
}

// Crash ends the journal as kill -9 would: batches that are not durable are dropped and their Done gets ErrOutcomeUnknown.
// It gives a fresh journal that holds what was durable, without saved states.
func (j *Journal) Crash() *Journal {
	j.end(fmt.Errorf("%w: crashed", journal.ErrOutcomeUnknown))
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.store
	j.store = newStore() // the old journal is closed; nothing of it shall reach the new one's
	if j.lost != nil {
		s.append(j.lost)
		j.lost = nil
	}
	return open(s)
}
