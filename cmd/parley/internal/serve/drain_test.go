package serve

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/wire"
)

// TestStalledBodyDoesNotKeepServe: a drain does not wait for the body of a POST.
func TestStalledBodyDoesNotKeepServe(t *testing.T) {
	t.Parallel()
	s, err := Start(Options{Journal: memory.New(), Address: "127.0.0.1:0", rootToken: "dev", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	s.drain = clitest.Patience
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n", "dev")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the hub said %q, %v", line, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := s.run(stopped); err != nil { // a drain that waits for the body takes all the time there is
		t.Error(err)
	}
}

// TestLongDrainSaysSo: the error of a drain that takes too long is about the drain.
func TestLongDrainSaysSo(t *testing.T) {
	t.Parallel()
	s, err := Start(Options{Journal: memory.New(), Address: "127.0.0.1:0", rootToken: "dev", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	s.drain = 100 * time.Millisecond
	silent, err := wire.DialStream(t.Context(), s.URL, nil) // it never reads, so the hub cannot close it in order
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	err = s.run(stopped)
	f := exit.FailureOf(stopped, err)
	if f.Reason != "timeout" || !strings.Contains(f.What, "the drain took longer than 100ms") ||
		!strings.Contains(f.Hint, "everything acknowledged is in the log") {
		t.Errorf("serve says %+v", f)
	}
}
