//go:build linux

package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/parleyhub/parley/executors/process"
)

// A program gets exactly the given arguments, environment, directory and files, and nothing else of
// this process.
func TestGiven(t *testing.T) {
	both(t, func(t *testing.T) {
		args := []string{"", "a\nb", "", `"$(id)"`, "--x=; rm -rf", "\xff\xfe", "*", " ", strings.Repeat("long", 25_000), ""}
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := program(t, "look", args...)
		s.Dir = dir
		s.Env = []string{"TWICE=1", "A=\xff\n", "EMPTY=", "TWICE=2", "EQUAL=a=b"}
		s.Stdin = strings.NewReader("")
		var want strings.Builder
		for _, a := range args {
			fmt.Fprintf(&want, "arg %.50q of %d\n", a, len(a))
		}
		want.WriteString(`env "A=\xff\n"` + "\n" + `env "EMPTY="` + "\n" + `env "TWICE=2"` + "\n" + `env "EQUAL=a=b"` + "\n")
		want.WriteString("file 0 pipe\nfile 1 pipe\nfile 2 pipe\ndir " + dir + "\nleader true\n")
		if got := output(t, newPool(t), s); got != want.String() {
			t.Errorf("it got\n%s\nexpected\n%s", got, want.String())
		}
	})
}

// The defaults are empty, and the directory is the current one.
func TestGivenNothing(t *testing.T) {
	both(t, func(t *testing.T) {
		p := newPool(t)
		t.Chdir("/")
		output(t, p, program(t, "look"))
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		s := program(t, "look")
		s.Env = nil
		if got := output(t, p, s); got != "file 0 /dev/null\nfile 1 pipe\nfile 2 pipe\ndir "+dir+"\nleader true\n" {
			t.Errorf("it got\n%s", got)
		}
		if err := start(t, p, script("echo a; echo b >&2; cat", newMark())).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// A program ignores and blocks the same signals as a child of this process would.
func TestSignalsGiven(t *testing.T) {
	const text = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
	want, err := exec.Command("sh", "-c", text).Output()
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T) {
		if got := output(t, newPool(t), script(text, newMark())); got != string(want) {
			t.Errorf("signals\n%s\nexpected\n%s", got, want)
		}
	})
}

// A name is searched in PATH of this process. A relative path is relative to the directory of the
// program.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bin", "hello")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho hello from $0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(file)+":"+os.Getenv("PATH"))
	for _, c := range []struct{ dir, name, want string }{
		{"", "hello", file}, {"/", "hello", file}, {dir, "bin/hello", file}, {dir, "./bin/hello", file}, {"/", file, file},
		{dir, "sh", ""}, {dir, "bin/sh", "not"},
		{"", "", "not"}, {dir, "bin", "not"},
	} {
		got, err := process.Find(c.dir, c.name)
		switch {
		case c.want == "not" && err == nil, c.want != "not" && err != nil, c.want == file && got != file:
			t.Errorf("Find(%q, %q) is %q, %v", c.dir, c.name, got, err)
		}
	}
	both(t, func(t *testing.T) {
		p := newPool(t)
		s := &process.Spec{Argv: []string{"./bin/hello"}, Dir: dir}
		if got := output(t, p, s); got != "hello from "+file+"\n" {
			t.Errorf("printed %q", got)
		}
		s = &process.Spec{Argv: []string{"what it is called", "-c", "echo $0 $1", "x", "y"}, Path: "/bin/sh"}
		if got := output(t, p, s); got != "x y\n" {
			t.Errorf("printed %q", got)
		}
	})
}

