package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
)

// TestCORS: pages of an allowed origin may send requests and read answers. Other pages may not, and
// no page gets credentials.
func TestCORS(t *testing.T) {
	j := memory.New()
	defer j.Close()
	h, err := hub.Open(j, &hub.Options{RootToken: devToken})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := rpc.NewServer(h, &rpc.Options{AllowOrigins: []string{"https://chat.example.com"}})
	defer s.Shutdown(t.Context())
	const chat = "https://chat.example.com"
	for _, c := range []struct {
		verb, target, origin string
		status               int
		origins, methods     string // the headers that grant access
	}{
		{"GET", "/conversations", chat, 200, chat, ""},
		{"GET", "/conversations/none", chat, 404, chat, ""},
		{"GET", "/nothing", chat, 404, chat, ""},
		{"PUT", "/conversations", chat, 405, chat, ""},
		{"GET", "/conversations", "HTTPS://chat.example.com", 200, "HTTPS://chat.example.com", ""},
		{"OPTIONS", "/conversations", chat, 204, chat, "GET, HEAD, POST"},
		{"OPTIONS", "/conversations/case/events", chat, 204, chat, "GET"},
		{"OPTIONS", "/tokens/t1", chat, 204, chat, "DELETE"},
		{"OPTIONS", "/rpc", chat, 204, chat, "GET, POST"},
		{"OPTIONS", "/nothing", chat, 404, chat, ""},

		{"GET", "/conversations", "", 200, "", ""},
		{"OPTIONS", "/conversations", "", 405, "", ""},
		{"GET", "/conversations", "http://localhost", 200, "", ""}, // the hub's own
		{"OPTIONS", "/conversations", "http://localhost", 405, "", ""},
		{"GET", "/conversations", "https://evil.com", 403, "", ""},
		{"OPTIONS", "/conversations", "https://evil.com", 403, "", ""},
		{"OPTIONS", "/conversations", "null", 403, "", ""},
		{"POST", "/conversations", "https://chat.example.com.evil.com", 403, "", ""},
		{"GET", "/conversations/case/events", "https://evil.com", 403, "", ""},
	} {
		r := httptest.NewRequest(c.verb, c.target, nil)
		r.Host = "localhost"
		r.Header = bearer(devToken)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		got := w.Header()
		if w.Code != c.status || got.Get("Access-Control-Allow-Origin") != c.origins ||
			got.Get("Access-Control-Allow-Methods") != c.methods {
			t.Errorf("%s %s for %q: HTTP %d %v", c.verb, c.target, c.origin, w.Code, got)
		}
		if (got.Get("Access-Control-Expose-Headers") != "") != (c.origins != "") ||
			(got.Get("Access-Control-Allow-Headers") != "") != (c.status == 204) {
			t.Errorf("%s %s for %q: %v", c.verb, c.target, c.origin, got)
		}
		if got.Get("Access-Control-Allow-Credentials") != "" || w.Code != http.StatusForbidden &&
			got.Get("Vary") != "Origin" {
			t.Errorf("%s %s for %q: %v", c.verb, c.target, c.origin, got)
		}
	}
}
