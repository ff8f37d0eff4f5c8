package bolt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Look tells about a directory without opening the journal and without writing anything: whether there is one, and whether it is open
// somewhere. It fails with journal.ErrFormat if it is of another version and with ErrNotEmpty where Open would make no new one.
//
// A hub that is started in the same instant may find the directory locked; it tries again.
func Look(dir string) (exists, inUse bool, err error) {
	if _, err := os.ReadDir(dir); err != nil {
		return false, false, err
	}
	if !Exists(dir) {
		return false, false, checkEmpty(dir)
	}
	if _, err := readFormat(dir); err != nil {
		return true, false, err
	}
	inUse, err = locked(filepath.Join(dir, lockFile))
	return true, inUse, err
}

// locked says whether somebody holds the lock in a file.
func locked(name string) (bool, error) {
	lock := flock.New(name, flock.SetFlag(os.O_RDONLY)) // which makes no file
	got, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !got && err == nil, errors.Join(err, lock.Close())
}
