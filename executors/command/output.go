package command

import (
	"bytes"
	"fmt"
	"sync"
)

// output splits stdout into lines. It never blocks the program: lines that were not fetched are
// kept, up to MaxOutputBytes.
type output struct {
	wake chan struct{} // signals lines to fetch

	mu      sync.Mutex // guards the fields below
	total   int        // bytes
	count   int        // lines
	partial []byte
	lines   [][]byte
	failed  error
}

func newOutput() *output { return &output{wake: make(chan struct{}, 1)} }

// The causes for which a program is stopped.
var (
	errOutputLimit = fmt.Errorf("output_limit: the program wrote more than %d MiB to stdout", MaxOutputBytes>>20)
	errLinesLimit  = fmt.Errorf("lines_limit: the program wrote more than %d lines to stdout", MaxLines)
	errLineLimit   = fmt.Errorf("line_limit: the program wrote a line of more than %d KiB to stdout",
		MaxLineBytes>>10)
)

// Write adds output of the program. After a limit is exceeded it fails, which stops the program.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		return 0, o.failed
	}
	if o.total += len(b); o.total > MaxOutputBytes {
		return 0, o.failLocked(errOutputLimit)
	}
	rest := b
	for {
		line, after, found := bytes.Cut(rest, []byte{'\n'})
		o.partial = append(o.partial, line...)
		if len(o.partial) > MaxLineBytes {
			return 0, o.failLocked(errLineLimit)
		}
		if !found {
			break
		}
		if o.count++; o.count > MaxLines {
			return 0, o.failLocked(errLinesLimit)
		}
		o.lines = append(o.lines, o.partial)
		o.partial, rest = nil, after
	}
	if len(o.lines) > 0 {
		signal(o.wake)
	}
	return len(b), nil
}

func (o *output) failLocked(err error) error {
	o.failed, o.partial, o.lines = err, nil, nil
	return err
}

// fetch returns the lines since the last fetch.
func (o *output) fetch() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.lines
	o.lines = nil
	return lines
}

// end returns the last lines, including text after the last line break. The program must have
// ended.
func (o *output) end() [][]byte {
	lines := o.fetch()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.partial) > 0 {
		lines, o.partial = append(lines, o.partial), nil
	}
	return lines
}

func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
