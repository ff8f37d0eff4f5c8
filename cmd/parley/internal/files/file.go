// Package files writes files that are complete or missing, never partial.
//
//	f, err := files.Create(name)
//	defer f.Discard()
//	...
//	err = f.Commit()
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// CommitNew is commit for a name that nothing has yet.
func (f *File) CommitNew() error {
	err := f.Temp.Sync()
	if e := f.Temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Link(f.Temp.Name(), f.Name) // fails where something has the name
	}
	if errors.Is(err, os.ErrExist) {
		return exit.WithHint(fmt.Errorf("%s is there already", f.Name), "use --to FILE to replace it")
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.Name))
}

// IsIrregular reports whether something other than a regular file has this name.
func IsIrregular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular()
}

// IsBelow reports whether a file is, or would be, in a directory or below it.
func IsBelow(name, dir string) bool {
	return strings.HasPrefix(config.Real(name), strings.TrimSuffix(config.Real(dir), string(filepath.Separator))+
		string(filepath.Separator))
}

// File is a file that takes its name when all of it is written and durable. Until then it lies
// beside it under another.
type File struct {
	Temp  *os.File
	Name  string
	Bytes int64 // written
	Done  bool
}

// Create begins a file that only its owner may read.
func Create(name string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".tmp-*") // mode 0600
	if refused := (*fs.PathError)(nil); errors.As(err, &refused) {
		refused.Path = filepath.Dir(name) // the temporary name means nothing to the user
	}
	if err != nil {
		return nil, err
	}
	return &File{Temp: f, Name: name}, nil
}

// CheckReplaceable refuses a name at which a whole file would break something else: a device, a
// directory, the files of a log.
func CheckReplaceable(name string) error {
	if name == "" {
		return exit.Usagef("FILE is empty: name a file, or - for stdout")
	}
	if IsIrregular(name) {
		return fmt.Errorf("%s is no regular file; - is stdout", name)
	}
	if bolt.Exists(filepath.Dir(config.Real(name))) || bolt.Exists(filepath.Dir(name)) {
		return fmt.Errorf("%s: the directory holds the log of a hub, and nothing else belongs there", name)
	}
	return nil
}

func (f *File) Write(b []byte) (int, error) {
	n, err := f.Temp.Write(b)
	f.Bytes += int64(n)
	return n, err
}

// Commit makes the file durable and renames it. It replaces an existing file.
func (f *File) Commit() error {
	err := f.Temp.Sync()
	if e := f.Temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Temp.Name(), f.Name)
	}
	if err != nil {
		return err
	}
	f.Done = true
	return syncDir(filepath.Dir(f.Name))
}

// Discard removes a file that was not committed.
func (f *File) Discard() {
	if f.Done {
		return
	}
	f.Temp.Close()
	os.Remove(f.Temp.Name())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Spool copies what can be read once to a temporary file without a name, to be read as often as
// need be. Close it.
func Spool(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "parley-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // now, so that nothing is left whatever happens
		return nil, errors.Join(err, f.Close())
	}
	if _, err := io.Copy(f, r); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
