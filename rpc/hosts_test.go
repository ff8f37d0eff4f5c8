package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
)

// TestHostAndOrigin: every route checks them before anything else.
func TestHostAndOrigin(t *testing.T) {
	j := memory.New()
	defer j.Close()
	h, err := hub.Open(j, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := rpc.NewServer(h, &rpc.Options{AllowHosts: []string{"Hub.example.com", "lan:8080"},
		AllowOrigins: []string{"https://chat.example.com", "http://dev.example.com:3000/"}})
	defer s.Shutdown(t.Context())
	walk := []string{"GET /"}
	for _, route := range rpc.Routes(s) {
		_, path, _ := strings.Cut(route, " ")
		walk = append(walk, route, "OPTIONS "+path)
	}
	none := "\x00"
	for _, c := range []struct {
		host, origin string
		allowed      bool
	}{
		{"localhost", none, true}, {"localhost:7447", none, true}, {"LOCALHOST:1", none, true},
		{"127.0.0.1:7447", none, true}, {"127.8.9.1", none, true}, {"[::1]:7447", none, true}, {"[::1]", none, true},
		{"hub.example.com", none, true}, {"HUB.example.com:443", none, true}, {"lan:8080", none, true},
		{"lan", none, false}, {"lan:80", none, false}, {"evil.com", none, false}, {"localhost.evil.com", none, false},
		{"hub.example.com.evil.com", none, false}, {"", none, false}, {"10.0.0.1", none, false},
		{"127.0.0.1.evil.com", none, false},
		{"0.0.0.0", none, false}, {"[::ffff:127.0.0.1]", none, true}, {"[fe80::1%25lo]", none, false},
		{"2130706433", none, false}, {"localhost.", none, false},
		{"localhost:7447", "https://chat.example.com", true}, {"localhost:7447", "HTTPS://Chat.example.com", true},
		{"localhost:7447", "http://dev.example.com:3000", true}, {"localhost:7447", "http://localhost:7447", true},
		{"hub.example.com", "https://hub.example.com", true},
		{"localhost:7447", "http://localhost:3000", false}, {"localhost:7447", "null", false}, {"localhost:7447", "", false},
		{"localhost:7447", "https://evil.com", false}, {"localhost:7447", "http://chat.example.com", false},
		{"localhost:7447", "https://chat.example.com.evil.com", false},
		{"localhost:7447", "https://chat.example.com:444", false},
		{"localhost:7447", "file://localhost:7447", false}, {"localhost:7447", "http://localhost:7447@evil.com", false},
		{"localhost:7447", "http://evil.com#localhost:7447", false}, {"localhost:7447", "http://localhost:7447/x", false},
		{"evil.com", "http://evil.com", false},
	} {
		for _, route := range walk {
			method, path, _ := strings.Cut(route, " ")
			r := httptest.NewRequest(method, path, nil)
			r.Host = c.host
			if c.origin != none {
				r.Header["Origin"] = []string{c.origin}
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if (w.Code != http.StatusForbidden) != c.allowed {
				t.Errorf("%s, Host %q, Origin %q: %d %s", route, c.host, c.origin, w.Code, w.Body)
			}
		}
	}
}
