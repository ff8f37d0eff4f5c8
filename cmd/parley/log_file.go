package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// wholeFile is a file that takes its name when all of it is written and durable. Until then it lies beside it under another.
type wholeFile struct {
	file  *os.File
	name  string
	bytes int64 // written
	done  bool
}

// createWhole begins a file that only its owner may read.
func createWhole(name string) (*wholeFile, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".tmp-*") // mode 0600
	if refused := (*fs.PathError)(nil); errors.As(err, &refused) {
		refused.Path = filepath.Dir(name) // nobody knows the other name
	}
	if err != nil {
		return nil, err
	}
	return &wholeFile{file: f, name: name}, nil
}

// mayReplace refuses a name at which a whole file would break something else: a device, a directory, the files of a log.
func mayReplace(name string) error {
	if name == "" {
		return usagef("FILE is empty: give it a name, or - for stdout")
	}
	if isOther(name) {
		return fmt.Errorf("%s is no regular file; - is stdout", name)
	}
	if bolt.Exists(filepath.Dir(config.Real(name))) || bolt.Exists(filepath.Dir(name)) {
		return fmt.Errorf("%s: the directory holds the log of a hub, and nothing else belongs there", name)
	}
	return nil
}

func (f *wholeFile) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	f.bytes += int64(n)
	return n, err
}

// commit makes the file durable and gives it its name; one that had it is replaced.
func (f *wholeFile) commit() error {
	err := f.file.Sync()
	if e := f.file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.file.Name(), f.name)
	}
	if err != nil {
		return err
	}
	f.done = true
	return syncDir(filepath.Dir(f.name))
}

// discard removes a file that was not committed.
func (f *wholeFile) discard() {
	if f.done {
		return
	}
	f.file.Close()
	os.Remove(f.file.Name())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// spool copies what can be read once to a temporary file without a name, to be read as often as need be. Close it.
func spool(r io.Reader) (*os.File, error) {
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
