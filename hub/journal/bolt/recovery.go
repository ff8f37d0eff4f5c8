package bolt

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

const (
	// recoverRecords and recoverBytes bound what is read at once from the end of the log.
	recoverRecords = 256
	recoverBytes   = 4 << 20
)

// openFiles opens log.db and index.db. The log is checked while index.db is read, and while the name of the directory is made durable.
func (j *Journal) openFiles(every int) error {
	var at checkpoint
	var indexErr, nameErr error
	var beside sync.WaitGroup
	beside.Go(func() { at, indexErr = readIndex(filepath.Join(j.dir, indexFile)) })
	beside.Go(func() { nameErr = syncDir(filepath.Dir(filepath.Clean(j.dir))) })
	err := j.openLog()
	beside.Wait()
	if err != nil {
		return err
	}
	if nameErr != nil {
		return nameErr
	}
	return j.openIndex(at, indexErr, every)
}

// openIndex opens index.db, whose checkpoint, or why it has none, readIndex has given, and reads what it does not have from the end of the
// log. If any of it fails index.db is made from nothing, once.
func (j *Journal) openIndex(at checkpoint, err error, every int) error {
	path := filepath.Join(j.dir, indexFile)
	var db *bbolt.DB
	if err == nil {
		db, err = openDB(path, 0, indexMmap, j.unsynced)
	}
	if err == nil {
		err = j.fits(at)
		if lost := (*journal.DamageError)(nil); errors.As(err, &lost) && lost.File == logFile {
			return errors.Join(err, db.Close())
		}
	}
	stuck := false
	if err == nil {
		j.index = newIndex(db, at, every)
		if err = j.catchUp(); err == nil {
			return nil
		}
		stuck, j.index = j.index.stuck != nil, nil
	}
	if db != nil && !stuck {
		db.Close()
	}
	if errors.Is(err, journal.ErrInUse) || isFull(err) {
		return err
	}
	if j.last > 0 {
		j.recovery.Rebuilt = err
	}
	return j.rebuildIndex(path, every)
}

// fits checks that a checkpoint is of this log. One that is beyond its end says that the log has lost something.
func (j *Journal) fits(at checkpoint) error {
	if at.log != j.id {
		return fmt.Errorf("%w: belongs to another log", errIndex)
	}
	if at.position > j.last {
		return &journal.DamageError{
			File: logFile, Position: j.last,
			What: fmt.Sprintf("end of the log lost (%s knows position %d; if the log was put back on purpose, remove it)", indexFile, at.position),
		}
	}
	if at.position == 0 {
		return nil
	}
	sum, err := j.sumAt(at.position)
	if err == nil && sum != at.sum {
		err = fmt.Errorf("%w: checkpoint is of another record", errIndex)
	}
	return err
}

func (j *Journal) rebuildIndex(path string, every int) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := openDB(path, 0, indexMmap, j.unsynced)
	if err != nil {
		return err
	}
	if err := initIndex(db, j.id); err != nil {
		return errors.Join(err, db.Close())
	}
	if err := syncDir(j.dir); err != nil {
		return errors.Join(err, db.Close())
	}
	at := checkpoint{log: j.id}
	j.index = newIndex(db, at, every)
	j.recovery.Records = 0
	return j.catchUp()
}

// catchUp publishes the records after the index's checkpoint, each checked against the head that it follows. Of several that are damaged it
// names the first, and what it has published is forgotten.
func (j *Journal) catchUp() error {
	c := newChains()
	err := j.readEnd(c)
	err = cmp.Or(c.close(), err) // what was put is before what could not be
	if err != nil {
		j.index.forget()
	}
	return err
}

// readEnd is catchUp except for the hashes, which c checks. What is written to index.db is checked before.
func (j *Journal) readEnd(c *chains) error {
	x := j.index
	for x.end.position < j.last {
		n := min(j.last-x.end.position, recoverRecords, journal.Position(x.every))
		positions := make([]journal.Position, n)
		for i := range positions {
			positions[i] = x.end.position + journal.Position(i) + 1
		}
		size := 0
		page, _, unread := j.get(positions, "", recoverBytes, &size, false)
		heads, err := x.follows(page) // what comes before the one that cannot be read
		c.put(block{heads, page})
		if err = cmp.Or(err, unread); err != nil {
			return err
		}
		listed, err := x.listedBefore(page)
		if err != nil {
			return err
		}
		end := page[len(page)-1].Position
		sum, err := j.sumAt(end)
		if err != nil {
			return err
		}
		x.publish(page, listed, tail{end, sum})
		j.recovery.Records += len(page)
		if x.now.records < x.every {
			continue
		}
		if err := c.wait(); err != nil {
			return err
		}
		if err := x.flush(); err != nil && x.now.records >= lagFactor*x.every {
			return err
		}
	}
	return nil
}

// follows returns the head that each of records follows, up to one that is not in order.
func (x *index) follows(records []journal.Record) ([]journal.Head, error) {
	heads := make(map[string]journal.Head)
	before := make([]journal.Head, 0, len(records))
	for i := range records {
		r := &records[i]
		h, ok := heads[r.Conversation]
		if !ok {
			var err error
			if h, err = x.head(r.Conversation); err != nil {
				return before, err
			}
		}
		after, err := inOrder(h, r)
		if err != nil {
			return before, err
		}
		before = append(before, h)
		heads[r.Conversation] = after
	}
	return before, nil
}

// sumAt returns the stored checksum of a record; 0 if there is none.
func (j *Journal) sumAt(p journal.Position) (sum uint32, err error) {
	err = view(j.log, &journal.DamageError{File: logFile, Position: p}, func(tx *bbolt.Tx) error {
		b, err := bucketOf(tx)
		if err != nil {
			return err
		}
		key := keyOf(p)
		if v := b.Get(key[:]); len(v) > recordTrailer {
			sum = binary.BigEndian.Uint32(v[len(v)-recordTrailer:])
		}
		return nil
	})
	return sum, err
}
