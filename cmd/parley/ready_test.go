package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestReady: the exit code is 0 for a hub that takes reads and writes, and for nothing else.
func TestReady(t *testing.T) {
	hub, drained := startHub(t, nil), startHub(t, nil)
	drained.hub.Drain()
	for name, c := range map[string]struct {
		address string
		code    int
	}{
		"a hub":           {hub.url, exitOK},
		"one that drains": {drained.url, exitUnavailable},
		"nobody":          {"ws://127.0.0.1:1/rpc", exitUnavailable},
		"something else":  {answering(t, http.StatusOK, "<html>"), exitUnavailable},
		"a proxy":         {answering(t, http.StatusBadGateway, ""), exitUnavailable},
		"no address":      {"hub", exitUsage},
		"TLS to it":       {"wss://" + hub.addr + "/rpc", exitFailure},
		"a token with it": {hub.url + "?token=" + secret, exitUsage},
	} {
		t.Setenv(envURL, c.address)
		var out, errs bytes.Buffer
		if code := runCommand(t, []string{"ready"}, &out, &errs); code != c.code {
			t.Errorf("%s: exit code %d, expected %d: %s%s", name, code, c.code, &out, &errs)
		}
		if strings.Contains(errs.String(), secret) {
			t.Errorf("%s: %s", name, &errs)
		}
	}
}
