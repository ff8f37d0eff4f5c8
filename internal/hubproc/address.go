package hubproc

import (
	"testing"

	"github.com/parleyhub/parley/internal/freeport"
)

// LowAddress returns a free loopback address whose port the system does not use for clients.
// Otherwise, a client that dials while the hub is down could receive the port of the hub.
func LowAddress(t testing.TB) string {
	t.Helper()
	addresses, err := freeport.Low(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}
