package bolt

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

// compactDir is where Compact makes the new files. Open removes it.
const compactDir = tempPrefix + "compact"

// compactBytes bounds a transaction of the copy.
const compactBytes = 16 << 20

// CompactOptions are what Compact can be told. Nil and the zero value are valid.
type CompactOptions struct {
	// KeepBlob says which blobs stay; nil keeps all.
	KeepBlob func(journal.Hash) bool

	step func(string) error // for tests: called before each step
}

// Compacted is what Compact did.
type Compacted struct {
	// Before and After are the bytes of all files.
	Before, After int64
	// Blobs and BlobBytes were dropped.
	Blobs     int64
	BlobBytes int64
}

// Compact rewrites log.db and index.db without the room that is not used, and drops blobs. The journal takes no more writes from then on: close it
// afterwards, and open it again.
//
// It can be interrupted at any point, by kill -9 or for want of room: the directory then holds the old files or the new ones, and both hold
// the same records. The old files are verified before, and the new ones before they take their place.
func (j *Journal) Compact(ctx context.Context, o *CompactOptions) (c Compacted, err error) {
	if o == nil {
		o = &CompactOptions{}
	}
	step := o.step
	if step == nil {
		step = func(string) error { return nil }
	}
	j.stopWrites()
	c.Before = j.Size()
	want, err := j.Verify(ctx)
	if err != nil {
		return c, err
	}
	temp := filepath.Join(j.dir, compactDir)
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"copy", func() error { return j.copyLog(temp) }},
		{"verify", func() error { return verifyCopy(ctx, temp, want) }},
		{"log", func() error { return j.replace(temp, logFile) }},
		{"index", func() error { return j.replace(temp, indexFile) }},
		{"blobs", func() error { return j.dropBlobs(o.KeepBlob, &c) }},
	} {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		err := step(s.name)
		if err == nil {
			err = s.do()
		}
		if err != nil {
			return c, fmt.Errorf("compact %s: %s: %w", j.dir, s.name, fullOr(err))
		}
	}
	c.After = j.Size()
	return c, step("done")
}

// stopWrites commits what was submitted and refuses what comes.
func (j *Journal) stopWrites() {
	j.queue.Close()
	j.committer.Wait()
}

// copyLog makes a journal in dir that has the records of this one, and no more room than they need.
func (j *Journal) copyLog(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	copied, err := openDB(filepath.Join(dir, logFile), logPageSize, 0, false)
	if err != nil {
		return err
	}
	copied.NoSync = true // until all of it is there
	err = guard(&journal.DamageError{File: logFile}, func() error { return bbolt.Compact(copied, j.log, compactBytes) })
	if err == nil {
		err = copied.Sync()
	}
	if e := copied.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return writeFormat(dir)
}

// verifyCopy opens the journal in dir, which makes its index, and reads all of it.
func verifyCopy(ctx context.Context, dir string, want journal.Report) error {
	j, err := Open(dir, nil)
	if err != nil {
		return err
	}
	got, err := j.Verify(ctx)
	if e := j.Close(); err == nil {
		err = e
	}
	if err == nil && got != want {
		err = fmt.Errorf("the copy has %+v, expected %+v", got, want)
	}
	return err
}

// replace puts a file of dir into the place of this journal's, durably. The old one stays open, without a name, until Close.
func (j *Journal) replace(dir, name string) error {
	if err := os.Rename(filepath.Join(dir, name), filepath.Join(j.dir, name)); err != nil {
		return err
	}
	return syncDir(j.dir)
}

func (j *Journal) dropBlobs(keep func(journal.Hash) bool, c *Compacted) error {
	if keep == nil {
		return nil
	}
	return j.walkBlobs(func(path string, d fs.DirEntry) error {
		h, ok := hashOfBlob(path)
		if !ok || keep(h) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		j.blobBytes.Add(-info.Size())
		c.Blobs++
		c.BlobBytes += info.Size()
		return nil
	})
}

// hashOfBlob tells from its path which blob a file is.
func hashOfBlob(path string) (h journal.Hash, ok bool) {
	name, err := hex.DecodeString(filepath.Base(filepath.Dir(path)) + filepath.Base(path))
	return h, err == nil && len(name) == len(h) && copy(h[:], name) == len(h)
}
