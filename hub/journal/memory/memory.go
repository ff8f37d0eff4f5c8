// Package memory has a journal in memory, for simulations and tests. It keeps the guarantees of
// package journal, with Crash in place of kill -9. Tests can make its commits fail.
//
// A batch becomes durable when the committer syncs it. Hold delays that, and Crash drops what is
// not durable. FailNext and LoseNext make a commit fail before or after it took effect. The journal
// works inside testing/synctest bubbles: all waits are on channels and conditions, and its
// goroutines end with Close or Crash.
package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
)

var _ journal.Journal = (*Journal)(nil)

const maxCommitBytes = 8 << 20

// Journal is a journal in memory; see New.
type Journal struct {
	queue   *submit.Queue
	planner submit.Planner
	ended   chan struct{} // closed when the committer ends

	mu     sync.Mutex // guards the fields below
	gate   *sync.Cond // signals held and stopped
	held   bool
	next   *fault           // of the next commit
	lost   []journal.Record // written with an unknown outcome: Crash shows them
	err    error            // of every commit from now on
	closed bool             // for readers
	stop   bool             // set at the start of Close or Crash
	watch  chan struct{}
	states map[string]state
	store  *store
}

type state struct {
	seq  int64
	data []byte
}

// New returns an empty journal. Close or Crash it.
func New() *Journal { return open(newStore()) }

func open(s *store) *Journal {
	j := &Journal{
		queue: submit.NewQueue(), ended: make(chan struct{}), watch: make(chan struct{}),
		states: make(map[string]state), store: s,
	}
	j.gate = sync.NewCond(&j.mu)
	j.planner.Head = j.Head
	go j.commitLoop()
	return j
}

// Submit queues a batch.
func (j *Journal) Submit(b journal.Batch) {
	if !j.queue.Put(b) {
		go submit.Deliver([]submit.Call{{Done: b.Done, Err: journal.ErrClosed}})
	}
}

func (j *Journal) commitLoop() {
	defer close(j.ended)
	for {
		items := j.queue.Take(maxCommitBytes)
		if items == nil {
			return
		}
		submit.Deliver(j.commit(items))
	}
}

func (j *Journal) commit(items []submit.Item) []submit.Call {
	j.mu.Lock()
	for j.held && !j.stop {
		j.gate.Wait()
	}
	last, err := journal.Position(len(j.store.records)), j.err
	j.mu.Unlock()
	if err != nil {
		return submit.Refuse(items, err)
	}
	j.planner.Decide(items, last)
	return j.planner.Finish(j.sync(j.planner.Records))
}

// sync makes records durable, unless a crash or a fault came first.
func (j *Journal) sync(records []journal.Record) error {
	if len(records) == 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if f := j.next; f != nil {
		j.next = nil
		return j.failLocked(f, records)
	}
	j.store.append(records)
	close(j.watch)
	j.watch = make(chan struct{})
	return nil
}

// Head returns the committed head.
func (j *Journal) Head(conversation string) (journal.Head, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return journal.Head{}, journal.ErrClosed
	}
	if c := j.store.conversations[conversation]; c != nil {
		return c.head, nil
	}
	return journal.Head{}, nil
}

// Read returns records of a conversation after a seq.
func (j *Journal) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, journal.ErrClosed
	}
	c := j.store.conversations[conversation]
	after = max(after, 0)
	if c == nil || after >= int64(len(c.positions)) {
		return nil, nil
	}
	return j.store.page(c.positions[after:], limit, maxBytes), nil
}

// Last returns the position of the last committed record.
func (j *Journal) Last() journal.Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return journal.Position(len(j.store.records))
}

// Scan returns records in commit order.
func (j *Journal) Scan(after journal.Position, limit, maxBytes int) ([]journal.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, journal.ErrClosed
	}
	if after >= journal.Position(len(j.store.records)) {
		return nil, nil
	}
	n := min(max(limit, 1), len(j.store.records)-int(after))
	positions := make([]journal.Position, n)
	for i := range positions {
		positions[i] = after + journal.Position(i) + 1
	}
	return j.store.page(positions, limit, maxBytes), nil
}

// Watch returns a channel that the next commit, Close or Crash closes.
func (j *Journal) Watch() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.watch
}

// Open returns the conversations that are not final.
func (j *Journal) Open(after string, limit int) ([]string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, journal.ErrClosed
	}
	var ids []string
	for id, c := range j.store.conversations {
		if !c.head.Final && id > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), max(limit, 1))], nil
}

// Labeled returns the conversations that have a label.
func (j *Journal) Labeled(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, journal.ErrClosed
	}
	rows := j.store.labels[label]
	rows = rows[listedFrom(rows, after+1):]
	return slices.Clone(rows[:min(len(rows), max(limit, 1))]), nil
}

// LabeledBefore returns the conversations that have a label, the last first.
func (j *Journal) LabeledBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, journal.ErrClosed
	}
	rows := j.store.labels[label]
	if before > 0 {
		rows = rows[:listedFrom(rows, before)]
	}
	rows = slices.Clone(rows[max(len(rows)-max(limit, 1), 0):])
	slices.Reverse(rows)
	return rows, nil
}

// listedFrom returns the index of the first row at or after a position.
func listedFrom(rows []journal.Listed, at journal.Position) int {
	i, _ := slices.BinarySearchFunc(rows, at, func(l journal.Listed, p journal.Position) int {
		return cmp.Compare(l.Position, p)
	})
	return i
}

// SaveState stores derived state until Close or Crash.
func (j *Journal) SaveState(conversation string, seq int64, data []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return journal.ErrClosed
	}
	j.states[conversation] = state{seq, slices.Clone(data)}
	return nil
}

// LoadState returns the state that SaveState stored.
func (j *Journal) LoadState(conversation string) (int64, []byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, nil, journal.ErrClosed
	}
	s := j.states[conversation]
	return s.seq, slices.Clone(s.data), nil
}

// PutBlob stores data under its hash. It is durable at once.
func (j *Journal) PutBlob(data []byte) (journal.Hash, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return journal.Hash{}, journal.ErrClosed
	}
	h := journal.Hash(sha256.Sum256(data))
	j.store.blobs[h] = slices.Clone(data)
	return h, nil
}

// GetBlob returns the data that PutBlob stored.
func (j *Journal) GetBlob(h journal.Hash) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, journal.ErrClosed
	}
	data, ok := j.store.blobs[h]
	if !ok {
		return nil, journal.ErrNoBlob
	}
	return slices.Clone(data), nil
}

// Verify reads everything.
func (j *Journal) Verify(ctx context.Context) (journal.Report, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return journal.Report{}, journal.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return journal.Report{}, err
	}
	return j.store.verify()
}

// Size returns the number of bytes of data.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.store.bytes
	for data := range maps.Values(j.store.blobs) {
		n += int64(len(data))
	}
	return n
}

// Close commits the submitted batches, also those that Hold delays, and ends the journal.
func (j *Journal) Close() error {
	j.end(nil)
	return nil
}

// end stops the journal. Batches that are not durable get err, or are committed if it is nil.
func (j *Journal) end(err error) {
	j.mu.Lock()
	j.stop = true
	if j.err == nil {
		j.err = err
	}
	j.gate.Broadcast()
	j.mu.Unlock()

	j.queue.Close()
	<-j.ended

	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.watch)
	}
}
