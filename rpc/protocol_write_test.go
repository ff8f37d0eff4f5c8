package rpc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/rpc"
)

// sign is a sign of life.
const sign = ": keep-alive\n\n"

// TestProtocolStreamKeepAlive: a silent stream gets a comment every 15 s, only between messages and
// after the last byte. Other answers get none.
func TestProtocolStreamKeepAlive(t *testing.T) {
	for _, c := range []struct {
		name, kind, first, second, want string
	}{
		{"stream", "text/event-stream", "data: 1\n\n", "data: 2\n\n",
			"data: 1\n\n" + sign + sign + "data: 2\n\n" + sign + sign},
		{"half a message", "text/event-stream", "data: 1\n", "\n", "data: 1\n\n" + sign + sign},
		{"nothing but a head", "text/event-stream", "", "", strings.Repeat(sign, 5)},
		{"no stream", "application/json", "1\n\n", "2\n\n", "1\n\n2\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", c.kind)
					w.WriteHeader(http.StatusOK)
					for _, text := range []string{c.first, c.second} {
						fmt.Fprint(w, text)
						_ = http.NewResponseController(w).Flush()
						time.Sleep(40 * time.Second) // in the bubble
					}
				})})
				a := w.plain(bearer(devToken), "POST", protocolPath, "{}")
				if a.status != 200 || a.body != c.want {
					t.Errorf("HTTP %d %q, expected %q", a.status, a.body, c.want)
				}
			})
		})
	}
}

// TestProtocolCORS: a page of an allowed origin may send and read the headers of a protocol, only at
// the path of the protocol.
func TestProtocolCORS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chat = "https://chat.example.com"
		w := newProtocolWorld(t, &rpc.Options{AllowOrigins: []string{chat}}, &rpc.Protocol{
			Handler: http.HandlerFunc(echo), Verbs: []string{"POST", "GET"}, AllowHeaders: []string{"More-In"},
			ExposeHeaders: []string{"More-Out"},
		})
		const allowed, exposed = "Authorization, Content-Type, Parley-Agent, Last-Event-ID, Idempotency-Key, Range, " +
			"If-None-Match, Traceparent, Tracestate", "Retry-After, Location, ETag, Content-Range"
		for _, c := range []struct {
			verb, path, origin        string
			status                    int
			methods, allowed, exposed string
		}{
			{"OPTIONS", protocolPath, chat, 204, "GET, POST", allowed + ", More-In", exposed},
			{"OPTIONS", "/rpc", chat, 204, "GET, POST", allowed, exposed},
			{"POST", protocolPath, chat, 200, "", "", exposed + ", More-Out"},
			{"GET", "/conversations", chat, 200, "", "", exposed},
			{"POST", protocolPath, "", 200, "", "", ""},
			{"OPTIONS", protocolPath, "", 405, "", "", ""},
			{"OPTIONS", protocolPath, "https://evil.example", 403, "", "", ""},
		} {
			h := bearer(devToken)
			if c.origin != "" {
				h.Set("Origin", c.origin)
			}
			a := w.plain(h, c.verb, c.path, "")
			got := []string{a.header.Get("Access-Control-Allow-Methods"), a.header.Get("Access-Control-Allow-Headers"),
				a.header.Get("Access-Control-Expose-Headers")}
			if a.status != c.status || got[0] != c.methods || got[1] != c.allowed || got[2] != c.exposed {
				t.Errorf("%s %s of %q: HTTP %d %q", c.verb, c.path, c.origin, a.status, got)
			}
		}
	})
}
