package plants

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
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

var all = flag.Bool("plants.all", false, "plant every bug, and see first that each test is green without it; else some that are found fast")

// testTimeout is how long one run of tests may take.
const testTimeout = "240s"

// TestPlants plants one bug after another, and each must turn its test red.
func TestPlants(t *testing.T) {
	b := newBench(t)
	tried := 0
	for _, r := range rows {
		if !*all && !r.short {
			continue
		}
		if r.linux && runtime.GOOS != "linux" {
			t.Logf("planted %s: LEFT OUT: %s is for Linux", r.bug, r.run)
			continue
		}
		tried++
		t.Run(string(r.bug)+" "+r.pkg, func(t *testing.T) { b.tries(t, r) })
	}
	if tried < 3 {
		t.Errorf("only %d bugs were planted: the run proves nothing", tried)
	}
}

// bench has the tests of packages, built with the tag planted.
type bench struct {
	dir   string
	root  string
	built map[string]string // package to its test binary
	green map[string]error  // what the tests of a row come to without a bug
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{dir: t.TempDir(), root: root(t), built: map[string]string{}, green: map[string]error{}}
}

// root is the directory of the module of the product.
func root(t *testing.T) string {
	t.Helper()
	dir, err := hubproc.SourceDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// errLeftOut: the test cannot run here.
var errLeftOut = errors.New("left out")

// tries plants the bug of a row.
func (b *bench) tries(t *testing.T, r row) {
	binary := b.build(t, r.pkg)
	if *all {
		err := b.control(binary, r)
		if errors.Is(err, errLeftOut) {
			t.Skipf("planted %s: LEFT OUT: %v", r.bug, err)
		}
		if err != nil {
			t.Fatalf("planted nothing, and yet %s of %s: %v", r.run, r.pkg, err)
		}
	}
	out, err := b.run(binary, r, "PARLEY_PLANT="+string(r.bug))
	if err == nil {
		t.Fatalf("planted %s: GREEN: %s of %s has not found it", r.bug, r.run, r.pkg)
	}
	failed := failure.FindSubmatch(out)
	said := regexp.MustCompile("(?m)" + r.says).Find(out)
	if failed == nil || said == nil {
		t.Fatalf("planted %s: %s of %s is red for another reason (%v), want %q:\n%s", r.bug, r.run, r.pkg, err, r.says, brief(out))
	}
	t.Logf("planted %s: red (%s of %s: %q)", r.bug, failed[1], r.pkg, said[:min(len(said), 100)])
}

// failure is the first line of a test that has failed.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// brief cuts what a test has said.
func brief(out []byte) []byte {
	const most = 2000
	return out[:min(len(out), most)]
}

// build builds the tests of a package, once.
func (b *bench) build(t *testing.T, pkg string) string {
	t.Helper()
	if path, ok := b.built[pkg]; ok {
		return path
	}
	path := filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	cmd := exec.Command("go", "test", "-c", "-tags", "planted", "-o", path)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(pkg)) // in the module of the package
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the tests of %s: %v\n%s", pkg, err, out)
	}
	b.built[pkg] = path
	return path
}

// control runs the test of a row without a bug, once. It must run, and be green.
func (b *bench) control(binary string, r row) error {
	name := r.pkg + " " + r.run
	if err, ok := b.green[name]; ok {
		return err
	}
	out, err := b.run(binary, r)
	switch {
	case err != nil:
		err = fmt.Errorf("%w\n%s", err, brief(out))
	case bytes.Contains(out, []byte("no tests to run")):
		err = errors.New("there is no such test")
	case !bytes.Contains(out, []byte("\n--- PASS: ")):
		err = fmt.Errorf("%w: %s", errLeftOut, brief(out))
	}
	b.green[name] = err
	return err
}

// run runs the tests of a row as go test does, with more environment, and gives what they print.
func (b *bench) run(binary string, r row, env ...string) ([]byte, error) {
	cmd := exec.Command(binary, append([]string{"-test.run", r.run, "-test.v", "-test.timeout", testTimeout}, r.args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(r.pkg))
	cmd.Env = append(os.Environ(), env...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := hubproc.Run(cmd)
	return printed.Bytes(), err
}
