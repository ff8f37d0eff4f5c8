package bolt

import (
	"errors"
	"flag"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Thorough is the long form of the tests that damage files or kill processes.
var Thorough = flag.Bool("bolt.thorough", false, "damage files at many more places, and kill processes more often")

// LogDB is log.db, for tests that make its writes fail.
func (j *Journal) LogDB() *bbolt.DB { return j.log }

// IndexDB is index.db, for the same.
func (j *Journal) IndexDB() *bbolt.DB { return j.index.db }

// LimitHeads makes the cache of heads hold at most n.
func LimitHeads(j *Journal, n int) {
	j.index.mu.Lock()
	defer j.index.mu.Unlock()
	j.index.heads = newHeadCache(n)
}

// CachedHeads is how many heads are cached.
func CachedHeads(j *Journal) int {
	j.index.mu.Lock()
	defer j.index.mu.Unlock()
	return len(j.index.heads.young) + len(j.index.heads.old)
}

// Flushing reports whether index.db is being brought up to date.
func Flushing(j *Journal) bool {
	j.index.mu.Lock()
	defer j.index.mu.Unlock()
	return j.index.old != nil
}

// AtStep makes Compact call fn before each of its steps.
func (o *CompactOptions) AtStep(fn func(string) error) { o.step = fn }

// OpenUnderLock locks a directory as Open does, calls then, and opens the log of it.
func OpenUnderLock(dir string, then func()) error {
	j := &Journal{dir: dir}
	err := j.openDir()
	if err == nil {
		then()
		err = j.openLog()
	}
	return errors.Join(err, j.release())
}

// OpenHooked opens a journal and closes it. It calls hook with index.db before the end of the log is read.
func OpenHooked(dir string, every int, hook func(index *bbolt.DB)) (err error) {
	j := &Journal{dir: dir}
	defer func() { err = errors.Join(err, j.release()) }()
	if err := errors.Join(j.openDir(), j.openLog()); err != nil {
		return err
	}
	path := filepath.Join(dir, indexFile)
	at, err := readIndex(path)
	if err != nil {
		return err
	}
	db, err := openDB(path, 0, indexMmap, false)
	if err != nil {
		return err
	}
	hook(db)
	j.index = newIndex(db, at, every)
	return j.catchUp()
}
