package hubproc

import (
	"testing"

	"github.com/parleyhub/parley/internal/freeport"
)

// LowAddress gives a free address on loopback whose port the system gives to no client: else one that dials while the hub is down could be given the hub's own port.
func LowAddress(t testing.TB) string {
	t.Helper()
	addresses, err := freeport.Low(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}
