package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// module is where the program is built from.
const module = "github.com/parleyhub/parley"

const (
	// parleyToken is the admin token of a hub that lives no longer than the run.
	parleyToken = "plt_compare_compare"
	// parleySpeaker is who speaks, and reads, in all conversations.
	parleySpeaker = "bench"
	// parleyOne is the conversation of the subscribers and of the replay.
	parleyOne = "one"
)

// parleyServer is a hub as a user would start it.
type parleyServer struct {
	program string // its path
	text    string

	proc    *process
	addr    string
	version string
	spread  int   // conversations that appends are spread over
	made    int   // events that they began with
	head    int64 // of the one conversation
}

func (s *parleyServer) about() About {
	return About{Name: "parley", Version: s.version, Durable: "as it is: no acknowledgement before fdatasync"}
}

func (s *parleyServer) process() *process { return s.proc }

func (s *parleyServer) start(ctx context.Context, dir string) error {
	version, err := exec.CommandContext(ctx, s.program, "version").Output()
	if err != nil {
		return fmt.Errorf("%s version: %w", s.program, err)
	}
	s.version = strings.TrimPrefix(strings.TrimSpace(string(version)), "parley ")
	port, err := freePort()
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.proc, err = program{
		path: s.program, stop: syscall.SIGTERM,
		args: []string{"serve", "--dev", "--listen", s.addr, "--data", filepath.Join(dir, "data"), "-o", "json"},
		env:  []string{"PARLEY_DEV_TOKEN=" + parleyToken},
	}.start()
	if err != nil {
		return err
	}
	return s.proc.ready(ctx, func(ctx context.Context) error {
		l, err := s.dial(ctx)
		if err == nil {
			l.close()
		}
		return err
	})
}

// buildParley builds the program from the tree and gives its path.
func buildParley(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("where is %s: %w", module, err)
	}
	path := filepath.Join(dir, "parley")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./cmd/parley")
	build.Dir = strings.TrimSpace(string(root))
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build parley: %w\n%s", err, said)
	}
	return path, nil
}

// dial opens a socket that speaks as parleySpeaker.
func (s *parleyServer) dial(ctx context.Context) (*line, error) {
	header := "Authorization: Bearer " + parleyToken + "\r\nParley-Agent: " + parleySpeaker + "\r\n"
	return dialWebSocket(ctx, s.addr, "/rpc", header, hearParley)
}
