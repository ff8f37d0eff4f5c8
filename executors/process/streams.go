package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// outputWait is how long output is read after all processes ended, if another process keeps it
	// open.
	outputWait = time.Second
	// closedWait is how long a stream may take to notice that it is closed.
	closedWait = 100 * time.Millisecond
)

var streamNames = [3]string{"stdin", "stdout", "stderr"}

// streams copy the input and output of a program.
type streams struct {
	theirs  [3]*os.File // the files of the program
	ours    [3]*os.File // the other ends; may be nil
	stdin   io.Reader
	outputs [3]io.Writer
	stop    func(cause error)
	ended   [3]chan struct{} // closed at the end of each stream
}

// openStreams creates the streams of a program. A stream that fails calls stop.
func openStreams(s *Spec, stop func(error)) (*streams, error) {
	st := &streams{stdin: s.Stdin, outputs: [3]io.Writer{1: s.Stdout, 2: s.Stderr}, stop: stop}
	for i := range st.theirs {
		if err := st.open(i); err != nil {
			st.closeTheirs()
			st.closeOurs()
			return nil, fmt.Errorf("make the program's %s: %w", streamNames[i], err)
		}
	}
	return st, nil
}

func (st *streams) open(i int) (err error) {
	switch {
	case i == 0 && st.stdin != nil:
		st.theirs[i], st.ours[i], err = os.Pipe()
	case st.outputs[i] != nil:
		st.ours[i], st.theirs[i], err = os.Pipe()
	default:
		st.theirs[i], err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
	}
	return err
}

func (st *streams) closeTheirs() { closeAll(st.theirs) }

func (st *streams) closeOurs() { closeAll(st.ours) }

func closeAll(files [3]*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// begin starts copying.
func (st *streams) begin() {
	for i, f := range st.ours {
		st.ended[i] = make(chan struct{})
		if f == nil {
			close(st.ended[i])
			continue
		}
		go func() {
			defer close(st.ended[i])
			var err error
			if i == 0 {
				err = feed(f, st.stdin)
			} else {
				err = take(f, st.outputs[i])
			}
			f.Close()
			if err != nil {
				st.stop(fmt.Errorf("%s of the program: %w", streamNames[i], err))
			}
		}()
	}
}

// feed copies stdin to the program. It ignores that the program closed its end.
func feed(w *os.File, r io.Reader) error {
	_, err := io.Copy(w, r)
	var write *os.PathError
	if errors.As(err, &write) && write.Op == "write" && write.Path == w.Name() {
		return nil
	}
	return err
}

// take copies an output. It returns only errors of the writer.
func take(r *os.File, w io.Writer) error {
	buf := make([]byte, 32<<10)
	for {
		n, end := r.Read(buf)
		if n > 0 {
			if m, err := w.Write(buf[:n]); err != nil {
				return err
			} else if m < n {
				return io.ErrShortWrite
			}
		}
		if end != nil {
			return nil
		}
	}
}

// finish waits until all output is written. Call it after the end of the program.
func (st *streams) finish() error {
	if st.ours[0] != nil {
		st.ours[0].Close() // even if another process has the other end
	}
	if !st.gather(outputWait, 1, 2) {
		st.closeOurs() // another process keeps it open, or its writer is slow
	}
	if !st.gather(closedWait, 1, 2) {
		return errors.New("the output of the program was not written in time")
	}
	st.gather(closedWait, 0) // its reader may block for long
	return nil
}

// gather waits for the ends of some streams. It returns false on a timeout.
func (st *streams) gather(most time.Duration, which ...int) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for _, i := range which {
		select {
		case <-st.ended[i]:
		case <-timer.C:
			return false
		}
	}
	return true
}
