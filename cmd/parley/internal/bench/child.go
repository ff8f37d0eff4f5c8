package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// hubToken is the admin token of the hub under test, which lives no longer than the run and listens on loopback only.
const hubToken = "plt_bench_bench"

// child is this program, run again as a server.
type child struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	url    string
	token  string // empty for the echo server
}

func startHub(ctx context.Context, o Options, dir string) (*child, error) {
	args := []string{"serve", "--dev", "--listen", "127.0.0.1:0", "-o", "json"}
	if !o.Memory {
		args = append(args, "--data", dir)
	}
	c, err := startChild(ctx, []string{"PARLEY_DEV_TOKEN=" + hubToken}, args...)
	if err == nil {
		c.token = hubToken
	}
	return c, err
}

// startChild starts this program with args and waits for the line that says where it listens.
func startChild(ctx context.Context, env []string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var first struct {
		URL string `json:"url"`
	}
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s did not start: %s", args[0], bytes.TrimSpace(c.stderr.Bytes()))
	}
	c.url = first.URL
	return c, nil
}

// stop ends the child, first kindly.
func (c *child) stop() {
	c.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(12*time.Second, func() { c.cmd.Process.Kill() })
	defer kill.Stop()
	c.cmd.Wait() // how it ended says nothing about what was measured
}

// cpu is the CPU time that the child has used, 0 where the system does not tell.
func (c *child) cpu() time.Duration { return processCPU(c.cmd.Process.Pid) }
