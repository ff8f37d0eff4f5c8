package bolt

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	tempPrefix  = ".tmp-"
	logPageSize = 16 << 10
	logMmapSize = 8 << 30 // of address space: a larger mapping is a pause for readers
	indexMmap   = 1 << 30
)

var idKey = []byte("id")

// openDB opens a bbolt file that checkPages has passed.
func openDB(path string, pageSize, mmapSize int, unsynced bool) (db *bbolt.DB, err error) {
	if strconv.IntSize < 64 {
		mmapSize = 0
	}
	var file *os.File
	err = guard(&journal.DamageError{File: filepath.Base(path)}, func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: lockTimeout, PageSize: pageSize, InitialMmapSize: mmapSize, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
			NoSync: unsynced,
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
	if err := checkPages(path, nil); err != nil {
		return err
	}
	if j.log, err = openDB(path, logPageSize, logMmapSize, j.unsynced); err != nil {
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
	db, err := openDB(temp, logPageSize, 0, false)
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
