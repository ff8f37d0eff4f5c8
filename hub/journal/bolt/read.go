package bolt

import (
	"bytes"
	"fmt"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

// viewRecords is how many records are read in one transaction.
const viewRecords = 256

// Last is the position of the last record that is known to be durable.
func (j *Journal) Last() journal.Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

// Watch returns a channel that is closed by the next commit or by Close.
func (j *Journal) Watch() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.watch
}

// Head returns the committed head.
func (j *Journal) Head(conversation string) (journal.Head, error) { return j.index.head(conversation) }

// Open returns the conversations that are not final.
func (j *Journal) Open(after string, limit int) ([]string, error) {
	return j.index.open(after, max(limit, 1))
}

// Labeled returns the conversations that have a label.
func (j *Journal) Labeled(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	return j.index.labeled(label, after, max(limit, 1))
}

// LabeledBefore returns the conversations that have a label, the last first.
func (j *Journal) LabeledBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	return j.index.labeledBefore(label, before, max(limit, 1))
}

// SaveState keeps derived state, in memory until the next checkpoint.
func (j *Journal) SaveState(conversation string, seq int64, state []byte) error {
	return j.index.saveState(conversation, seq, state)
}

// LoadState returns what SaveState kept.
func (j *Journal) LoadState(conversation string) (int64, []byte, error) {
	return j.index.loadState(conversation)
}

// Read returns records of a conversation after a seq.
func (j *Journal) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	after, limit = max(after, 0), max(limit, 1)
	var page []journal.Record
	var head journal.Head // of the record before, once one has been read
	for bytes := 0; len(page) < limit; {
		positions, err := j.index.positions(conversation, after+1, min(limit-len(page), viewRecords))
		if err != nil {
			return nil, err
		}
		if len(positions) == 0 {
			break
		}
		records, full, err := j.get(positions, conversation, maxBytes, &bytes, len(page) > 0)
		if err != nil {
			return nil, err
		}
		for i := range records {
			r := &records[i]
			if r.Conversation != conversation || r.Seq != after+1 {
				return nil, &journal.DamageError{
					File: indexFile, Position: r.Position, Conversation: conversation, Seq: after + 1, What: "position of another record",
				}
			}
			if head.Seq == 0 {
				if head, err = j.before(r); err != nil {
					return nil, err
				}
			}
			if head, err = next(head, r); err != nil {
				return nil, err
			}
			after++
		}
		page = append(page, records...)
		if full {
			break
		}
	}
	return page, nil
}

// get reads the records at positions. It stops, with full, before one that would make *size more than maxBytes, unless it
// is the first and some is not set.
func (j *Journal) get(positions []journal.Position, conversation string, maxBytes int, size *int, some bool) (records []journal.Record, full bool, err error) {
	place := &journal.DamageError{File: logFile, Conversation: conversation}
	err = view(j.log, place, func(tx *bbolt.Tx) error {
		b, err := bucketOf(tx)
		if err != nil {
			return err
		}
		c := b.Cursor()
		records = make([]journal.Record, 0, len(positions))
		var at journal.Position // of the cursor
		for _, p := range positions {
			place.Position = p
			key := keyOf(p)
			var k, v []byte
			if at != 0 && p == at+1 {
				k, v = c.Next()
			} else {
				k, v = c.Seek(key[:])
			}
			at = p
			if !bytes.Equal(k, key[:]) {
				return &journal.DamageError{File: logFile, Position: p, Conversation: conversation, What: "record missing"}
			}
			r, err := decodeRecord(p, v, conversation)
			if err != nil {
				return damaged(p, conversation, err)
			}
			if *size+len(r.Data) > maxBytes && (some || len(records) > 0) {
				full = true
				return nil
			}
			*size += len(r.Data)
			records = append(records, r)
		}
		return nil
	})
	return records, full, err
}

func damaged(p journal.Position, conversation string, err error) error {
	return &journal.DamageError{File: logFile, Position: p, Conversation: conversation, What: err.Error()}
}

