package freeport_test

import (
	"net"
	"testing"

	"github.com/parleyhub/parley/internal/freeport"
)

// TestLow: the addresses are different ones, and can be listened at, all at once and again.
func TestLow(t *testing.T) {
	addresses, err := freeport.Low(50)
	if err != nil || len(addresses) != 50 {
		t.Fatal(len(addresses), err)
	}
	for range 2 {
		var all []net.Listener
		for _, a := range addresses {
			l, err := net.Listen("tcp", a)
			if err != nil {
				t.Fatal(err)
			}
			if port := l.Addr().(*net.TCPAddr).Port; port >= 32768 {
				t.Errorf("port %d is one that clients are given", port)
			}
			all = append(all, l)
		}
		for _, l := range all {
			l.Close()
		}
	}
}
