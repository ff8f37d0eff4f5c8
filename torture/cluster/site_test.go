package cluster

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
)

// place is where one machine's process is.
type place interface {
	// host is its address, and address its address with a separate port, HOST:PORT. Places on the same
	// host have different ports. Each call returns the same port.
	host() string
	address(port int) string
	// data is the directory of its data, which may not be there.
	data() string
	// do calls f on this thread so that a process that it starts is there.
	do(f func() error) error
}

// site is where the machines are.
type site interface {
	place(name string) place
	// dial connects from where the clients are.
	dial(ctx context.Context, network, address string) (net.Conn, error)
	// do calls f on this thread so that a process that it starts is where the clients are.
	do(f func() error) error
}

// atSite attacks machines apart, and on loopback where they cannot be: whatever the reason,
// something is attacked.
func atSite(t *testing.T, ids []promise.ID, apart func(*testing.T, *apart), onLoopback func(*testing.T, *loopback)) {
	t.Helper()
	made := false
	t.Run("apart", func(t *testing.T) {
		at := newApart(t, servers+hubs, ids...)
		made = true
		apart(t, at)
	})
	t.Run("on loopback", func(t *testing.T) {
		if made {
			t.Skip("the machines are apart")
		}
		onLoopback(t, newLoopback(t))
	})
}

// loopback is a site without a separate network: its places have different ports.
type loopback struct {
	t     testing.TB
	dir   string
	given map[string]bool // addresses
}

func newLoopback(t testing.TB) *loopback {
	return &loopback{t: t, dir: t.TempDir(), given: map[string]bool{}}
}

func (l *loopback) place(name string) place {
	return &loopbackPlace{site: l, dir: filepath.Join(l.dir, name), addresses: map[int]string{}}
}

func (l *loopback) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

func (l *loopback) do(f func() error) error { return f() }

type loopbackPlace struct {
	site      *loopback
	dir       string
	addresses map[int]string // of a port
}

func (p *loopbackPlace) host() string { return "127.0.0.1" }

func (p *loopbackPlace) address(port int) string {
	for p.addresses[port] == "" {
		if a := hubproc.LowAddress(p.site.t); !p.site.given[a] {
			p.site.given[a], p.addresses[port] = true, a
		}
	}
	return p.addresses[port]
}

func (p *loopbackPlace) data() string            { return p.dir }
func (p *loopbackPlace) do(f func() error) error { return f() }
