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

// Mode says what a cassette is for.
type Mode string

// The modes.
const (
	// Record asks, and adds what comes to what is there. A run that is to be played back by itself wants a file of its own.
	Record Mode = "record"
	// Play asks nobody.
	Play Mode = "play"
	// Auto plays back what is there, and records what is not.
	Auto Mode = "auto"
)

// Valid reports whether m is a known mode.
func (m Mode) Valid() bool { return m == Record || m == Play || m == Auto }

// Sentinels.
var (
	// ErrNotRecorded is a *MissingError.
	ErrNotRecorded = errors.New("not_recorded")
	// ErrNoCassette is a file that is none, or is damaged before its last line.
	ErrNoCassette = errors.New("no_cassette")
)

// Options are for Open. Nil plays back.
type Options struct {
	// Mode is Play unless given.
	Mode Mode
	// Secrets are texts, such as keys, that never come into the cassette: [secret] stands in their place.
	Secrets []string
	// Logger hears of broken lines; nil, nobody does.
	Logger *slog.Logger
}

// Cassette is what was recorded. It is safe for concurrent use.
type Cassette struct {
	path    string
	mode    Mode
	secrets []string
	lock    *flock.Flock // of the file that is written; nil for one that nobody else knows

	mu      sync.Mutex // guards the fields below
	file    *os.File   // nil when nothing is written, or Close was called
	failed  error      // why nothing more is written
	entries []*entry
	// left are the entries that were not played back yet, by their hash.
	left   map[string][]*entry
	played map[string]int
	broken []string
}

// Open opens a cassette: a file, which Record and Auto make where there is none, or a directory. It fails with ErrNoCassette, and with parley.ErrAlreadyExists where another process
// records to the same file.
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
			o.Logger.Warn("the last line of the cassette is not whole, and is left out", "place", place)
		}
	}
	return c, nil
}

func (c *Cassette) open() error {
	if c.mode != Play {
		if err := c.begin(); err != nil {
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
	return c.mend(was)
}

// begin opens the file to be written.
func (c *Cassette) begin() error {
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
			"one process for each file; or a directory, where each has its own")
	}
	c.lock = lock
	return nil
}

// mend cuts a broken last line off, so that the next one is whole, and begins a new file.
func (c *Cassette) mend(was *contents) error {
	size := was.whole
	if isDir(c.path) {
		size = 0 // it is new
	}
	if err := c.file.Truncate(size); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if size > 0 {
		return nil
	}
	return c.write([]byte(firstLine + "\n"))
}

// Broken are the places, as file:line, of last lines that were not whole.
func (c *Cassette) Broken() []string { return slices.Clone(c.broken) }

// Providers are the names of the providers that were recorded, each once: those that Player can play.
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

// Left is how many recorded answers were not played back.
func (c *Cassette) Left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, entries := range c.left {
		n += len(entries)
	}
	return n
}

// Close ends the recording. What was recorded is on disk.
func (c *Cassette) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.file != nil {
		err = errors.Join(c.file.Sync(), c.file.Close())
		c.file = nil
	}
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close()) // its file stays: who removes it may take it from under another one
		c.lock = nil
	}
	return err
}

// take gives the next answer to a request: a whole one as long as there is one.
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

// add records an entry. An error says that it is not in the cassette, nor will any other be.
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

// write writes a line whole, by one call.
func (c *Cassette) write(line []byte) error {
	_, err := c.file.Write(line)
	return err
}