func bucketOf(tx *bbolt.Tx) (*bbolt.Bucket, error) {
	b := tx.Bucket(logBucket)
	if b == nil {
		return nil, &journal.DamageError{File: logFile, What: "bucket missing"}
	}
	return b, nil
}

// Scan returns records of all conversations in commit order.
func (j *Journal) Scan(after journal.Position, limit, maxBytes int) ([]journal.Record, error) {
	if j.isClosed() {
		return nil, journal.ErrClosed
	}
	return j.scan(after, j.Last(), limit, maxBytes, newHeadCache(max(limit, 2)))
}

// scan returns records up to last. known has heads that were verified before, and gets those that are now.
func (j *Journal) scan(after, last journal.Position, limit, maxBytes int, known *headCache) ([]journal.Record, error) {
	var page []journal.Record
	limit = max(limit, 1)
	for bytes := 0; len(page) < limit && after < last; {
		n := min(limit-len(page), viewRecords, int(min(last-after, viewRecords)))
		positions := make([]journal.Position, n)
		for i := range positions {
			positions[i] = after + journal.Position(i) + 1
		}
		records, full, err := j.get(positions, "", maxBytes, &bytes, len(page) > 0)
		if err != nil {
			return nil, err
		}
		for i := range records {
			if err := j.link(&records[i], known); err != nil {
				return nil, err
			}
		}
		page = append(page, records...)
		after += journal.Position(len(records))
		if full {
			break
		}
	}
	return page, nil
}

// link checks that r follows the record before it in its conversation: that one is in known or is read.
func (j *Journal) link(r *journal.Record, known *headCache) error {
	before, ok := known.get(r.Conversation)
	if !ok || before.Seq != r.Seq-1 {
		var err error
		if before, err = j.before(r); err != nil {
			return err
		}
	}
	head, err := next(before, r)
	if err == nil {
		known.put(r.Conversation, head)
	}
	return err
}

// next checks that r follows a head and returns the head that it makes.
func next(h journal.Head, r *journal.Record) (journal.Head, error) {
	after, err := inOrder(h, r)
	if err == nil {
		err = chained(h, r)
	}
	if err != nil {
		return h, err
	}
	return after, nil
}

// inOrder is next without the hash.
func inOrder(h journal.Head, r *journal.Record) (journal.Head, error) {
	switch {
	case h.Final:
		return h, misplaced(r, "record after the final one")
	case r.Seq != h.Seq+1:
		return h, misplaced(r, fmt.Sprintf("seq after %d", h.Seq))
	}
	return journal.Head{Seq: r.Seq, Hash: r.Hash, Final: r.Final}, nil
}

// chained checks the hash of r, which follows h.
func chained(h journal.Head, r *journal.Record) error {
	if h.Seq == 0 {
		h.Hash = journal.Genesis(r.Conversation)
	}
	if h.Hash.Next(r.Data) != r.Hash {
		return misplaced(r, "hash chain")
	}
	return nil
}

func misplaced(r *journal.Record, what string) error {
	return &journal.DamageError{File: logFile, Position: r.Position, Conversation: r.Conversation, Seq: r.Seq, What: what}
}

// before returns the head that r follows.
func (j *Journal) before(r *journal.Record) (journal.Head, error) {
	if r.Seq == 1 {
		return journal.Head{}, nil
	}
	place := &journal.DamageError{File: logFile, Position: r.Position, Conversation: r.Conversation, Seq: r.Seq, What: "record before it missing"}
	if r.Seq < 1 {
		return journal.Head{}, place
	}
	positions, err := j.index.positions(r.Conversation, r.Seq-1, 1)
	if err != nil {
		return journal.Head{}, err
	}
	if len(positions) == 0 || positions[0] >= r.Position {
		return journal.Head{}, place
	}
	size := 0
	records, _, err := j.get(positions, r.Conversation, 0, &size, false)
	if err != nil {
		return journal.Head{}, err
	}
	b := records[0]
	if b.Conversation != r.Conversation || b.Seq != r.Seq-1 {
		return journal.Head{}, place
	}
	return journal.Head{Seq: b.Seq, Hash: b.Hash, Final: b.Final}, nil
}
