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

// Bounds of a Store, in bytes. A Store that would exceed them is emptied, because its vectors can
// be computed again.
const (
	// MaxFileBytes bounds the file.
	MaxFileBytes = 1 << 30
	// maxMemoryBytes bounds a Store that has no file.
	maxMemoryBytes = 64 << 20
)

// Store stores vectors by embedder and text, in a file or in memory. It is safe for concurrent use.
// Only one process may use the file.
type Store struct {
	// OnAside, if not nil, is called with the new name of a file that was foreign or damaged. It
	// must be set before the Store is used, and must not use it.
	OnAside func(name string)

	path string
	max  int64

	mu     sync.Mutex // guards the fields below
	opened bool
	closed bool
	file   *os.File
	size   int64 // of the whole records, or of the memory
	places map[key]place
	memory map[key][]float32
}

// place is the offset of a record in the file, and its dimensions.
type place struct {
	at         int64
	dimensions int
}

// NewStore returns a Store on a file, which is opened or created at the first use. If path is
// empty, the Store is in memory.
func NewStore(path string) *Store {
	s := &Store{path: path, max: MaxFileBytes}
	if path == "" {
		s.max = maxMemoryBytes
	}
	return s
}

// openLocked opens the file. It renames a foreign or damaged file and creates a new one. It cuts
// off an incomplete record at the end.
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
		if f, err = s.startNewFile(); err == nil {
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

// startNewFile renames the file to an unused name, and creates an empty one.
func (s *Store) startNewFile() (*os.File, error) {
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

// errDamaged is returned by scanLocked for a file that no Store wrote.
var errDamaged = errors.New("vector: the file is damaged, or of something else")

// scanLocked indexes the records of a file, and returns where the last whole one ends. It starts an
// empty file.
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
			return at, nil // incomplete
		}
		if err != nil {
			return 0, err
		}
		if !whole(record) {
			if at+int64(len(record)) == info.Size() {
				return at, nil // incomplete: its last bytes were never written
			}
			return 0, errDamaged
		}
		s.places[key(record[4:headBytes])] = place{at: at, dimensions: dimensionsOf(record)}
		at += int64(len(record))
	}
	return at, nil
}

// readRecord reads one record, which may be damaged. It fails with io.ErrUnexpectedEOF if the file
// ends in it.
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

// Get returns the stored vectors of some texts. A vector is nil if it is missing, or if dimensions
// is not 0 and differs. After an error all are nil, because nothing can be stored.
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
		delete(s.places, k) // it changed since it was indexed
		return nil
	}
	return vectorOf(record)
}

// Put stores vectors of texts. After an error some may be missing; those before are kept.
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
		_ = s.file.Truncate(s.size) // if this fails too, the record is incomplete
		return err
	}
	s.places[k] = place{at: s.size, dimensions: len(v)}
	s.size += n
	return nil
}

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

// Close closes the file. After that, Get and Put fail.
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
