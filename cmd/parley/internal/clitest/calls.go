package clitest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest/scriptcall"
)

type callsKey struct{}

// callProcess is the process that serves the calls of a script. It starts with the first of them.
type callProcess struct {
	dir     string        // of the script
	names   []string      // of the variables of the environment
	calls   *json.Encoder // nil: it has not started
	results *json.Decoder
	died    func() string // ends it, and returns its stderr
}

func newCallProcess(env *testscript.Env, dir string) *callProcess {
	p := &callProcess{dir: dir}
	for _, v := range env.Vars {
		name, _, _ := strings.Cut(v, "=")
		p.names = append(p.names, name)
	}
	return p
}

var assignment = regexp.MustCompile(`\b([A-Z_0-9]+)=`)

// start starts the process, and looks for the variables that the script sets.
func (p *callProcess) start(ts *testscript.TestScript) {
	script, err := os.ReadFile(filepath.Join(p.dir, ts.Name()+".txtar"))
	ts.Check(err)
	p.names = append(p.names, cli.EnvURL, cli.EnvToken)
	for line := range strings.Lines(string(script)) {
		if rest, is := strings.CutPrefix(line, "env "); is {
			for _, m := range assignment.FindAllStringSubmatch(rest, -1) {
				p.names = append(p.names, m[1])
			}
		}
	}
	cmd := exec.Command("parley", scriptcall.Arg)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	end := sync.OnceFunc(func() {
		in.Close()
		cmd.Process.Kill() // what it still does is of no interest
		cmd.Wait()
	})
	ts.Defer(end)
	p.calls, p.results = json.NewEncoder(in), json.NewDecoder(out)
	p.died = func() string {
		end()
		return stderr.String()
	}
}

// callProgram is "call CODE ARGS...".
func callProgram(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) >= 1, "call CODE ARGS...")
	got := callOnce(ts, args[1:])
	ts.Stdout().Write(got.Stdout) // neither write fails
	ts.Stderr().Write(got.Stderr)
	if strconv.Itoa(got.Code) != args[0] {
		ts.Fatalf("exit code %d, expected %s", got.Code, args[0])
	}
}

// awaitOutput is "await PATTERN ARGS...".
func awaitOutput(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) >= 2, "await PATTERN ARGS...")
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for end := time.Now().Add(Patience); ; time.Sleep(10 * time.Millisecond) {
		got := callOnce(ts, args[1:])
		if wanted.Match(got.Stdout) {
			ts.Stdout().Write(got.Stdout)
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("parley %s never printed %q: %s%s", strings.Join(args[1:], " "), args[0], got.Stdout, got.Stderr)
		}
	}
}

func callOnce(ts *testscript.TestScript, args []string) (got scriptcall.Result) {
	p := ts.Value(callsKey{}).(*callProcess)
	if p.calls == nil {
		p.start(ts)
	}
	c := scriptcall.Call{Dir: ts.MkAbs("."), Args: args}
	for _, name := range p.names {
		if value := ts.Getenv(name); value != "" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	ts.Check(p.calls.Encode(c))
	if err := p.results.Decode(&got); err != nil {
		ts.Fatalf("parley %s: the process of the calls ended: %v: %s", strings.Join(args, " "), err, p.died())
	}
	return got
}
