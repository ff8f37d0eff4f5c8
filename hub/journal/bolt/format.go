package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/parleyhub/parley/hub/journal"
)

// FormatVersion is the version of the data directory that this package writes and reads.
const FormatVersion = 1

const (
	formatFile   = "FORMAT"
	lockFile     = "LOCK"
	logFile      = "log.db"
	indexFile    = "index.db"
	blobDir      = "blobs"
	formatPrefix = "parley journal "
)

// Exists reports whether a directory holds a journal, of whatever version, or a part of one.
func Exists(dir string) bool { return Find(dir) == nil }

// Find is Exists that says why not: fs.ErrNotExist where there is none, and another error where that cannot be seen.
func Find(dir string) error {
	_, err := os.Stat(filepath.Join(dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Join(dir, logFile))
	}
	return err
}

// ErrNotEmpty: the directory is no journal's and holds something else.
var ErrNotEmpty = errors.New("journal: directory holds something else")

// checkEmpty refuses a new journal beside files that are not a journal's: a mistyped path should not become one.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if name != lockFile && name != blobDir && name != indexFile && name != "lost+found" && !strings.HasPrefix(name, tempPrefix) {
			return fmt.Errorf("%w: %s has %q and no journal", ErrNotEmpty, dir, name)
		}
	}
	return nil
}

// readFormat checks the directory's format version and reports whether the directory is new.
func readFormat(dir string) (fresh bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, formatFile))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	found, ok := strings.CutPrefix(strings.TrimSuffix(string(b), "\n"), formatPrefix)
	version, err := strconv.Atoi(found)
	if !ok || err != nil || version != FormatVersion {
		return false, fmt.Errorf("%w: %s in %s says %.60q, this version reads %q",
			journal.ErrFormat, formatFile, dir, b, formatPrefix+strconv.Itoa(FormatVersion))
	}
	return false, nil
}

// checkFormat refuses a directory of another version.
func checkFormat(dir string) error {
	_, err := readFormat(dir)
	return err
}

func writeFormat(dir string) error {
	return writeFile(filepath.Join(dir, formatFile), dir, []byte(formatPrefix+strconv.Itoa(FormatVersion)+"\n"))
}

// writeFile makes a file that is there whole or not at all, also after a power cut. tmpDir is on the same file system.
func writeFile(path, tmpDir string, data []byte) (err error) {
	f, err := os.CreateTemp(tmpDir, tempPrefix) // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
