package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parleyhub/parley/internal/hubproc"
)

// program is parley, which the benchmarks start and which the scripts call.
var program hubproc.Program

// testMain lets hubproc build the program before testscript runs the tests.
type testMain struct{ *testing.M }

func (m testMain) Run() int {
	return hubproc.Main(m.M, func(p hubproc.Program) { program = p })
}

func TestMain(m *testing.M) {
	testscript.Main(testMain{m}, map[string]func(){"parley-bench": main})
}

// TestScripts runs the program as its users do. HUB is the address of a running dev hub.
// "usage ARGS..." runs the program with an invalid command line and expects exit code 2.
func TestScripts(t *testing.T) {
	hub := program.Serve(t, []string{"PARLEY_DEV_TOKEN=" + hubproc.Token}, "--dev")
	bin := t.TempDir()
	if err := os.Symlink(string(program), filepath.Join(bin, "parley")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HUB", hub.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"usage": func(ts *testscript.TestScript, _ bool, args []string) {
				var exit *exec.ExitError
				if err := ts.Exec("parley-bench", args...); !errors.As(err, &exit) || exit.ExitCode() != exitUsage {
					ts.Fatalf("%v, expected exit code %d", err, exitUsage)
				}
			},
		},
		RequireUniqueNames: true,
	})
}
