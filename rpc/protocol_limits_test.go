package rpc_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/rpc"
)

// untilTheEnd returns when its request ends.
func untilTheEnd(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// stay sends a request with a body of n bytes, and returns when all is silent.
func (w *world) stay(verb, token string, n int) {
	w.t.Helper()
	head := strings.ReplaceAll(strings.Replace(protocolHead(n), "POST", verb, 1), devToken, token)
	go fmt.Fprint(w.dialRaw(), head+strings.Repeat("x", n)) // a refused body is not read
	synctest.Wait()
}

// TestProtocolBodiesAreBounded: the bytes of the bodies of requests under way are bounded, for one
// account and for all, and released with the request.
func TestProtocolBodiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Stay") == "" {
				untilTheEnd(w, r)
			}
		}), MaxBody: 100 << 10, MaxBodies: 400 << 10})
		admin := w.as("admin")
		var tokens []string
		for i := range 6 {
			tokens = append(tokens, admin.token(fmt.Sprintf(`{"agentId":"alice%d"}`, i)))
		}
		brief := func(what, token string, body io.Reader, status int, reason string) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.addr+protocolPath, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = bearer(token)
			r.Header.Set("Stay", "no")
			resp, err := w.client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			said, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != status || !strings.Contains(string(said), reason) {
				t.Errorf("%s: HTTP %d %s, %v", what, resp.StatusCode, said, err)
			}
			if got := resp.Header.Get("Retry-After"); (got != "") != (status != http.StatusOK) {
				t.Errorf("%s: Retry-After %q", what, got)
			}
		}
		text := func(n int) io.Reader { return strings.NewReader(strings.Repeat("x", n)) }
		w.stay("POST", tokens[0], 80<<10)
		brief("one more that fits", tokens[0], text(20<<10), 200, "")
		brief("again, as it was given back", tokens[0], text(20<<10), 200, "")
		brief("too much", tokens[0], text(20<<10+1), 429, `"rate_limited"`)
		brief("too much without a length", tokens[0], io.MultiReader(text(20<<10+1)), 429, "hold too many bytes")
		brief("of another", tokens[1], text(100<<10), 200, "")
		for _, token := range tokens[1:4] {
			w.stay("POST", token, 100<<10)
		}
		brief("what is left", tokens[4], text(20<<10), 200, "")
		brief("too much of all", tokens[4], text(20<<10+1), 503, "too many bytes in requests under way")
	})
}

// TestProtocolStreamsAreCountedSeparately: streams and other requests have separate limits, for all
// and for one account.
func TestProtocolStreamsAreCountedSeparately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const posts, streams, ofOne = 3, 300, 256
		w := newProtocolWorld(t, &rpc.Options{MaxPosts: posts}, &rpc.Protocol{
			Handler: http.HandlerFunc(untilTheEnd), Verbs: []string{"POST", "GET"}, MaxStreams: streams,
			Streams: func(r *http.Request) bool { return r.Method == "GET" },
		})
		admin := w.as("admin")
		alice, bob := admin.token(`{"agentId":"alice"}`), admin.token(`{"agentId":"bob"}`)
		refused := func(verb, token, words string) {
			t.Helper()
			if a := w.plain(bearer(token), verb, protocolPath, ""); a.status != 503 || !strings.Contains(a.body, words) {
				t.Errorf("one more %s: %v", verb, a)
			}
		}
		for range ofOne {
			w.stay("GET", alice, 0)
		}
		refused("GET", alice, "streams of this token open")
		for range posts {
			w.stay("POST", alice, 2)
		}
		refused("POST", alice, "requests under way")
		for range streams - ofOne {
			w.stay("GET", bob, 0)
		}
		refused("GET", bob, "streams open")
	})
}

// TestProtocolGetsForwardedAddress: the handler gets the address that a trusted proxy reports.
func TestProtocolGetsForwardedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newProtocolWorld(t, &rpc.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
			&rpc.Protocol{
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					c, _ := rpc.CallerOf(r.Context())
					fmt.Fprint(w, c.From)
				}),
			})
		forwarded := speaks("bob", "X-Forwarded-For", "203.0.113.7")
		if a := w.plain(forwarded, "POST", protocolPath, "{}"); a.body != "203.0.113.7" {
			t.Errorf("%v", a)
		}
	})
}

// TestProtocolIsStopped: when the hub stops, requests that the handler can still answer are
// answered. Silent ones are ended soon after, and then the streams.
func TestProtocolIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := make(chan struct{})
		w := newProtocolWorld(t, nil, &rpc.Protocol{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-known:
					if r.Header.Get("Idempotency-Key") != "" {
						fmt.Fprint(w, "done")
						return
					}
					<-r.Context().Done()
				case <-r.Context().Done():
				}
			}),
			Verbs: []string{"POST", "GET"}, Streams: func(r *http.Request) bool { return r.Method == "GET" },
			Stop: func() {
				time.Sleep(3 * time.Second) // in the bubble: until the hub has answered
				close(known)
			},
		})
		begin := time.Now()
		type end struct {
			httpAnswer
			after time.Duration
		}
		ends := map[string]chan end{}
		for name, r := range map[string]struct{ verb, key string }{"answered": {"POST", "k"}, "silent": {"POST", ""},
			"stream": {"GET", ""}} {
			c := make(chan end, 1)
			ends[name] = c
			go func() {
				h := bearer(devToken)
				if r.key != "" {
					h.Set("Idempotency-Key", r.key)
				}
				c <- end{w.plain(h, r.verb, protocolPath, ""), time.Since(begin)}
			}()
		}
		synctest.Wait()
		if err := w.server.Shutdown(t.Context()); err != nil || time.Since(begin) != 5*time.Second {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
		for name, want := range map[string]struct {
			status int
			after  time.Duration
		}{"answered": {200, 3 * time.Second}, "silent": {503, 5 * time.Second}, "stream": {503, 5 * time.Second}} {
			if got := <-ends[name]; got.status != want.status || got.after != want.after {
				t.Errorf("%s: %v after %v", name, got.httpAnswer, got.after)
			}
		}
	})
}
