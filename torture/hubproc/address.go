package hubproc

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// LowAddress gives a free address on loopback whose port the system gives to no client: else one that dials while the hub is down could be given the hub's own port.
func LowAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000))
		l, err := net.Listen("tcp", addr)
		if err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no free port below those of clients")
	return ""
}
