package bolt

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

// labeled returns the conversations that got a label after a position.
func (x *index) labeled(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	x.mu.Lock()
	closed := x.closed
	var recents []journal.Listed
	for _, o := range x.overlaysLocked() {
		rows := o.labels[label]
		from, _ := slices.BinarySearchFunc(rows, after+1, comparePosition)
		recents = append(recents, rows[from:min(from+limit, len(rows))]...)
	}
	x.mu.Unlock()
	if closed {
		return nil, journal.ErrClosed
	}
	rows, err := x.storedLabels(label, after, limit)
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		after = rows[len(rows)-1].Position
	}
	for _, row := range recents {
		if row.Position > after && len(rows) < limit {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func comparePosition(l journal.Listed, p journal.Position) int {
	switch {
	case l.Position < p:
		return -1
	case l.Position > p:
		return 1
	}
	return 0
}

func (x *index) storedLabels(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	var rows []journal.Listed
	prefix := nameKey(label, 0)
	err := view(x.db, x.place(), func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte(tableNames[tableListed])).Cursor()
		for k, v := c.Seek(listedKey(label, after+1)); bytes.HasPrefix(k, prefix) && len(rows) < limit; k, v = c.Next() {
			id, err := unseal(k, v)
			if err != nil {
				return err
			}
			p := journal.Position(binary.BigEndian.Uint64(k[len(prefix):]))
			rows = append(rows, journal.Listed{Conversation: string(id), Position: p})
		}
		return nil
	})
	return rows, err
}

// labeledBefore returns the conversations that got a label before a position, the last first; 0 is behind all.
func (x *index) labeledBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	if before == 0 {
		before = math.MaxUint64
	}
	x.mu.Lock()
	closed := x.closed
	var rows []journal.Listed
	for _, o := range x.overlaysLocked() {
		recents := o.labels[label]
		end, _ := slices.BinarySearchFunc(recents, before, comparePosition)
		rows = append(rows, recents[max(end-limit, 0):end]...)
	}
	x.mu.Unlock()
	if closed {
		return nil, journal.ErrClosed
	}
	stored, err := x.storedBefore(label, before, limit)
	if err != nil {
		return nil, err
	}
	rows = append(rows, stored...)
	slices.SortFunc(rows, func(a, b journal.Listed) int { return comparePosition(b, a.Position) })
	rows = slices.Compact(rows) // what has moved to index.db since it was found before
	return rows[:min(len(rows), limit)], nil
}

func (x *index) storedBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	var rows []journal.Listed
	prefix := nameKey(label, 0)
	err := view(x.db, x.place(), func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte(tableNames[tableListed])).Cursor()
		k, _ := c.Seek(listedKey(label, before))
		step := c.Prev
		if k == nil {
			step = c.Last // all are before it
		}
		for k, v := step(); bytes.HasPrefix(k, prefix) && len(rows) < limit; k, v = c.Prev() {
			id, err := unseal(k, v)
			if err != nil {
				return err
			}
			p := journal.Position(binary.BigEndian.Uint64(k[len(prefix):]))
			rows = append(rows, journal.Listed{Conversation: string(id), Position: p})
		}
		return nil
	})
	return rows, err
}
