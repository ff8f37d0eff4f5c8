package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// suffix is the suffix of the files in a directory.
const suffix = ".jsonl"

// maxFiles limits the files in a directory.
const maxFiles = 10_000

// contents is the content of a cassette.
type contents struct {
	entries []*entry
	// broken has the positions of incomplete last lines. whole is the size of the last file without
	// such a line.
	broken []string
	whole  int64
}

// read reads a file, or all files of a directory in the order of their names. A missing file is
// empty.
func read(path string) (*contents, error) {
	c := &contents{}
	files := []string{path}
	if isDir(path) {
		var err error
		if files, err = filepath.Glob(filepath.Join(escapeGlob(path), "*"+suffix)); err != nil {
			return nil, err
		}
		slices.Sort(files)
	}
	for _, f := range files {
		if err := c.read(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return c, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// escapeGlob escapes the name of a directory for filepath.Glob.
func escapeGlob(dir string) string {
	var b bytes.Buffer
	for _, r := range dir {
		if bytes.ContainsRune([]byte(`*?[\`), r) && filepath.Separator != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (c *contents) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	c.whole = 0
	for number := 1; ; number++ {
		line, err := r.ReadBytes('\n')
		place := fmt.Sprintf("%s:%d", path, number)
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF):
			c.broken = append(c.broken, place)
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := c.add(number, place, line); err != nil {
			return err
		}
		c.whole += int64(len(line))
	}
}

// add parses one complete line.
func (c *contents) add(number int, place string, line []byte) error {
	if number == 1 {
		var h header
		if err := json.Unmarshal(line, &h); err != nil || h.Cassette == 0 {
			return fmt.Errorf("%s: %w: expected a cassette with the first line %s", place, ErrNoCassette, firstLine)
		}
		if h.Cassette != Version {
			return fmt.Errorf("%s: %w: expected version %d, but the cassette has version %d", place, ErrNoCassette, Version,
				h.Cassette)
		}
		return nil
	}
	e := &entry{}
	if err := json.Unmarshal(line, e); err != nil || !e.isValid() {
		return fmt.Errorf("%s: %w: expected an exchange", place, ErrNoCassette)
	}
	e.place = place
	c.entries = append(c.entries, e)
	return nil
}

// isValid reports whether an entry is complete and consistent.
func (e *entry) isValid() bool {
	if (e.Provider == "") == (e.Tool == "") || len(e.Request) == 0 {
		return false
	}
	ends := 0
	for _, is := range []bool{e.Response != nil, e.Result != nil, e.Error != nil, e.Cut} {
		if is {
			ends++
		}
	}
	return ends == 1
}

var firstLine = fmt.Sprintf(`{"parley_cassette":%d}`, Version)

// openFile opens the file to write: the file at the path, or a new file in a directory.
func openFile(path string) (*os.File, error) {
	if !isDir(path) {
		return os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	}
	for i := range maxFiles {
		f, err := os.OpenFile(filepath.Join(path, fmt.Sprintf("%04d%s", i+1, suffix)),
			os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s has %d files: expected another directory", path, maxFiles)
}
