// Package clitest has what the tests of commands share: the program as a process, scripts, hubs and
// certificates. The tests of a package with scripts have
//
//	func TestMain(m *testing.M) { clitest.Main(m) }
//
//	func TestScripts(t *testing.T) { clitest.RunScripts(t, "script", nil) }
package clitest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/hubproc"
)

// ProgramVariable is the path of the program in the directory program. The tests of many packages
// then link it once.
const ProgramVariable = "PARLEY_TEST_SCRIPT_PROGRAM"

// Main runs the tests of a package, with the program as "parley" in PATH, and ends the process.
func Main(m *testing.M) {
	process.Supervise()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parley-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := installProgram(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// installProgram puts the program into dir. It builds one that has no path, or that shall have a
// planted bug.
func installProgram(dir string) error {
	path := os.Getenv(ProgramVariable)
	if path == "" || os.Getenv(hubproc.PatchVariable) != "" {
		return hubproc.BuildPackage(filepath.Join(dir, "parley"), "./cmd/parley/internal/clitest/program")
	}
	if os.Link(path, filepath.Join(dir, "parley")) == nil {
		return nil
	}
	from, err := os.Open(path) // on another file system
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "parley"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.Close()
}
