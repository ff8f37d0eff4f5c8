package network

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

// process is this program in a role.
type process struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	said   chan []byte   // closed at the end of its stdout
	ended  chan struct{} // closed then too
	stderr bytes.Buffer
}

// spawn starts a process in a role, which is killed at the end of the test. before are the words of
// a command that it is run by, as ip netns exec NAME.
func spawn(t *testing.T, role string, config any, before ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	told, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	words := append(before, self)
	p := &process{t: t, name: role, cmd: exec.Command(words[0], words[1:]...), said: make(chan []byte, 1000),
		ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), envRole+"="+role, envConfig+"="+string(told))
	p.cmd.Stderr = &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hubproc.Start(p.cmd); err != nil {
		t.Fatal(err)
	}
	go p.listen(out)
	t.Cleanup(func() {
		p.cmd.Process.Kill() // stopped or not; it may ended
		<-p.ended
		p.cmd.Wait()
	})
	return p
}

func (p *process) listen(out io.Reader) {
	defer close(p.ended)
	defer close(p.said)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		select {
		case p.said <- bytes.Clone(lines.Bytes()):
		default: // no one listens any more
		}
	}
}

// hear waits for what the process says next, at most so long.
func (p *process) hear(within time.Duration, into any) {
	p.t.Helper()
	if err := p.hearErr(within, into); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) hearErr(within time.Duration, into any) error {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case line, ok := <-p.said:
		if !ok {
			return fmt.Errorf("%s: the process has ended\n%s", p.name, p.stderr.Bytes())
		}
		if err := json.Unmarshal(line, into); err != nil {
			return fmt.Errorf("%s said %.300q: %w", p.name, line, err)
		}
		return nil
	case <-late.C:
		return fmt.Errorf("%s has said nothing for %s", p.name, within)
	}
}

// forget passes over what the process said so far.
func (p *process) forget() {
	for range len(p.said) {
		<-p.said
	}
}

// tell sends the process one line of JSON.
func (p *process) tell(v any) {
	p.t.Helper()
	if err := json.NewEncoder(p.in).Encode(v); err != nil {
		p.t.Fatalf("%s takes no word: %v", p.name, err)
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s to %s: %v", s, p.name, err)
	}
}

// order reads the next input line of the process.
func order(told *bufio.Scanner, into any) error {
	if !told.Scan() {
		return fmt.Errorf("told nothing more: %w", told.Err())
	}
	return json.Unmarshal(told.Bytes(), into)
}
