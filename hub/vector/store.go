package vector

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Bounds of a Store, in bytes. What would pass them begins anew: the vectors are derived.
const (
	// MaxFileBytes bounds the file.
	MaxFileBytes = 1 << 30
	// MaxMemoryBytes bounds a Store that has no file.
	MaxMemoryBytes = 64 << 20
)

// Store keeps vectors by embedder and text, in a file or in memory. It is safe for concurrent use. One process at a time has the file.
type Store struct {
	// OnAside, unless nil, is told by which name a file was set aside that was foreign or damaged. It is set before the Store is used, and does not use it.
	OnAside func(name string)

	path string
	max  int64

	mu     sync.Mutex // guards the fields below
	opened bool
	closed bool
	file   *os.File
	size   int64 // of what was written whole, or of the memory
	places map[key]place
	memory map[key][]float32
}

// place is where a record begins in the file, and how many numbers it has.
type place struct {
	at         int64
	dimensions int
}

// NewStore makes a Store on a file, which is opened, or made, when it is used first; in memory where path is empty.
func NewStore(path string) *Store {
	s := &Store{path: path, max: MaxFileBytes}
	if path == "" {
		s.max = MaxMemoryBytes
	}
	return s
}

// openLocked reads the file. One that is foreign or damaged is set aside, and a new one made; what is torn at the end is cut off.
func (s *Store) openLocked() error {
	switch {
	case s.closed:
		return fmt.Errorf("vector: %w", fs.ErrClosed)
	case s.opened:
		return nil
	}
	s.places, s.memory = make(map[key]place), make(map[key][]float32)
	if s.path == "" {
		s.opened = true
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("vector: open: %w", err)
	}
	size, err := s.scanLocked(f)
	if errors.Is(err, errDamaged) {
		_ = f.Close() // it was only read
		if f, err = s.anew(); err == nil {
			size, err = s.scanLocked(f)
		}
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		clear(s.places)
		return fmt.Errorf("vector: open %s: %w", s.path, err)
	}
	s.file, s.size, s.opened = f, size, true
	return nil
}

// anew renames the file, to a name that nothing has, and makes an empty one.
func (s *Store) anew() (*os.File, error) {
	for i := 0; ; i++ {
		aside := s.path + ".aside"
		if i > 0 {
			aside = fmt.Sprintf("%s%d", aside, i)
		}
		if _, err := os.Lstat(aside); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Rename(s.path, aside); err != nil {
			return nil, err
		}
		if s.OnAside != nil {
			s.OnAside(aside)
		}
		return os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
}

// errDamaged is what scanLocked gives for a file that is not what a Store has written.
var errDamaged = errors.New("vector: the file is damaged, or of something else")

// scanLocked finds the records of a file, and where the last whole one ends. An empty file gets its beginning.
func (s *Store) scanLocked(f *os.File) (int64, error) {
	clear(s.places)
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New("it is no file")
	}
	if info.Size() == 0 {
		_, err := f.WriteAt([]byte(fileMagic), 0)
		return int64(len(fileMagic)), err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, info.Size()), 1<<20)
	magic := make([]byte, len(fileMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != fileMagic {
		return 0, errDamaged
	}
	at := int64(len(fileMagic))
	for at < info.Size() {
		record, err := readRecord(in)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return at, nil // torn
		}
		if err != nil {
			return 0, err
		}
		if !whole(record) {
			if at+int64(len(record)) == info.Size() {
				return at, nil // torn: its last bytes were never written
			}
			return 0, errDamaged
		}
		s.places[key(record[4:headBytes])] = place{at: at, dimensions: dimensionsOf(record)}
		at += int64(len(record))
	}
	return at, nil
}

// readRecord reads one record, which may not be whole. It fails with io.ErrUnexpectedEOF where the file ends before.
func readRecord(in io.Reader) ([]byte, error) {
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, unexpected(err)
	}
	n := dimensionsOf(head)
	if n == 0 {
		return nil, errDamaged
	}
	record := append(make([]byte, 0, recordBytes(n)), head...)[:recordBytes(n)]
	_, err := io.ReadFull(in, record[headBytes:])
	return record, unexpected(err)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Get gives the vectors that are kept for some texts; nil for those that are not, or have another length than dimensions, where that is not 0. An error means that
// nothing can be kept: then none is.
func (s *Store) Get(embedder string, texts []string, dimensions int) ([][]float32, error) {
	out := make([][]float32, len(texts))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLocked(); err != nil {
		return out, err
	}
	for i, text := range texts {
		if v := s.getLocked(keyOf(embedder, text)); dimensions == 0 || len(v) == dimensions {
			out[i] = v
		}
	}
	return out, nil
}

func (s *Store) getLocked(k key) []float32 {
	if v, ok := s.memory[k]; ok {
		return v
	}
	p, ok := s.places[k]
	if !ok {
		return nil
	}
	record := make([]byte, recordBytes(p.dimensions))
	_, err := s.file.ReadAt(record, p.at)
	if err != nil || dimensionsOf(record) != p.dimensions || key(record[4:headBytes]) != k || !whole(record) {
		delete(s.places, k) // it was changed since it was read first
		return nil
	}
	return vectorOf(record)
}

// Put keeps vectors of texts, for later. After an error they may not be kept; what was there before is.
func (s *Store) Put(embedder string, texts []string, vectors [][]float32) error {
	if err := Check(vectors, len(texts)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLocked(); err != nil {
		return err
	}
	for i, text := range texts {
		if err := s.putLocked(keyOf(embedder, text), vectors[i]); err != nil {
			return fmt.Errorf("vector: keep in %s: %w", s.path, err)
		}
	}
	return nil
}

func (s *Store) putLocked(k key, v []float32) error {
	n := int64(recordBytes(len(v)))
	if s.size+n > s.max {
		if err := s.emptyLocked(); err != nil {
			return err
		}
	}
	if s.path == "" {
		if old, ok := s.memory[k]; ok {
			s.size -= int64(recordBytes(len(old)))
		}
		s.memory[k] = append([]float32(nil), v...)
		s.size += n
		return nil
	}
	if _, err := s.file.WriteAt(appendRecord(nil, k, v), s.size); err != nil {
		_ = s.file.Truncate(s.size) // what was written of it; where that fails too, it is torn
		return err
	}
	s.places[k] = place{at: s.size, dimensions: len(v)}
	s.size += n
	return nil
}

// emptyLocked forgets everything.
func (s *Store) emptyLocked() error {
	clear(s.places)
	clear(s.memory)
	s.size = 0
	if s.path == "" {
		return nil
	}
	s.size = int64(len(fileMagic))
	return s.file.Truncate(s.size)
}

// Close gives the file back. Nothing is kept or given after that.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened, s.closed, s.places, s.memory = false, true, nil, nil
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}
