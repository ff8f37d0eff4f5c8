package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/parleyhub/parley/internal/wire"
)

// startRunner starts parley as the runner of one agent, whose command is a program without
// arguments.
func startRunner(ctx context.Context, hub *Child, dir, program string) (*Child, error) {
	blueprint, err := json.Marshal(map[string]any{
		"name": sessionAgent, "argv": []string{program}, "parameters_schema": map[string]string{"type": "object"},
		"timeout": "1m",
	})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, sessionAgent+".json"), blueprint, 0o600); err != nil {
		return nil, err
	}
	parley, err := findParley()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: exec.CommandContext(ctx, parley, "run", "--blueprints", dir, "--capacity", fmt.Sprint(maxAtOnce),
		"-o", "json")}
	c.cmd.Env = append(os.Environ(), "PARLEY_URL="+hub.URL, "PARLEY_TOKEN="+hub.token, "PARLEY_AGENT=runner")
	c.cmd.Stderr = &c.stderr
	endWithParent(c.cmd)
	return c, c.cmd.Start()
}

// starter is a connection on which sessions are started one after another, each in mode sync: the
// answer is the result.
type starter struct {
	stream *wire.Stream
	index  int

	n     int
	frame []byte
	reply []byte
	took  []time.Duration
}

// takeStarters connects n starters. The returned ones are connected also if there is an error.
func takeStarters(ctx context.Context, hub *Child, n int) ([]*starter, error) {
	var all []*starter
	for i := range n {
		s, err := dialStream(ctx, hub)
		if err != nil {
			return all, fmt.Errorf("connection %d: %w", i, err)
		}
		all = append(all, &starter{stream: s, index: i})
	}
	return all, nil
}

func closeStarters(all []*starter) {
	for _, s := range all {
		s.stream.Close()
	}
}

// call makes a call and reads its answer into reply. Nothing in params needs escaping.
func (s *starter) call(method, format string, args ...any) (err error) {
	s.n++
	s.frame = fmt.Appendf(s.frame[:0], `{"jsonrpc":"2.0","id":%d,"method":"%s","params":`, s.n, method)
	s.frame = fmt.Appendf(s.frame, format, args...)
	if err := s.stream.WriteFrame(append(s.frame, '}')); err != nil {
		return err
	}
	s.reply, err = s.stream.ReadFrame(s.reply)
	return err
}

// awaitTimeout bounds how long a runner takes to be there.
const awaitTimeout = 20 * time.Second

// awaitAgent waits for the runner.
func (s *starter) awaitAgent(ctx context.Context) error {
	for end := time.Now().Add(awaitTimeout); time.Now().Before(end); {
		if err := s.call("listAgents", "{}"); err != nil {
			return err
		}
		if bytes.Contains(s.reply, []byte(`"name":"`+sessionAgent+`"`)) {
			return nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the runner was not there within %s: %.300s", awaitTimeout, s.reply)
}

var completed = []byte(`"status":"completed"`)

// work starts sessions until end.
func (s *starter) work(end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		if err := s.call("startSession", `{"agentName":"%s","clientRequestId":"s%d-%d"}`, sessionAgent, s.index,
			s.n); err != nil {
			return err
		}
		if !bytes.Contains(s.reply, completed) {
			return fmt.Errorf("unexpected answer: %.300s", s.reply)
		}
		s.took = append(s.took, time.Since(start))
	}
}

func (s *starter) taken() (int, []time.Duration) { return take(&s.took) }

func (s *starter) close() { s.stream.Close() }