// Each reason for a failed start is reported, and the supervisor accepts the next program.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	both(t, func(t *testing.T) {
		p := newPool(t)
		parent := output(t, p, script("echo $PPID", newMark()))
		for name, c := range map[string]struct {
			spec process.Spec
			is   error
			told string
		}{
			"no arguments": {process.Spec{}, nil, "missing program"},
			"no name":      {process.Spec{Argv: []string{""}}, nil, "missing program"},
			"unknown":      {process.Spec{Argv: []string{"no-such-program"}}, exec.ErrNotFound, "no-such-program"},
			"no such file": {process.Spec{Argv: []string{dir + "/nothing"}}, fs.ErrNotExist, "nothing"},
			"file gone": {process.Spec{Argv: []string{"x"}, Path: dir + "/nothing"}, fs.ErrNotExist, "fork/exec " +
				dir + "/nothing: no such file or directory"},
			"not executable":     {process.Spec{Argv: []string{plain}}, fs.ErrPermission, "permission denied"},
			"not executable now": {process.Spec{Argv: []string{"x"}, Path: plain}, fs.ErrPermission, "permission denied"},
			"a directory":        {process.Spec{Argv: []string{"x"}, Path: dir}, fs.ErrPermission, "permission denied"},
			"no interpreter": {process.Spec{Argv: []string{file("lost", "#!/no/such/thing\n", 0o755)}}, fs.ErrNotExist,
				"the interpreter in its first line or its loader does not"},
			"no program": {process.Spec{Argv: []string{file("text", "hello\n", 0o755)}}, syscall.ENOEXEC,
				"expected a program for this machine"},
			"too long": {process.Spec{Argv: []string{"echo", strings.Repeat("x", 3<<20)}}, syscall.E2BIG,
				"expected smaller"},
			"no directory": {process.Spec{Argv: []string{"true"}, Dir: dir + "/nowhere"}, fs.ErrNotExist, "nowhere"},
			"file as directory": {process.Spec{Argv: []string{"true"}, Dir: plain}, nil,
				"is not a directory"},
			"NUL in an argument": {process.Spec{Argv: []string{"echo", "a\x00b"}}, nil, "argument 1 contains a NUL"},
			"NUL in a variable": {process.Spec{Argv: []string{"echo"}, Env: []string{"A=b\x00"}}, nil,
				`environment "A" contains a NUL`},
			"no variable": {process.Spec{Argv: []string{"echo"}, Env: []string{"PATH"}}, nil,
				`environment "PATH": expected NAME=VALUE`},
			"variable no name": {process.Spec{Argv: []string{"echo"}, Env: []string{"=x"}}, nil, `expected NAME=VALUE`},
		} {
			c.spec.Stdin, c.spec.Stdout = strings.NewReader("hello"), io.Discard
			r, err := p.Start(t.Context(), &c.spec)
			if err == nil {
				t.Errorf("%s: it started: %v", name, r.Wait())
				continue
			}
			if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.told) {
				t.Errorf("%s: %v; expected %v, %q", name, err, c.is, c.told)
			}
		}
		if got := output(t, p, script("echo $PPID", newMark())); got != parent {
			t.Errorf("the supervisor was %s and is %s", parent, got)
		}
	})
}

// Large streams are complete and in order.
func TestStreams(t *testing.T) {
	both(t, func(t *testing.T) {
		p := newPool(t)
		in := bytes.Repeat([]byte("0123456789abcdef\n"), 100_000)
		var out, errs bytes.Buffer
		s := script("tee /dev/stderr", newMark())
		s.Stdin, s.Stdout, s.Stderr = bytes.NewReader(in), &out, &errs
		if err := start(t, p, s).Wait(); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(out.Bytes(), in) || !bytes.Equal(errs.Bytes(), in) {
			t.Errorf("%d bytes went in, %d and %d came out", len(in), out.Len(), errs.Len())
		}
	})
}

// A program need not read its input.
func TestUnreadInput(t *testing.T) {
	both(t, func(t *testing.T) {
		p := newPool(t)
		for _, text := range []string{"true", "exec <&-; sleep 0.05", "read line; echo $line"} {
			s := script(text, newMark())
			s.Stdin = strings.NewReader(strings.Repeat("hello\n", 1_000_000))
			if err := start(t, p, s).Wait(); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// An error of the input stops the program with that cause.
func TestBrokenInput(t *testing.T) {
	both(t, func(t *testing.T) {
		broken := errors.New("the disk is broken")
		s := script("cat; sleep 600", newMark())
		s.Stdin = io.MultiReader(strings.NewReader("hello"), iotest.ErrReader(broken))
		if err := start(t, newPool(t), s).Wait(); !errors.Is(err, broken) ||
			!strings.Contains(err.Error(), "stopped: stdin of the program") {
			t.Errorf("error %v", err)
		}
	})
}

// Exit has the exit code, the signal and the CPU time of a program.
func TestExit(t *testing.T) {
	both(t, func(t *testing.T) {
		p := newPool(t)
		for text, want := range map[string]struct {
			exit process.Exit
			told string
		}{
			"exit 0":        {process.Exit{}, ""},
			"exit 9":        {process.Exit{Code: 9}, "the program has failed: exit status 9"},
			"exit 255":      {process.Exit{Code: 255}, "the program has failed: exit status 255"},
			"kill -9 $$":    {process.Exit{Code: -1, Signal: syscall.SIGKILL}, "the program has failed: signal: killed"},
			"kill -TERM $$": {process.Exit{Code: -1, Signal: syscall.SIGTERM}, "the program has failed: signal: terminated"},
			"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done": {process.Exit{CPU: 1}, ""},
		} {
			r := start(t, p, script(text, newMark()))
			err, exit := r.Wait(), r.Exit()
			if (err == nil) != (want.told == "") || err != nil && err.Error() != want.told {
				t.Errorf("%s: %v", text, err)
			}
			if want.exit.CPU > 0 && exit.CPU < 10_000_000 {
				t.Errorf("%s used %s of CPU time", text, exit.CPU)
			}
			if exit.CPU, want.exit.CPU = 0, 0; exit != want.exit {
				t.Errorf("%s: %+v, expected %+v", text, exit, want.exit)
			}
			var failed *process.ExitError
			if errors.As(err, &failed) != (want.told != "") {
				t.Errorf("%s: error %T", text, err)
			}
		}
	})
}

// Start fails if ctx is done.
func TestTooLate(t *testing.T) {
	both(t, func(t *testing.T) {
		over := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(over)
		if _, err := newPool(t).Start(ctx, script("true", newMark())); !errors.Is(err, over) {
			t.Errorf("error %v", err)
		}
	})
}
