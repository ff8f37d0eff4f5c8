package doctor

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// TestReady: the exit code is 0 for a hub that takes reads and writes, and for nothing else.
func TestReady(t *testing.T) {
	hub, drained := startHub(t, nil), startHub(t, nil)
	drained.Hub.Drain()
	for name, c := range map[string]struct {
		address string
		code    int
	}{
		"a hub":           {hub.URL, exit.CodeOK},
		"one that drains": {drained.URL, exit.CodeUnavailable},
		"nobody":          {"ws://127.0.0.1:1/rpc", exit.CodeUnavailable},
		"something else":  {answering(t, http.StatusOK, "<html>"), exit.CodeUnavailable},
		"a proxy":         {answering(t, http.StatusBadGateway, ""), exit.CodeUnavailable},
		"no address":      {"hub", exit.CodeUsage},
		"TLS to it":       {"wss://" + hub.Addr + "/rpc", exit.CodeFailure},
		"a token with it": {hub.URL + "?token=" + secret, exit.CodeUsage},
	} {
		t.Setenv(cli.EnvURL, c.address)
		var out, errs bytes.Buffer
		if code := runCommand(t, []string{"ready"}, &out, &errs); code != c.code {
			t.Errorf("%s: exit code %d, expected %d: %s%s", name, code, c.code, &out, &errs)
		}
		if strings.Contains(errs.String(), secret) {
			t.Errorf("%s: %s", name, &errs)
		}
	}
}
