package bolt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parleyhub/parley/hub/journal"
)

// blobPath returns blobs/ab/cdef..., relative to the directory.
func blobPath(h journal.Hash) string {
	name := hex.EncodeToString(h[:])
	return filepath.Join(blobDir, name[:2], name[2:])
}

// PutBlob keeps data under its hash: when it returns, durably. It writes the file whether it is there or not: so who puts it cannot tell by
// the time whether somebody has put it before, and a damaged one is mended.
func (j *Journal) PutBlob(data []byte) (journal.Hash, error) {
	if j.isClosed() {
		return journal.Hash{}, journal.ErrClosed
	}
	h := journal.Hash(sha256.Sum256(data))
	path := filepath.Join(j.dir, blobPath(h))
	if err := j.makeShelf(filepath.Dir(path)); err != nil {
		return journal.Hash{}, fullOr(err)
	}
	before, statErr := os.Stat(path)
	if err := writeFile(path, filepath.Join(j.dir, blobDir), data); err != nil {
		return journal.Hash{}, fullOr(err)
	}
	j.blobBytes.Add(int64(len(data)))
	if statErr == nil {
		j.blobBytes.Add(-before.Size())
	}
	return h, nil
}

// makeShelf makes a directory of blobs, durably. One that is there may be from an attempt that has failed, or was killed, before its name was on the disk: the
// name is synced once by each journal that is open.
func (j *Journal) makeShelf(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, known := j.shelves.Load(dir); known && err != nil {
		return nil
	}
	if err := syncDir(filepath.Dir(dir)); err != nil {
		return err
	}
	j.shelves.Store(dir, nil)
	return nil
}

// GetBlob returns the data of a hash.
func (j *Journal) GetBlob(h journal.Hash) ([]byte, error) {
	if j.isClosed() {
		return nil, journal.ErrClosed
	}
	data, err := os.ReadFile(filepath.Join(j.dir, blobPath(h)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, journal.ErrNoBlob
	}
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != h {
		return nil, &journal.DamageError{File: filepath.ToSlash(blobPath(h)), What: "hash of the blob"}
	}
	return data, nil
}

// walkBlobs calls fn for each file under blobs. It removes those that were not finished.
func (j *Journal) walkBlobs(fn func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(filepath.Join(j.dir, blobDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return fn(path, d)
	})
}

func (j *Journal) sizeBlobs() error {
	return j.walkBlobs(func(path string, d fs.DirEntry) error {
		if strings.HasPrefix(d.Name(), tempPrefix) {
			return os.Remove(path)
		}
		info, err := d.Info()
		if err == nil {
			j.blobBytes.Add(info.Size())
		}
		return err
	})
}

func (j *Journal) verifyBlobs(ctx context.Context) error {
	return j.walkBlobs(func(path string, d fs.DirEntry) error {
		if strings.HasPrefix(d.Name(), tempPrefix) {
			return nil
		}
		h, ok := hashOfBlob(path)
		if !ok {
			return nil // not ours
		}
		if _, err := j.GetBlob(h); err != nil {
			return err
		}
		return ctx.Err()
	})
}

// makeDir makes a directory whose parent exists, durably.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}
