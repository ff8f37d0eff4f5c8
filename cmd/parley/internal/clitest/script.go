package clitest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// RunScripts runs the scripts of a directory of testdata with more variables.
//
// The scripts run the program as its users do: real processes, files and sockets. Besides
// testscript's commands they have:
//
//	hub NAME [FLAGS]      start "parley serve", wait until it takes calls, and set PARLEY_URL
//	                      (and PARLEY_TOKEN of a dev hub)
//	hubends NAME CODE     send SIGTERM and expect that exit code
//	hubkill NAME          kill -9
//	begin NAME PATTERN ARGS...
//	                      start a program and write the first line of its stdout that matches to NAME.line
//	ends NAME SIGNAL CODE send INT, TERM or NONE and expect that exit code
//	call CODE ARGS...     run parley with an empty stdin, in a process that serves all calls of the script,
//	                      and expect that exit code; an empty variable is not set there
//	await PATTERN ARGS... run parley again and again until a line of its output matches
//	exits CODE ARGS...    run a program and expect that exit code
//	jsonset VAR FIELD     set a variable to a field of the JSON object on the last stdout
//	outset VAR            set a variable to the last stdout
//	flip FILE TEXT        change the byte after the first TEXT in a file
//	certificates DIR DAYS [NAME...]
//	                      make a new authority, ca.pem, and a pair for 127.0.0.1 and the names
//	hangup NAME           send SIGHUP
//	asks ID KEY TITLE [DETAILS [SCHEMA]]
//	                      claim the open turn of a conversation with the token of the script, or keep the
//	                      claim, ask for an approval, and set APPROVAL to its id
//	delivers HOOK SECRET ID BODY STATUS
//	                      send a signed delivery to a hook of the hub of PARLEY_URL, expect that HTTP
//	                      status, and set ANSWER to the answer
//	ends-turn ID          send the final message of that turn
func RunScripts(t *testing.T, dir string, variables map[string]string) {
	dir = filepath.Join("testdata", dir)
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			for name, value := range variables {
				env.Setenv(name, value)
			}
			env.Values[processesKey{}] = map[string]*scriptProcess{}
			env.Values[agentsKey{}] = map[string]*scriptAgent{}
			env.Setenv("HOME", env.WorkDir)
			env.Values[callsKey{}] = newCallProcess(env, dir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"hub": startScriptHub, "hubends": endScriptHub, "hubkill": killScriptHub, "begin": beginProcess, "ends": endByName,
			"call": callProgram, "await": awaitOutput, "exits": expectExit, "jsonset": setFromJSON, "outset": setFromOutput,
			"flip":         flipByte,
			"certificates": makeCertificates, "hangup": sendHangup, "asks": requestApproval, "ends-turn": endTurn,
			"delivers": deliverHook,
		},
		RequireUniqueNames: true,
	})
}

type processesKey struct{}

// scriptProcess is a program that a script runs beside its commands.
type scriptProcess struct {
	cmd    *exec.Cmd
	stderr strings.Builder
	// line is the line of stdout that was waited for.
	line []byte
}

// startProcess runs a program and waits for a line of its stdout that matches. What it prints after
// that is thrown away.
func startProcess(ts *testscript.TestScript, name, pattern string, args []string) *scriptProcess {
	wanted, err := regexp.Compile(pattern)
	ts.Check(err)
	p := &scriptProcess{cmd: exec.Command(args[0], args[1:]...)}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = os.Environ()
	for _, v := range []string{"HOME", cli.EnvURL, cli.EnvToken, cli.EnvDevToken, cli.EnvCA, cli.EnvCert, cli.EnvKey,
		"HOOK_SECRET", cli.EnvNATSPassword} {
		p.cmd.Env = append(p.cmd.Env, v+"="+ts.Getenv(v))
	}
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	ts.Value(processesKey{}).(map[string]*scriptProcess)[name] = p
	ts.Defer(func() {
		p.cmd.Process.Kill() // has no effect on an ended process
		p.cmd.Wait()
	})
	stuck := time.AfterFunc(Patience, func() { p.cmd.Process.Kill() })
	defer stuck.Stop()
	out := bufio.NewReader(stdout)
	for !wanted.Match(p.line) {
		if p.line, err = out.ReadBytes('\n'); err != nil {
			p.cmd.Wait()
			ts.Fatalf("%s never said %q: %s", name, pattern, p.stderr.String())
		}
	}
	return p
}

// endProcess sends a signal and expects an exit code.
func endProcess(ts *testscript.TestScript, name string, signal os.Signal, code string) {
	p := ts.Value(processesKey{}).(map[string]*scriptProcess)[name]
	if signal != nil {
		ts.Check(p.cmd.Process.Signal(signal))
	}
	stuck := time.AfterFunc(Patience, func() { p.cmd.Process.Kill() })
	defer stuck.Stop()
	p.cmd.Wait() // the code is looked at below
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != code {
		ts.Fatalf("%s ended with code %s, expected %s: %s", name, got, code, p.stderr.String())
	}
}

func startScriptHub(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) > 0, "hub NAME [FLAGS]")
	p := startProcess(ts, args[0], ".",
		append([]string{"parley", "serve", "-o", "json", "--listen", "127.0.0.1:0"}, args[1:]...))
	var first FirstLine
	ts.Check(json.Unmarshal(p.line, &first))
	ts.Setenv(cli.EnvURL, first.URL)
	if first.Token != "" {
		ts.Setenv(cli.EnvToken, first.Token)
	}
}

func endScriptHub(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 2, "hubends NAME CODE")
	endProcess(ts, args[0], syscall.SIGTERM, args[1])
}

func killScriptHub(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 1, "hubkill NAME")
	endProcess(ts, args[0], syscall.SIGKILL, "-1")
}

func beginProcess(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) > 2, "begin NAME PATTERN ARGS...")
	p := startProcess(ts, args[0], args[1], args[2:])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".line"), p.line, 0o600))
}

func endByName(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 3, "ends NAME SIGNAL CODE")
	signal, ok := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "NONE": nil}[args[1]]
	wantArgs(ts, neg, ok, "ends NAME INT|TERM|NONE CODE")
	endProcess(ts, args[0], signal, args[2])
}

func wantArgs(ts *testscript.TestScript, neg, ok bool, usage string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

func expectExit(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) >= 2, "exits CODE ARGS...")
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, expected %s", code, args[0])
	}
}

func setFromJSON(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 2, "jsonset VAR FIELD")
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	value, ok := object[args[1]]
	if !ok {
		ts.Fatalf("no field %s", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(value))
}

func setFromOutput(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 1, "outset VAR")
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// flipByte changes one byte and keeps the length, as a failing disk or a careful forger would.
func flipByte(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 2, "flip FILE TEXT")
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	at := strings.Index(string(data), args[1])
	if at < 0 {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	data[at+len(args[1])] ^= 1
	ts.Check(os.WriteFile(name, data, 0o600))
}
