package serve

import (
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

// TestCommandsURL: commands reach a hub that listens everywhere on this machine, and one with TLS
// by a name that its certificate may have.
func TestCommandsURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		address, cert string
		hosts         []string
		want          string
	}{
		{"ws://127.0.0.1:7447/rpc", "", nil, "ws://127.0.0.1:7447/rpc"},
		{"ws://[::]:7447/rpc", "", []string{"hub.example.com"}, "ws://127.0.0.1:7447/rpc"},
		{"ws://[::1]:7447/rpc", "", nil, "ws://[::1]:7447/rpc"},
		{"wss://0.0.0.0:7447/rpc", "cert.pem", []string{"hub.example.com:443", "other"}, "wss://hub.example.com:7447/rpc"},
		{"wss://192.0.2.1:7447/rpc", "cert.pem", nil, "wss://192.0.2.1:7447/rpc"},
	} {
		c := &config.Loaded{Config: config.Config{TLS: config.TLS{Cert: row.cert}, AllowHosts: row.hosts}}
		if got := commandsURL(row.address, c); got != row.want {
			t.Errorf("%s: %s, expected %s", row.address, got, row.want)
		}
	}
}
