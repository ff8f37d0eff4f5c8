package listen

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// TestListenEndsDeadConnections: each connection that is taken ends when its peer is gone. That it
// does so in time is seen by the torture test of half-open peers.
func TestListenEndsDeadConnections(t *testing.T) {
	t.Parallel()
	l, err := Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l[0].Close()
	peer, err := net.Dial("tcp", l[0].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	conn, err := l[0].Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		name          string
		level, option int
		want          int
	}{
		{"TCP_USER_TIMEOUT", syscall.IPPROTO_TCP, tcpUserTimeout, int(deadAfter / time.Millisecond)},
		{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, int(aliveAfter / time.Second)},
		{"TCP_KEEPINTVL", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, int(aliveEvery / time.Second)},
		{"TCP_KEEPCNT", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, aliveCount},
	} {
		var got int
		var failed error
		if err := raw.Control(func(fd uintptr) {
			got,
				failed = syscall.GetsockoptInt(int(fd), o.level, o.option)
		}); err != nil {
			t.Fatal(err)
		}
		if failed != nil || got != o.want {
			t.Errorf("%s of a connection is %d (%v), expected %d", o.name, got, failed, o.want)
		}
	}
}
