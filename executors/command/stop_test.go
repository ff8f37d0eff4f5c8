//go:build linux

package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/command"
)

// A program that writes too much is stopped with the name of the limit.
func TestOutputLimits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	for name, c := range map[string]struct {
		args []string
		told string
	}{
		"a gibibyte of short lines": {[]string{"1073741824", "64"}, "stdout"},
		"a gibibyte in one line": {[]string{"1073741824", "0"},
			"line_limit: the program wrote a line of more than 900 KiB to stdout"},
		"many good lines":  {[]string{"1073741824", "0", `{\"delta\":\"a\"}`}, "lines_limit: the program wrote more than 10000 lines to stdout"},
		"large good lines": {[]string{"1073741824", "0", `{\"trace\":{\"kind\":\"a\",\"text\":\"` + strings.Repeat("x", 4000) + `\"}}`}, "output_limit: the program wrote more than 8 MiB to stdout"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			for i := range c.args {
				c.args[i] = strings.ReplaceAll(c.args[i], `\"`, `"`)
			}
			_, err := s.handle(t, t.Context(), program(t, "flood", c.args...))
			if err == nil || !strings.Contains(err.Error(), c.told) {
				t.Errorf("error %v, expected %q in it", err, c.told)
			}
		})
	}
}

// Stderr becomes few traces with its newest text, also if the program fails.
func TestStderr(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"3"}, {"10000"}, {"10000", "fail"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			s := newStage(t)
			_, err := s.handle(t, t.Context(), program(t, "mutter", args...))
			if failed := err != nil; failed != (len(args) > 1) {
				t.Error(err)
			}
			got := s.traces(t, command.TraceStderr)
			all := strings.Join(got, "")
			n, _ := strconv.Atoi(args[0])
			if len(got) < 1 || len(got) > 20 || len(all) > 20*33<<10 || !strings.Contains(all, fmt.Sprintf("line %d of what nobody asked for \ufffd\x00", n-1)) {
				t.Errorf("%d traces with %d bytes", len(got), len(all))
			}
			if strings.Contains(all, "bytes omitted]\n") != (n > 3) {
				t.Errorf("the omitted bytes are not reported: %.100q", all)
			}
		})
	}
}

// At the timeout the program gets SIGTERM, and all its processes SIGKILL if they ignore it.
func TestStopped(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	for name, c := range map[string]struct {
		args      []string
		processes int
		least     time.Duration
	}{
		"at once":  {nil, 1, 0},
		"stubborn": {[]string{"stubborn"}, 2, command.StopWait},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			dir := t.TempDir()
			gone := errors.New("the claim is lost")
			ctx, cancel := context.WithCancelCause(t.Context())
			var stopped time.Time
			go func() {
				await(t, func() bool { return noted(dir) == c.processes && len(s.events(t, parley.TypeTrace)) > 0 }) // a program that is stopped before its start is known leaves no trace
				stopped = time.Now()
				cancel(gone)
			}()
			_, err := s.handle(t, ctx, program(t, "hang", append([]string{dir}, c.args...)...))
			if took := time.Since(stopped); took < c.least {
				t.Errorf("it took %s", took)
			}
			if !errors.Is(err, gone) {
				t.Errorf("error %v", err)
			}
			noneLeft(t, dir)
			if got := s.traces(t, command.TraceStderr); len(got) == 0 || !strings.Contains(strings.Join(got, ""), "last words") {
				t.Errorf("traces %q", got)
			}
		})
	}
}

// Processes that a program leaves are killed at once, in any group, and delay nothing.
func TestChildren(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"in the group": nil, "escaped": {"escape"}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			dir := t.TempDir()
			if _, err := s.handle(t, t.Context(), program(t, "child", append([]string{dir}, args...)...)); err != nil {
				t.Error(err)
			}
			if got := s.said(t); !slices.Equal(got, []string{"turn done"}) {
				t.Errorf("posted %q", got)
			}
			for _, pid := range pids(t, dir) {
				if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// await waits until a condition is true.
func await(t *testing.T, so func() bool) {
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("timed out")
			return
		}
	}
}

func pids(t *testing.T, dir string) (all []int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("no process noted its pid: %v", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// noneLeft checks that no process with a noted pid lives. A killed process may live for a moment.
func noneLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pid := range pids(t, dir) {
		await(t, func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}
