package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// file is a file of a message: the path of a file that the program wrote, or the data.
type file struct {
	Path string `json:"path,omitempty"`
	// Base64 is the data. It is nil if Path is set.
	Base64    []byte `json:"base64,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`

	data []byte
}

// readFiles reads the files of a line at once, because the program may remove them before it ends.
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

// isAmbiguous reports whether neither or both of path and base64 are set.
func (f file) isAmbiguous() bool { return (f.Path == "") == (f.Base64 == nil) }

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
		return fmt.Errorf("the files of the message have more than %d MiB in total", MaxFileBytes>>20)
	}
	return nil
}

// readRegular reads a regular file. It refuses pipes and devices, which may block.
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
