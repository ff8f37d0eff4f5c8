package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/wire"
)

// TestStalledBodyDoesNotKeepServe: a POST whose body does not come is no reason to stay.
func TestStalledBodyDoesNotKeepServe(t *testing.T) {
	cmd, first, _ := startServe(t)
	conn, err := net.Dial("tcp", first.Listening)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n", first.Token)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the hub said %q, %v", line, err)
	}
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // how it ended is looked at below
	if code, took := cmd.ProcessState.ExitCode(), time.Since(begin); code != exitOK || took > 10*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
}

// TestLongDrainSaysSo: what is printed when a drain takes too long is about the drain.
func TestLongDrainSaysSo(t *testing.T) {
	s, err := startServer(serverOptions{journal: memory.New(), addr: "127.0.0.1:0", rootToken: "dev", log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	s.drain = 100 * time.Millisecond
	silent, err := wire.DialStream(t.Context(), s.url, nil) // nobody reads from it, so nobody says goodbye
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	err = s.run(stopped)
	f := failureOf(stopped, err)
	if f.Reason != "timeout" || !strings.Contains(f.What, "the drain took longer than 100ms") || !strings.Contains(f.Hint, "what was acknowledged is in the log") {
		t.Errorf("serve says %+v", f)
	}
}
