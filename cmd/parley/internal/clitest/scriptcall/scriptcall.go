// Package scriptcall serves the calls of a test script in one process. A start of the program costs
// a tenth of a second of CPU time, which is far more than most commands cost, and the scripts call
// it more than a thousand times. Package clitest has the client, and its directory program the
// server:
//
//	scriptcall.Serve(os.Stdin, os.Stdout, commands.Run)
package scriptcall

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
)

// Arg is the only argument of a process that serves calls.
const Arg = "serve-calls-of-a-script"

// Call is a command line with its directory and its whole environment.
type Call struct {
	Dir       string
	Env, Args []string
}

// Result is the result of a call.
type Result struct {
	Code           int
	Stdout, Stderr []byte
}

// Serve runs one call after another until in ends. It changes the environment and the directory of
// the process.
func Serve(in io.Reader, out io.Writer,
	run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int) error {
	calls, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var c Call
		if err := calls.Decode(&c); err != nil {
			return err
		}
		os.Clearenv()
		for _, v := range c.Env {
			name, value, _ := strings.Cut(v, "=")
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
		if err := os.Chdir(c.Dir); err != nil {
			return err
		}
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithCancel(context.Background())
		code := run(ctx, c.Args, strings.NewReader(""), &stdout, &stderr)
		cancel()
		if err := results.Encode(Result{code, stdout.Bytes(), stderr.Bytes()}); err != nil {
			return err
		}
	}
}
