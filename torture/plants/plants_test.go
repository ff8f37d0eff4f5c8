package plants_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/overlay"
)

var all = flag.Bool("plants.all", false, "plant every bug, and check first that its test passes without it")

// testTimeout bounds one run of a test, also on a loaded machine.
const testTimeout = "20m"

// TestPlants plants the bug of each row, and the test of the row must fail.
func TestPlants(t *testing.T) {
	b := &bench{t: t, root: root(t), control: map[string]string{}, passes: map[string]error{}}
	var tried atomic.Int32
	t.Run("rows", func(t *testing.T) { // ends when they all have
		for _, r := range rows {
			if !*all && !r.short {
				continue
			}
			if r.linux && runtime.GOOS != "linux" {
				t.Logf("planted %s: LEFT OUT: %s is for Linux", r.bug, r.run)
				continue
			}
			t.Run(r.bug+" "+r.pkg+" "+r.run, func(t *testing.T) {
				if !*all { // else the rows share the tests without a bug, and want the machine for themselves
					t.Parallel()
				}
				b.try(t, r)
				tried.Add(1)
			})
		}
	})
	if tried.Load() == 0 {
		t.Error("no bug was planted")
	}
}

// bench builds and runs the tests of rows.
type bench struct {
	t       *testing.T // of all rows
	root    string
	control map[string]string // package to its tests without a bug
	passes  map[string]error  // what the test of a row returned without a bug
}

// root returns the root directory of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := overlay.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// errLeftOut means that the test cannot run here.
var errLeftOut = errors.New("left out")

// try plants the bug of a row.
func (b *bench) try(t *testing.T, r row) {
	if *all {
		err := b.passesWithout(t, r)
		if errors.Is(err, errLeftOut) {
			t.Skipf("planted %s: LEFT OUT: %v", r.bug, err)
		}
		if err != nil {
			t.Fatalf("%s of %s fails without a bug: %v", r.run, r.pkg, err)
		}
	}
	dir := t.TempDir()
	file, err := overlay.Write(dir, r.bug)
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.run(b.build(t, dir, r.pkg, "-overlay", file), r, hubproc.PatchVariable+"="+r.bug)
	if err == nil {
		t.Fatalf("planted %s: GREEN: %s of %s has not found it", r.bug, r.run, r.pkg)
	}
	failed := failure.FindSubmatch(out)
	said := regexp.MustCompile("(?m)" + r.says).Find(out)
	if failed == nil || said == nil {
		t.Fatalf("planted %s: %s of %s fails for another reason (%v), expected %q:\n%s",
			r.bug, r.run, r.pkg, err, r.says, brief(out))
	}
	t.Logf("planted %s: red (%s of %s: %q)", r.bug, failed[1], r.pkg, said[:min(len(said), 100)])
}

// failure is the first line of a test that has failed.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// brief cuts the output of a test.
func brief(out []byte) []byte {
	const most = 2000
	return out[:min(len(out), most)]
}

// build builds the tests of a package into dir, and returns their path.
func (b *bench) build(t *testing.T, dir, pkg string, flags ...string) string {
	t.Helper()
	binary := filepath.Join(dir, "tests")
	args := slices.Concat([]string{"test", "-c", "-o", binary}, flags, []string{"github.com/parleyhub/parley/" + pkg})
	cmd := exec.Command("go", args...)
	cmd.Dir = b.moduleDir(pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the tests of %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// moduleDir returns the root directory of the module that has a package. The go command builds the
// package there.
func (b *bench) moduleDir(pkg string) string {
	dir := filepath.Join(b.root, filepath.FromSlash(pkg))
	for dir != b.root {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// passesWithout runs the test of a row without a bug, once. The test must run, and pass.
func (b *bench) passesWithout(t *testing.T, r row) error {
	name := fmt.Sprint(r.pkg, r.run, r.args)
	if err, ok := b.passes[name]; ok {
		return err
	}
	if b.control[r.pkg] == "" {
		b.control[r.pkg] = b.build(t, b.t.TempDir(), r.pkg)
	}
	out, err := b.run(b.control[r.pkg], r, hubproc.PatchVariable+"=")
	switch {
	case err != nil:
		err = fmt.Errorf("%w\n%s", err, brief(out))
	case bytes.Contains(out, []byte("no tests to run")):
		err = errors.New("there is no such test")
	case !bytes.Contains(out, []byte("\n--- PASS: ")):
		err = fmt.Errorf("%w: %s", errLeftOut, brief(out))
	}
	b.passes[name] = err
	return err
}

// run runs the test of a row as go test does, with one more variable, and returns its output.
func (b *bench) run(binary string, r row, variable string) ([]byte, error) {
	args := []string{"-test.run", r.run, "-test.v", "-test.timeout", testTimeout}
	cmd := exec.Command(binary, append(args, r.args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(r.pkg))
	cmd.Env = append(os.Environ(), variable)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := hubproc.Run(cmd)
	return printed.Bytes(), err
}
