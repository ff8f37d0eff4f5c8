package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// file is a file that goes with a message: one that the program has written, or its bytes.
type file struct {
	Path string `json:"path,omitempty"`
	// Base64 are the bytes; nil when Path is given.
	Base64    []byte `json:"base64,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`

	data []byte
}

// readFiles reads the files of a line at once: the program may take them away when it ends.
func (l *line) readFiles(dir string) error {
	room := MaxFileBytes
	for i := range l.files {
		f := &l.files[i]
		if err := f.read(dir, room); err != nil {
			return fmt.Errorf("files[%d]: %w", i, err)
		}
		room -= len(f.data)
	}
	return nil
}

// nowhere reports whether it does not say where the file is, or says it twice.
func (f file) nowhere() bool { return (f.Path == "") == (f.Base64 == nil) }

func (f *file) read(dir string, room int) error {
	switch {
	case f.Path == "":
		f.data = f.Base64
	default:
		var err error
		if f.data, err = readRegular(dir, f.Path, room); err != nil {
			return err
		}
		if f.Name == "" {
			f.Name = filepath.Base(f.Path)
		}
	}
	if len(f.data) > room {
		return fmt.Errorf("the files of the message are larger than %d MiB together: expected at most that", MaxFileBytes>>20)
	}
	return nil
}

// readRegular reads a file, if it is one: no pipe that never ends, no device.
func readRegular(dir, path string, room int) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|doNotWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s: expected a regular file", path, info.Mode().Type())
	}
	return io.ReadAll(io.LimitReader(f, int64(room)+1))
}
