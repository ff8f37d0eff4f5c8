package rpc_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/rpc"
)

// TestMetricsAreForAdmins at the hub's door.
func TestMetricsAreForAdmins(t *testing.T) {
	w := newWorld(t, nil)
	user := w.as("admin").token(`{"agentId":"a","scopes":["read","write","create","claim","approve","trace"]}`)
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"nobody":        {nil, http.StatusUnauthorized},
		"a bad token":   {bearer("plt_no_such"), http.StatusUnauthorized},
		"all but admin": {bearer(user), http.StatusForbidden},
		"an admin":      {bearer(devToken), http.StatusOK},
		"a page of others'": {http.Header{"Authorization": {"Bearer " + devToken}, "Origin": {"https://evil.example"}},
			http.StatusForbidden},
	} {
		status, text := w.get("/metrics", c.header)
		if status != c.status || strings.Contains(text, "parley_") != (status == http.StatusOK) {
			t.Errorf("%s gets %d, expected %d: %s", name, status, c.status, text)
		}
	}
}

// TestMetricsHandler serves without a token, in any state of the hub, but not to a page whose name
// resolves to it.
func TestMetricsHandler(t *testing.T) {
	w := newWorld(t, &rpc.Options{AllowHosts: []string{"hub.example"}})
	handler := w.server.MetricsHandler()
	ask := func(method, host, path string, header http.Header) (int, string) {
		r := httptest.NewRequest(method, "http://"+host+path, nil)
		maps.Copy(r.Header, header)
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		return rec.Code, rec.Body.String()
	}
	origin := http.Header{"Origin": {"http://10.0.0.9:9464"}}
	for _, c := range []struct {
		method, host, path string
		header             http.Header
		status             int
	}{
		{"GET", "127.0.0.1:9464", "/metrics", nil, 200},
		{"GET", "localhost", "/metrics", nil, 200},
		{"GET", "hub.example:9464", "/metrics", nil, 200},
		{"GET", "10.0.0.9:9464", "/metrics", nil, 200},
		{"GET", "[2001:db8::1]:9464", "/metrics", nil, 200},
		{"GET", "evil.example:9464", "/metrics", nil, 403},
		{"GET", "10.0.0.9.evil.example", "/metrics", nil, 403},
		{"GET", "10.0.0.9:9464", "/metrics", origin, 403},
		{"GET", "127.0.0.1", "/", nil, 404},
		{"GET", "127.0.0.1", "/rpc", nil, 404},
		{"POST", "127.0.0.1", "/metrics", nil, 405},
	} {
		if status, text := ask(c.method, c.host, c.path, c.header); status != c.status ||
			strings.Contains(text, "parley_ready 1\n") != (status == 200) {
			t.Errorf("%s %s%s: %d, expected %d: %.200s", c.method, c.host, c.path, status, c.status, text)
		}
	}
	w.hub.Drain()
	if status, text := ask("GET", "127.0.0.1", "/metrics", nil); status != 200 ||
		!strings.Contains(text, "\nparley_ready 0\n") {
		t.Errorf("while the hub drains: %d", status)
	}
	if status, _ := w.get("/metrics", bearer(devToken)); status != http.StatusServiceUnavailable {
		t.Errorf("at the hub's door while it drains: %d", status)
	}
}

// TestStatsInProcess: a client inside the hub gets the counters of the hub only.
func TestStatsInProcess(t *testing.T) {
	w := newWorld(t, nil)
	p := w.as("a")
	p.create(`{"participants":[{"id":"a","kind":"peer"}]}`)
	p.call("noSuchMethod", `{}`)
	client := w.hub.Client(w.hub.LocalPrincipal("admin", parley.ScopeAdmin))
	defer client.Close()
	n, err := client.Stats(t.Context(), &parley.StatsParams{})
	if err != nil || n.EventsAppended[parley.TypeSystem] != 1 || n.Append.Count != 1 || n.Sockets != 0 ||
		len(n.Refusals) != 0 || n.Received.Frames != 0 {
		t.Errorf("stats: %+v, %v", n, err)
	}
}
