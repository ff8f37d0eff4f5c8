package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// hubToken is the admin token of the hub under test, which lives no longer than the run and listens
// on loopback only.
const hubToken = "plt_bench_bench"

// Child is a program that runs as a server for the time of a benchmark. End it with Stop.
type Child struct {
	// URL is where it listens.
	URL   string
	token string // empty: no hub

	cmd    *exec.Cmd
	stdout *bufio.Reader
	stdin  io.WriteCloser
	stderr bytes.Buffer
}

// HubOptions are for StartHub.
type HubOptions struct {
	// Dir is the directory of its log. Memory runs it without one.
	Dir    string
	Memory bool
	// Env are variables besides those of this process, as name=value.
	Env []string
}

// StartHub starts a hub that listens on loopback, has no limits of rate, and ends with ctx at the
// latest.
func StartHub(ctx context.Context, o HubOptions) (*Child, error) {
	args := []string{"serve", "--dev", "--listen", "127.0.0.1:0", "-o", "json"}
	if !o.Memory {
		args = append(args, "--data", o.Dir)
	}
	parley, err := findParley()
	if err != nil {
		return nil, err
	}
	c, err := startChild(ctx, parley, append([]string{"PARLEY_DEV_TOKEN=" + hubToken}, o.Env...), args...)
	if err == nil {
		c.token = hubToken
	}
	return c, err
}

// findParley returns the program parley: the file of that name beside this program, or else the one
// in PATH.
func findParley() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), "parley")
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	parley, err := exec.LookPath("parley")
	if err != nil {
		return "", fmt.Errorf("the program parley is neither beside %s nor in PATH: build it with make build", self)
	}
	return parley, nil
}

// startChild starts a program, this one where it is empty, with args, and waits for the line that
// says where it listens.
func startChild(ctx context.Context, program string, env []string, args ...string) (*Child, error) {
	c, err := newChild(ctx, program, env, args...)
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	var first struct {
		URL string `json:"url"`
	}
	if err := c.hear(&first); err != nil {
		c.Stop()
		return nil, fmt.Errorf("%s did not start: %w", args[0], err)
	}
	c.URL = first.URL
	return c, nil
}

// newChild prepares a child whose stdin, stdout and stderr are this process's to use.
func newChild(ctx context.Context, program string, env []string, args ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: exec.CommandContext(ctx, cmp.Or(program, self), args...)}
	c.cmd.Env = append(os.Environ(), env...)
	endWithParent(c.cmd)
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = bufio.NewReader(out)
	c.stdin, err = c.cmd.StdinPipe()
	return c, err
}

// hear reads the next line of the child's stdout.
func (c *Child) hear(v any) error {
	line, err := c.stdout.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, v)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(c.stderr.Bytes()))
	}
	return nil
}

// Target is how a load reaches it.
func (c *Child) Target() Target { return Target{URL: c.URL, Token: c.token, PID: c.pid()} }

// Stop ends the child, first kindly.
func (c *Child) Stop() {
	c.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(12*time.Second, func() { c.cmd.Process.Kill() })
	defer kill.Stop()
	c.cmd.Wait() // how it ended says nothing about what was measured
}

// kill ends the child as a crash does.
func (c *Child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// CPU is the CPU time that the child has used, or 0 if the system does not report it.
func (c *Child) CPU() time.Duration { return ProcessCPU(c.cmd.Process.Pid) }

// pid is that of the process.
func (c *Child) pid() int { return c.cmd.Process.Pid }
