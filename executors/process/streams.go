package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// outputWait is how long output is read after all is dead, when somebody who is not of the program holds it open.
	outputWait = time.Second
	// closedWait is how long a stream may then take to notice that it is closed.
	closedWait = 100 * time.Millisecond
)

var streamNames = [3]string{"stdin", "stdout", "stderr"}

// streams carry what a program reads and writes.
type streams struct {
	theirs  [3]*os.File // what the program gets
	ours    [3]*os.File // the other ends; nil where there is none
	stdin   io.Reader
	outputs [3]io.Writer
	stop    func(cause error)
	ended   [3]chan struct{} // closed when a stream has come to its end
}

// openStreams makes the streams of a program. One that fails calls stop.
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

// begin starts to carry.
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

// feed writes all of stdin. That the program does not want it is no error.
func feed(w *os.File, r io.Reader) error {
	_, err := io.Copy(w, r)
	var write *os.PathError
	if errors.As(err, &write) && write.Op == "write" && write.Path == w.Name() {
		return nil
	}
	return err
}

// take reads all of an output. Its error is the writer's.
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

// finish waits until all that the program wrote was taken. The program must have ended.
func (st *streams) finish() error {
	if st.ours[0] != nil {
		st.ours[0].Close() // whoever holds the other end now
	}
	if !st.gather(outputWait, 1, 2) {
		st.closeOurs() // somebody else holds it open, or its writer is slow
	}
	if !st.gather(closedWait, 1, 2) {
		return errors.New("what the program wrote was not taken in time")
	}
	st.gather(closedWait, 0) // whose reader may have nothing to say for long
	return nil
}

// gather waits for the ends of some streams. It is false when the time is over before.
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
