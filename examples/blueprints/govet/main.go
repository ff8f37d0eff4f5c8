// Command govet runs go vet on a directory and writes what it has found as one JSON object. It
// shows how a command takes its parameters as flags, with a list as a flag that is repeated:
//
//	govet --dir=/src/app --packages=./cmd/... --packages=./internal/...
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// report is the result.
type report struct {
	Packages int       `json:"packages"`
	Findings []finding `json:"findings"`
}

type finding struct {
	Package string `json:"package"`
	Check   string `json:"check"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func main() {
	dir := flag.String("dir", "", "a directory of a module")
	var patterns []string
	flag.Func("packages", "which packages; may be repeated", func(p string) error {
		if p == "" || p[0] == '-' {
			return errors.New("expected a pattern of packages")
		}
		patterns = append(patterns, p)
		return nil
	})
	flag.Parse()
	if err := run(*dir, patterns, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, patterns []string, out io.Writer) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	listed, err := goTool(dir, append([]string{"list"}, patterns...))
	if err != nil {
		return err
	}
	r := report{Packages: len(bytes.Fields(listed)), Findings: []finding{}}
	if r.Packages == 0 {
		return fmt.Errorf("no packages match %s", strings.Join(patterns, " "))
	}
	fmt.Fprintf(os.Stderr, "vetting %d packages\n", r.Packages) // a line of progress
	// With -trimpath in GOFLAGS, a cached result has the paths of the directory that was vetted first.
	found, err := goTool(dir, append([]string{"vet", "-trimpath=false", "-json"}, patterns...))
	if err != nil {
		return err
	}
	if err := r.read(dir, found); err != nil {
		return fmt.Errorf("read what go vet wrote: %w", err)
	}
	return json.NewEncoder(out).Encode(r)
}

// goTool runs the go command in dir and returns its output.
func goTool(dir string, args []string) ([]byte, error) {
	c := exec.Command("go", args...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// read decodes the objects that go vet -json writes, one for each package: {package: {check:
// [{posn, message}]}}. A finding in a file that is in a package and in its test is returned once.
func (r *report) read(dir string, text []byte) error {
	dec := json.NewDecoder(bufio.NewReader(bytes.NewReader(text)))
	for {
		var packages map[string]map[string]json.RawMessage
		err := dec.Decode(&packages)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for name, checks := range packages {
			for check, raw := range checks {
				if err := r.take(dir, name, check, raw); err != nil {
					return fmt.Errorf("%s of %s: %w", check, name, err)
				}
			}
		}
	}
	slices.SortFunc(r.Findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Check, b.Check), cmp.Compare(a.Message, b.Message))
	})
	r.Findings = slices.CompactFunc(r.Findings, func(a, b finding) bool {
		a.Package, b.Package = "", ""
		return a == b
	})
	return nil
}

func (r *report) take(dir, name, check string, raw json.RawMessage) error {
	var all []struct{ Posn, Message string }
	if err := json.Unmarshal(raw, &all); err != nil { // {"error": ...} when the check itself has failed
		return fmt.Errorf("%s", raw)
	}
	for _, one := range all {
		f := finding{Package: name, Check: check, Message: one.Message}
		f.File, f.Line, f.Column = position(one.Posn)
		if in, err := filepath.Rel(dir, f.File); err == nil {
			f.File = in
		}
		r.Findings = append(r.Findings, f)
	}
	return nil
}

// position takes "path:line:column" apart.
func position(at string) (file string, line, column int) {
	file, column = cutNumber(at)
	file, line = cutNumber(file)
	return file, line, column
}

func cutNumber(s string) (string, int) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return s, 0
	}
	return s[:i], n
}
