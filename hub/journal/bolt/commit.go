package bolt

import (
	"encoding/binary"
	"fmt"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
	"go.etcd.io/bbolt"
)

const (
	// maxCommitBytes bounds the data of one transaction, unless one batch alone is larger.
	maxCommitBytes = 8 << 20
	maxArena       = 2 * maxCommitBytes
)

var logBucket = []byte("log")

// Submit queues a batch.
func (j *Journal) Submit(b journal.Batch) {
	if !j.queue.Put(b) {
		go submit.Deliver([]submit.Call{{Done: b.Done, Err: journal.ErrClosed}})
	}
}

func (j *Journal) commitLoop() {
	for {
		items := j.queue.Take(maxCommitBytes)
		if items == nil {
			return
		}
		submit.Deliver(j.commit(items))
	}
}

// Apply commits batches in one transaction, all of them or, with an error, none. It does not call their Done. It is for who alone writes to the journal and has
// decided already; Submit may be used beside it, and then decides on the heads that Apply leaves.
func (j *Journal) Apply(batches []journal.Batch) error {
	items := make([]submit.Item, len(batches))
	for i, b := range batches {
		items[i] = submit.Item{Batch: b, Err: submit.Check(&b)}
	}
	j.committing.Lock()
	defer j.committing.Unlock()
	if j.isClosed() {
		return journal.ErrClosed
	}
	if err := j.ready(); err != nil {
		return err
	}
	j.planner.Decide(items, j.Last())
	for _, c := range j.planner.Finish(nil) {
		if c.Err != nil {
			return c.Err
		}
	}
	return j.store()
}

// commit decides items and makes what they come to durable, in one transaction.
func (j *Journal) commit(items []submit.Item) []submit.Call {
	j.committing.Lock()
	defer j.committing.Unlock()
	if err := j.ready(); err != nil {
		return submit.Refuse(items, err)
	}
	j.planner.Decide(items, j.Last())
	return j.planner.Finish(j.store())
}

// ready says why nothing can be committed.
func (j *Journal) ready() error {
	if err := j.Err(); err != nil {
		return err
	}
	return j.index.room()
}

// store makes durable what the planner has decided, and shows it to readers.
func (j *Journal) store() error {
	records := j.planner.Records
	if len(records) == 0 {
		return nil
	}
	listed, err := j.index.listedBefore(records)
	if err != nil {
		return err
	}
	sum, err := j.write(records, j.planner.Starts)
	if err != nil {
		return err
	}
	j.publish(records, listed, sum)
	return nil
}

// publish shows records that are durable to readers.
func (j *Journal) publish(records []journal.Record, listed map[labelOf]bool, sum uint32) {
	last := records[len(records)-1].Position
	j.index.publish(records, listed, tail{last, sum})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = last
	close(j.watch)
	j.watch = make(chan struct{})
}

// write commits records to log.db and returns the checksum of the last. Its error is journal.ErrStorageFull if nothing of them
// is or will be in the log; with any other error the journal has ended its writing.
func (j *Journal) write(records []journal.Record, starts []bool) (sum uint32, err error) {
	id, stuck, err := update(j.log, &journal.DamageError{File: logFile, Position: records[0].Position}, func(tx *bbolt.Tx) (err error) {
		sum, err = j.put(tx, records, starts)
		return err
	})
	if err == nil {
		return sum, nil
	}
	j.stuck = stuck
	if isFull(err) && j.absent(id) {
		return 0, fullOr(err)
	}
	return 0, j.fail(err)
}

func (j *Journal) put(tx *bbolt.Tx, records []journal.Record, starts []bool) (sum uint32, err error) {
	b := tx.Bucket(logBucket)
	b.FillPercent = 1
	size := 0
	for i := range records {
		size += recordSize(&records[i])
	}
	if cap(j.arena) < size || cap(j.arena) > maxArena {
		j.arena = make([]byte, 0, size)
	}
	arena := j.arena[:0] // bbolt keeps slices of it until the commit
	for i := range records {
		r := &records[i]
		start := len(arena)
		arena = appendRecord(arena, r, starts[i])
		key := keyOf(r.Position)
		if err := b.Put(key[:], arena[start:len(arena):len(arena)]); err != nil {
			return 0, err
		}
	}
	return binary.BigEndian.Uint32(arena[len(arena)-recordTrailer:]), b.SetSequence(uint64(records[len(records)-1].Position))
}

// absent reports whether it is sure that transaction id, whose commit has failed, is not in log.db and will never be: its meta page, which
// is written last and makes it count, has not reached the file.
func (j *Journal) absent(id int) bool {
	seen := id
	err := view(j.log, &journal.DamageError{File: logFile}, func(tx *bbolt.Tx) error {
		seen = tx.ID()
		return nil
	})
	return err == nil && seen < id
}

// fail ends the writing: it is not known whether the last commit is in the log.
func (j *Journal) fail(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = fmt.Errorf("%w: %w", journal.ErrOutcomeUnknown, err)
	return j.err
}

// Err returns why the journal takes no more writes; nil while it does.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}
