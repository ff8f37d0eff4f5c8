package memory

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley/hub/journal"
)

// fault is the outcome of one commit.
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

// FailNext makes the next commit with events fail with err, without writing. After
// ErrOutcomeUnknown the journal accepts no more batches.
func (j *Journal) FailNext(err error) { j.setNext(&fault{err: err}) }

// LoseNext makes the next commit durable and answers it with ErrOutcomeUnknown. Crash shows what it
// wrote. The journal accepts no more batches.
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
		s.append(records) // a copy: Done returns the slices of the batches
		j.lost = s.records
	}
	return f.err
}

// Crash ends the journal as kill -9 would. It drops batches that are not durable, and their Done
// gets ErrOutcomeUnknown. It returns a new journal with the durable content, without saved states.
func (j *Journal) Crash() *Journal {
	j.end(fmt.Errorf("%w: crashed", journal.ErrOutcomeUnknown))
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.store
	j.store = newStore() // the new journal must not share anything with the old one
	if j.lost != nil {
		s.append(j.lost)
		j.lost = nil
	}
	return open(s)
}
