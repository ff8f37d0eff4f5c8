//go:build linux

package process_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/process"
)

var errOver = errors.New("the time is over")

// The end of ctx sends SIGTERM to the group, and SIGKILL to all processes after StopWait.
func TestStop(t *testing.T) {
	const wait = 300 * time.Millisecond
	const itself = "(until grep -q '^State:.T' /proc/$$/status; do :; done; echo ready) & kill -STOP $$; sleep 600" // stopped
	both(t, func(t *testing.T) {
		p := newPool(t)
		for name, c := range map[string]struct {
			text        string
			stopWait    time.Duration
			exit        process.Exit
			least, most time.Duration
		}{
			"it goes": {"echo ready; sleep 600", 2 * inTime, process.Exit{Code: -1, Signal: syscall.SIGTERM}, 0,
				inTime},
			"it ends in order": {"trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done", 2 * inTime,
				process.Exit{Code: 7}, 0, inTime},
			"it says that all is well": {"trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done", 2 * inTime,
				process.Exit{}, 0, inTime},
			"it stays": {"trap '' TERM; echo ready; sleep 600", wait,
				process.Exit{Code: -1, Signal: syscall.SIGKILL}, wait, wait + inTime},
			"a child stays": {"(trap '' TERM; sleep 600) & echo ready; wait", wait,
				process.Exit{Code: -1, Signal: syscall.SIGTERM}, 0, wait + inTime},
			"it has no time": {"trap '' TERM; echo ready; sleep 600", -1,
				process.Exit{Code: -1, Signal: syscall.SIGKILL}, 0, inTime},
			"it was stopped": {itself, wait, process.Exit{Code: -1, Signal: syscall.SIGKILL}, wait, wait + inTime},
		} {
			mark := newMark()
			ctx, cancel := context.WithCancelCause(t.Context())
			s := script(c.text, mark)
			said := newHeard()
			s.Stdout, s.StopWait = said, c.stopWait
			r := startCtx(t, ctx, p, s)
			if got := said.line(t); got != "ready" {
				t.Errorf("%s: printed %q", name, got)
			}
			began := time.Now()
			cancel(errOver)
			err := r.Wait()
			took := time.Since(began)
			noneLeft(t, mark)
			if took < c.least || took > c.most {
				t.Errorf("%s: it took %s", name, took)
			}
			if !errors.Is(err, errOver) || !strings.Contains(err.Error(), "the program was stopped: ") {
				t.Errorf("%s: %v", name, err)
			}
			exit := r.Exit()
			if exit.Stopped != errOver {
				t.Errorf("%s: stopped by %v", name, exit.Stopped)
			}
			if exit.CPU, exit.Stopped = 0, nil; exit != c.exit {
				t.Errorf("%s: %+v, expected %+v", name, exit, c.exit)
			}
		}
	})
}

// Only the first cause is kept.
func TestStopCause(t *testing.T) {
	both(t, func(t *testing.T) {
		r := start(t, newPool(t), script("sleep 600", newMark()))
		r.Stop(errOver)
		r.Stop(errors.New("another"))
		if err := r.Wait(); !errors.Is(err, errOver) {
			t.Errorf("error %v", err)
		}
	})
}

// Close stops running programs, and prevents new ones.
func TestClose(t *testing.T) {
	both(t, func(t *testing.T) {
		p := newPool(t)
		mark := newMark()
		r := start(t, p, script("sleep 600 & sleep 600", mark))
		p.Close()
		noneLeft(t, mark)
		if err := r.Wait(); !errors.Is(err, process.ErrClosed) {
			t.Errorf("error %v", err)
		}
		if _, err := p.Start(t.Context(), script("true", mark)); !errors.Is(err, process.ErrClosed) {
			t.Errorf("error %v", err)
		}
		p.Close()
	})
}

// full accepts a number of bytes, and then fails.
type full struct{ room int }

var errFull = errors.New("no room")

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A failed writer of either output stops a program that writes without end.
func TestWriterFails(t *testing.T) {
	both(t, func(t *testing.T) {
		p := newPool(t)
		for name, s := range map[string]*process.Spec{
			"stdout":     script("yes", newMark()),
			"stderr":     script("yes >&2", newMark()),
			"deaf to it": script("trap '' TERM PIPE; while :; do echo; done 2>/dev/null", newMark()),
			"at the end": script("echo", newMark()),
		} {
			room := 64 << 10
			if name == "at the end" {
				room = 0
			}
			s.StopWait = 100 * time.Millisecond
			s.Stdout, s.Stderr = &full{room}, &full{room}
			if err := start(t, p, s).Wait(); !errors.Is(err, errFull) || !strings.Contains(err.Error(), " of the program: ") {
				t.Errorf("%s: %v", name, err)
			}
			noneLeft(t, s.Env[1])
		}
	})
}

// A writer that blocks does not delay the end of the program.
func TestWriterBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	both(t, func(t *testing.T) {
		p := newPool(t)
		r, w := io.Pipe() // only the first bytes are read
		defer r.Close()
		s := script("yes", newMark())
		s.Stdout, s.StopWait = w, 100*time.Millisecond
		yes := start(t, p, s)
		if _, err := io.ReadFull(r, make([]byte, 2)); err != nil {
			t.Error(err)
		}
		began := time.Now()
		yes.Stop(errOver)
		if err := yes.Wait(); !errors.Is(err, errOver) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > inTime {
			t.Errorf("it took %s", took)
		}
		noneLeft(t, s.Env[1])
		s = script("echo", newMark())
		s.Stdout = w
		if err := start(t, p, s).Wait(); err == nil || !strings.Contains(err.Error(), "was not written in time") {
			t.Errorf("error %v", err)
		}
	})
}

// A reader that blocks neither delays the end nor causes an error.
func TestReaderBlocks(t *testing.T) {
	both(t, func(t *testing.T) {
		r, w := io.Pipe() // without a writer
		defer w.Close()
		var out bytes.Buffer
		s := script("echo done", newMark())
		s.Stdin, s.Stdout = r, &out
		if err := start(t, newPool(t), s).Wait(); err != nil || out.String() != "done\n" {
			t.Errorf("printed %q, error %v", out.String(), err)
		}
	})
}
