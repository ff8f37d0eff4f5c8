package bolt

import (
	"errors"

	"go.etcd.io/bbolt"
)

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
