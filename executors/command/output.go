package command

import (
	"bytes"
	"fmt"
	"sync"
)

// output takes stdout apart into lines. It never makes the program wait: what is not fetched yet is kept, within MaxOutputBytes.
type output struct {
	wake chan struct{} // has one when there may be something to fetch

	mu      sync.Mutex // guards the fields below
	total   int        // bytes
	count   int        // lines
	partial []byte
	lines   [][]byte
	failed  error
}

func newOutput() *output { return &output{wake: make(chan struct{}, 1)} }

// Why a program is stopped.
var (
	errOutputLimit = fmt.Errorf("output_limit: the program has written more than %d MiB to stdout", MaxOutputBytes>>20)
	errLinesLimit  = fmt.Errorf("lines_limit: the program has written more than %d lines to stdout", MaxLines)
	errLineLimit   = fmt.Errorf("line_limit: the program has written a line of more than %d KiB to stdout",
		MaxLineBytes>>10)
)

// Write takes what the program has written. After a limit was passed it takes nothing more, which stops the program.
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

// fetch gives the lines that were written since it was called last.
func (o *output) fetch() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.lines
	o.lines = nil
	return lines
}

// end gives what was written last: with the text behind the last end of a line, if there is any. The program must have ended.
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
