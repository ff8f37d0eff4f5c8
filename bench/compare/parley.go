package main

import (
	"cmp"
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
	journal string // of several hubs, as --journal takes it; empty: it has its own
	token   string // of an admin; empty: parleyToken

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
	args := []string{"serve", "--listen", s.addr, "--data", filepath.Join(dir, "data"), "-o", "json"}
	if s.journal == "" {
		args = append(args, "--dev")
	} else {
		args = append(append(args, "--journal", s.journal), unlimited...)
	}
	s.proc, err = program{
		path: s.program, stop: syscall.SIGTERM,
		args: args,
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

// unlimited are the arguments of a hub that bounds what one token does no more than one with --dev,
// which does not go with --journal.
var unlimited = []string{
	"--limits-writes-per-second", "1000000", "--limits-write-burst", "1000000", "--limits-bytes-per-second",
	"1099511627776", "--limits-byte-burst", "1073741824",
}

// adminToken makes a token in a log while no hub has it.
func adminToken(ctx context.Context, program, data string) (string, error) {
	token, err := exec.CommandContext(ctx, program, "token", "create", "--admin", "--data", data).Output()
	if err != nil {
		return "", fmt.Errorf("%s token create: %w", program, err)
	}
	return strings.TrimSpace(string(token)), nil
}

// buildParley builds the program from the source tree and returns its path.
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
	header := "Authorization: Bearer " + cmp.Or(s.token, parleyToken) + "\r\nParley-Agent: " + parleySpeaker + "\r\n"
	return dialWebSocket(ctx, s.addr, "/rpc", header, hearParley)
}
