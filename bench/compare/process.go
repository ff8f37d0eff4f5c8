package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/parleyhub/parley/internal/freeport"
)

// program says how a server is started.
type program struct {
	path string
	args []string
	env  []string
	dir  string
	user *syscall.Credential // nil: the user of this process
	stop syscall.Signal      // ends it in good order
}

// process is a running server. It ends with this program, however that ends.
type process struct {
	cmd   *exec.Cmd
	said  tail
	stop  syscall.Signal
	ended chan struct{} // closed when it has
}

// stopTimeout is how long a server may take to end in good order.
const stopTimeout = 12 * time.Second

func (p program) start() (*process, error) {
	c := exec.Command(p.path, p.args...)
	c.Dir, c.Env = p.dir, append(os.Environ(), p.env...)
	r := &process{cmd: c, stop: p.stop, ended: make(chan struct{})}
	c.Stdout, c.Stderr = &r.said, &r.said
	// A new process group: an interrupt from the keyboard reaches only this program, which then stops
	// its servers.
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.user, Setpgid: true, Pdeathsig: p.stop}
	if err := c.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(r.ended)
		c.Wait() // how it ended says nothing about what was measured
	}()
	return r, nil
}

// end stops the server and waits for its end.
func (p *process) end() {
	p.cmd.Process.Signal(p.stop)
	kill := time.AfterFunc(stopTimeout, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	<-p.ended
}

// explain adds to an error what the server said last.
func (p *process) explain(err error) error {
	if said := p.said.last(); err != nil && len(said) > 0 {
		return fmt.Errorf("%w; its last words:\n%s", err, said)
	}
	return err
}

// startTimeout is how long a server may take until it answers.
const startTimeout = 30 * time.Second

// ready asks until the server answers.
func (p *process) ready(ctx context.Context, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-p.ended:
			return p.explain(errors.New("it ended instead of starting"))
		case <-ctx.Done():
			return p.explain(fmt.Errorf("it did not start: %w", errors.Join(err, context.Cause(ctx))))
		}
	}
}

// tail keeps the end of what a server says.
type tail struct {
	mu    sync.Mutex // guards the field below
	bytes []byte
}

const tailBytes = 1 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, b...)
	t.bytes = t.bytes[max(0, len(t.bytes)-tailBytes):]
	return len(b), nil
}

func (t *tail) last() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.TrimSpace(bytes.Clone(t.bytes))
}

// freePort returns a free port.
func freePort() (int, error) {
	addresses, err := freeport.Low(1)
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
