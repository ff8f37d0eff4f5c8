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

// StopWait is the default time between SIGTERM and SIGKILL.
const StopWait = 2 * time.Second

// Spec describes a program to run.
type Spec struct {
	// Argv is the program and its arguments, which are passed on unchanged.
	Argv []string
	// Path is the file of the program. If it is empty, Find looks up Argv[0].
	Path string
	// Dir is the working directory. If it is empty, it is the current directory of this process.
	Dir string
	// Env are all variables of the program, as NAME=VALUE. Of duplicate names, the last one
	// applies. Nil means no variables.
	Env []string
	// Stdin is read until its end or the end of the program. Nil is an empty input.
	Stdin io.Reader
	// Stdout and Stderr receive the output of the program, concurrently. An error of a writer stops
	// the program with that cause. A writer that blocks makes the program wait. Output that is not
	// written 1 s after the end is lost. Nil discards the output.
	Stdout, Stderr io.Writer
	// StopWait is the time between SIGTERM and SIGKILL. 0 means the constant, and a negative value
	// means none.
	StopWait time.Duration
}

// plan is a Spec with all defaults applied.
type plan struct {
	path, dir string
	argv, env []string
	stopWait  time.Duration
}

// plan checks the Spec before anything is started.
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

// Find returns the path of a program. A name without a separator is searched in PATH of this
// process. A relative path is relative to dir.
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

var errNoProgram = errors.New("missing program: expected its name or path")

func checkArgv(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errNoProgram
	}
	for i, a := range argv {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("argument %d contains a NUL byte, which would end it", i)
		}
	}
	return nil
}

// lastOfEach returns the variables without those that a later one of the same name replaces.
func lastOfEach(env []string) ([]string, error) {
	kept := make([]string, 0, len(env))
	seen := make(map[string]bool, len(env))
	for _, v := range slices.Backward(env) {
		name, _, ok := strings.Cut(v, "=")
		if strings.ContainsRune(v, 0) {
			return nil, fmt.Errorf("environment %q contains a NUL byte, which would end it", name)
		}
		if !ok || name == "" && runtime.GOOS != "windows" { // Windows has variables such as "=C:=C:\dir"
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

// directory returns the path of an existing directory.
func directory(dir string) (string, error) {
	if dir == "" {
		return os.Getwd()
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a directory; expected the working directory of the program", dir)
	}
	return filepath.Abs(dir)
}
