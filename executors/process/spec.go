package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// StopWait is how long a program has between SIGTERM and SIGKILL when its Spec does not say.
const StopWait = 2 * time.Second

// Spec says what is run, and how.
type Spec struct {
	// Argv is the program and its arguments, which arrive as they are.
	Argv []string
	// Path is the file of the program; empty, Find is asked for Argv[0].
	Path string
	// Dir is where the program runs; empty, where this process does.
	Dir string
	// Env are all variables of the program, each NAME=VALUE. Of two with one name the last counts. Nil, it has none.
	Env []string
	// Stdin is read until its end or the program's; nil, there is nothing to read.
	Stdin io.Reader
	// Stdout and Stderr take what the program writes, at the same time. One that fails stops the program, with its error as the cause. One that does not
	// return makes the program wait. What they have not taken 1 s after the end is lost. Nil, nobody hears it.
	Stdout, Stderr io.Writer
	// StopWait is the time between SIGTERM and SIGKILL; 0, the constant; negative, none.
	StopWait time.Duration
}

// plan is a Spec with nothing left open.
type plan struct {
	path, dir string
	argv, env []string
	stopWait  time.Duration
}

// plan refuses what cannot be started, before anything is.
func (s *Spec) plan() (*plan, error) {
	p := &plan{path: s.Path, argv: s.Argv, stopWait: s.StopWait}
	if p.stopWait == 0 {
		p.stopWait = StopWait
	}
	if err := checkArgv(s.Argv); err != nil {
		return nil, err
	}
	var err error
	if p.env, err = lastOfEach(s.Env); err != nil {
		return nil, err
	}
	if p.dir, err = directory(s.Dir); err != nil {
		return nil, err
	}
	if p.path == "" {
		p.path, err = Find(s.Dir, s.Argv[0])
	}
	return p, err
}

// Find gives the path of a program. A name without a separator is looked for in PATH of this process; a relative path begins at dir.
func Find(dir, name string) (string, error) {
	if name == "" {
		return "", errNoProgram
	}
	if dir != "" && filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

var errNoProgram = errors.New("no program is named: expected its name or path")

func checkArgv(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errNoProgram
	}
	for i, a := range argv {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("argument %d has a NUL in it: expected none, as it would end there", i)
		}
	}
	return nil
}

// lastOfEach gives variables without those that a later one of the same name replaces.
func lastOfEach(env []string) ([]string, error) {
	kept := make([]string, 0, len(env))
	seen := make(map[string]bool, len(env))
	for _, v := range slices.Backward(env) {
		name, _, ok := strings.Cut(v, "=")
		if strings.ContainsRune(v, 0) {
			return nil, fmt.Errorf("environment %q has a NUL in it: expected none, as it would end there", name)
		}
		if !ok || name == "" && runtime.GOOS != "windows" { // which has such as "=C:=C:\dir"
			return nil, fmt.Errorf("environment %q: expected NAME=VALUE", name)
		}
		if !seen[name] {
			seen[name] = true
			kept = append(kept, v)
		}
	}
	slices.Reverse(kept)
	return kept, nil
}

// directory gives the path of a directory that is there.
func directory(dir string) (string, error) {
	if dir == "" {
		return os.Getwd()
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is no directory: expected one for the program to run in", dir)
	}
	return filepath.Abs(dir)
}
