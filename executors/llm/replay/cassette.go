package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/parleyhub/parley"
)

// Mode is the use of a cassette.
type Mode string

// The modes.
const (
	// Record calls the providers and appends their answers to the cassette. Use a new file for each
	// run that should be replayed alone.
	Record Mode = "record"
	// Play replays answers only.
	Play Mode = "play"
	// Auto replays recorded answers, and records all others.
	Auto Mode = "auto"
)

// Valid reports whether m is a known mode.
func (m Mode) Valid() bool { return m == Record || m == Play || m == Auto }

// Sentinel errors.
var (
	// ErrNotRecorded matches every *MissingError.
	ErrNotRecorded = errors.New("not_recorded")
	// ErrNoCassette is a file that is not a cassette, or is damaged before its last line.
	ErrNoCassette = errors.New("no_cassette")
)

// Options are the options of Open. Nil replays.
type Options struct {
	// Mode defaults to Play.
	Mode Mode
	// Secrets are texts, such as keys, that are replaced by [secret] in the cassette.
	Secrets []string
	// Logger receives warnings about damaged lines. It may be nil.
	Logger *slog.Logger
}

// Cassette is a recording. It is safe for concurrent use.
type Cassette struct {
	path    string
	mode    Mode
	secrets []string
	lock    *flock.Flock // lock of the written file; nil if no other process can know the file

	mu      sync.Mutex // guards the fields below
	file    *os.File   // nil if nothing is written, or after Close
	failed  error      // the error after which nothing is written
	entries []*entry
	// left has the entries by hash that were not replayed yet.
	left   map[string][]*entry
	played map[string]int
	broken []string
}

// Open opens a cassette: a file, which Record and Auto create if it is missing, or a directory. It
// returns ErrNoCassette for another file, and parley.ErrAlreadyExists if another process records to
// the same file.
func Open(path string, o *Options) (*Cassette, error) {
	if o == nil {
		o = &Options{}
	}
	c := &Cassette{path: path, mode: cmp.Or(o.Mode, Play), left: map[string][]*entry{}, played: map[string]int{}}
	for _, s := range o.Secrets {
		if s != "" {
			c.secrets = append(c.secrets, strings.Trim(string(encode(s)), `"`))
		}
	}
	if !c.mode.Valid() {
		return nil, fmt.Errorf("expected %s, %s or %s", Record, Play, Auto)
	}
	if err := c.open(); err != nil {
		_ = c.Close()
		return nil, err
	}
	if o.Logger != nil {
		for _, place := range c.broken {
			o.Logger.Warn("the last line of the cassette is incomplete and is ignored", "place", place)
		}
	}
	return c, nil
}

func (c *Cassette) open() error {
	if c.mode != Play {
		if err := c.openForWriting(); err != nil {
			return err
		}
	} else if _, err := os.Stat(c.path); err != nil {
		return fmt.Errorf("expected a cassette: %w", err)
	}
	was, err := read(c.path)
	if err != nil {
		return err
	}
	c.broken = was.broken
	for _, e := range was.entries {
		if c.entries = append(c.entries, e); c.mode == Play || c.mode == Auto && e.succeeded() {
			c.left[e.Hash] = append(c.left[e.Hash], e)
		}
	}
	if c.file == nil {
		return nil
	}
	return c.repair(was)
}

// openForWriting opens the file to write, and locks it.
func (c *Cassette) openForWriting() error {
	f, err := openFile(c.path)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	c.file = f
	if isDir(c.path) {
		return nil
	}
	lock := flock.New(f.Name()+".lock", flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if !held {
		return parley.Refuse(parley.ErrAlreadyExists, "another process records to "+f.Name(),
			"one process for each file, or a directory, in which each process has its own file")
	}
	c.lock = lock
	return nil
}

// repair removes an incomplete last line. It writes the first line of a new file.
func (c *Cassette) repair(was *contents) error {
	size := was.whole
	if isDir(c.path) {
		size = 0 // the file is new
	}
	if err := c.file.Truncate(size); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if size > 0 {
		return nil
	}
	return c.write([]byte(firstLine + "\n"))
}

// Broken returns the positions of incomplete last lines, as file:line.
func (c *Cassette) Broken() []string { return slices.Clone(c.broken) }

// Providers returns the names of the recorded providers. Player can replay them.
func (c *Cassette) Providers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, e := range c.entries {
		if e.Provider != "" && !slices.Contains(names, e.Provider) {
			names = append(names, e.Provider)
		}
	}
	slices.Sort(names)
	return names
}

// Left returns the number of recorded answers that were not replayed.
func (c *Cassette) Left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, entries := range c.left {
		n += len(entries)
	}
	return n
}

// Close ends the recording and syncs the file.
func (c *Cassette) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.file != nil {
		err = errors.Join(c.file.Sync(), c.file.Close())
		c.file = nil
	}
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close()) // the lock file stays, because another process may already use it
		c.lock = nil
	}
	return err
}

// take returns the next answer to a request. Incomplete answers come last.
func (c *Cassette) take(hash string) (*entry, bool) {
	if c.mode == Record {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.left[hash]
	if len(left) == 0 {
		return nil, false
	}
	i := max(slices.IndexFunc(left, func(e *entry) bool { return !e.Cut }), 0)
	e := left[i]
	c.left[hash] = slices.Delete(left, i, i+1)
	c.played[hash]++
	return e, true
}

// add records an entry. After an error, nothing more is recorded.
func (c *Cassette) add(e *entry) error {
	if c.splitsSecret(e) {
		e.Chunks = merged(e.Chunks)
	}
	line := encode(e)
	for _, s := range c.secrets {
		line = bytes.ReplaceAll(line, []byte(s), []byte("[secret]"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil && c.file == nil {
		c.failed = os.ErrClosed
	}
	if c.failed != nil {
		return fmt.Errorf("record to %s: %w", c.path, c.failed)
	}
	if err := c.write(append(line, '\n')); err != nil {
		c.failed = err
		return fmt.Errorf("record to %s: %w", c.path, err)
	}
	e.place = c.file.Name() + ": recorded by this process"
	c.entries = append(c.entries, e)
	return nil
}

// write writes a line with one system call.
func (c *Cassette) write(line []byte) error {
	_, err := c.file.Write(line)
	return err
}
