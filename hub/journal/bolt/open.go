package bolt

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/plant"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	tempPrefix   = ".tmp-"
	logPageSize  = 16 << 10
	logMmapSize  = 8 << 30 // of address space: a larger mapping is a pause for readers
	indexMmap    = 1 << 30
	recoverBytes = 4 << 20
)

var idKey = []byte("id")

// openDB opens a bbolt file that checkPages has passed.
func openDB(path string, pageSize, mmapSize int) (db *bbolt.DB, err error) {
	if strconv.IntSize < 64 {
		mmapSize = 0
	}
	var file *os.File
	err = guard(&journal.DamageError{File: filepath.Base(path)}, func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: lockTimeout, PageSize: pageSize, InitialMmapSize: mmapSize, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
			NoSync: plant.NoSync.Planted(),
			OpenFile: func(path string, flag int, mode os.FileMode) (_ *os.File, err error) {
				file, err = os.OpenFile(path, flag, mode)
				return file, err
			},
		})
		return err
	})
	if err == nil {
		db.AllocSize = minAllocSize
	}
	if plant.NoLock.Planted() {
		plant.Unlock(file)
	}
	if isDamage(err) && file != nil {
		file.Close() // bbolt, panicking, has not
	}
	if errors.Is(err, berrors.ErrTimeout) {
		err = journal.ErrInUse
	}
	return db, err
}

// openLog opens log.db, made first if the directory is new, and finds its end.
func (j *Journal) openLog() error {
	fresh, err := readFormat(j.dir)
	if err != nil {
		return err
	}
	if err := makeDir(filepath.Join(j.dir, blobDir)); err != nil {
		return err
	}
	if err := removeTemps(j.dir); err != nil {
		return err
	}
	path := filepath.Join(j.dir, logFile)
	there, err := exists(path)
	if err != nil {
		return err
	}
	switch {
	case !there && !fresh:
		return &journal.DamageError{File: logFile, What: "file missing"}
	case !there:
		if err := createLog(path); err != nil {
			return err
		}
	}
	if err := checkPages(path, false); err != nil {
		return err
	}
	if j.log, err = openDB(path, logPageSize, logMmapSize); err != nil {
		return err
	}
	if err := j.findEnd(); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	if j.last > 0 {
		return fmt.Errorf("%w: there is a %s but no %s", journal.ErrFormat, logFile, formatFile)
	}
	return writeFormat(j.dir)
}

// createLog makes an empty log.db, there whole or not at all.
func createLog(path string) error {
	temp := filepath.Join(filepath.Dir(path), tempPrefix+logFile)
	db, err := openDB(temp, logPageSize, 0)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if _, err := tx.CreateBucket(logBucket); err != nil {
			return err
		}
		m, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		var id [16]byte
		rand.Read(id[:])
		return m.Put(idKey, id[:])
	})
	if e := db.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func removeTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// findEnd reads the log's id and its last record, which must be where the bucket's sequence says.
func (j *Journal) findEnd() error {
	return view(j.log, &journal.DamageError{File: logFile}, func(tx *bbolt.Tx) error {
		b, err := bucketOf(tx)
		if err != nil {
			return err
		}
		m := tx.Bucket(metaBucket)
		if m == nil || copy(j.id[:], m.Get(idKey)) != len(j.id) {
			return &journal.DamageError{File: logFile, What: "id missing"}
		}
		j.last = journal.Position(b.Sequence())
		key, want := keyOf(j.last), []byte(nil)
		if j.last > 0 {
			want = key[:]
		}
		if k, _ := b.Cursor().Last(); !bytes.Equal(k, want) {
			return &journal.DamageError{File: logFile, Position: j.last, What: fmt.Sprintf("end of the log: last key is %x", k)}
		}
		return nil
	})
}

// openIndex opens index.db and reads what it does not have from the end of the log. If either fails it is made from nothing, once.
func (j *Journal) openIndex(every int) error {
	path := filepath.Join(j.dir, indexFile)
	db, at, err := openIndexFile(path)
	if err == nil {
		err = j.fits(at)
		if lost := (*journal.DamageError)(nil); errors.As(err, &lost) && lost.File == logFile {
			return errors.Join(err, db.Close())
		}
	}
	if err == nil {
		j.index = newIndex(db, at, every)
		if err = j.catchUp(); err == nil {
			return nil
		}
		j.index = nil
	}
	if db != nil {
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

func openIndexFile(path string) (*bbolt.DB, checkpoint, error) {
	if err := checkPages(path, true); err != nil {
		return nil, checkpoint{}, err
	}
	db, err := openDB(path, 0, indexMmap)
	if err != nil {
		return nil, checkpoint{}, err
	}
	at, err := checkIndex(db)
	return db, at, err
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
	db, err := openDB(path, 0, indexMmap)
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

// catchUp publishes the records after the index's checkpoint, each checked against the head that it follows.
func (j *Journal) catchUp() error {
	x := j.index
	for x.end.position < j.last {
		n := min(j.last-x.end.position, viewRecords)
		positions := make([]journal.Position, n)
		for i := range positions {
			positions[i] = x.end.position + journal.Position(i) + 1
		}
		size := 0
		page, _, err := j.get(positions, "", recoverBytes, &size, false)
		if err != nil {
			return err
		}
		if err := x.follows(page); err != nil {
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
		if err := x.flush(); err != nil && x.now.records >= lagFactor*x.every {
			return err
		}
	}
	return nil
}

// follows checks that each of records follows the head before it.
func (x *index) follows(records []journal.Record) error {
	heads := make(map[string]journal.Head)
	for _, r := range records {
		h, ok := heads[r.Conversation]
		if !ok {
			var err error
			if h, err = x.head(r.Conversation); err != nil {
				return err
			}
		}
		h, err := next(h, &r)
		if err != nil {
			return err
		}
		heads[r.Conversation] = h
	}
	return nil
}

// sumAt gives the stored checksum of a record; 0 if there is none.
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
