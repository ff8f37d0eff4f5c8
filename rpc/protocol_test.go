package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// protocolPath is where the protocol of these tests is.
const protocolPath = "/other"

// newProtocolWorld is newWorld with a protocol.
func newProtocolWorld(t testing.TB, o *rpc.Options, g *rpc.Protocol) *world {
	t.Helper()
	if o == nil {
		o = &rpc.Options{}
	}
	o.Protocols = map[string]*rpc.Protocol{protocolPath: g}
	return newWorld(t, o)
}

// echo answers with who calls and what came.
func echo(w http.ResponseWriter, r *http.Request) {
	c, ok := rpc.CallerOf(r.Context())
	body, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %t %d %v", c.AgentID, ok, len(body), err)
}

// untilEnd writes, if begun, the beginning of a stream, and returns when its request ends.
func untilEnd(begun bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if begun {
			fmt.Fprint(w, ": ok\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// protocolHead is the head of a request to a protocol with a body of n bytes.
func protocolHead(n int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
		protocolPath, devToken, n)
}

// TestProtocolAdmission: refused requests do not reach the handler, and get the reason.
func TestProtocolAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Int64
		w := newProtocolWorld(t, nil, &rpc.Protocol{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reached.Add(1)
				echo(w, r)
			}),
			MaxBody: 100, Challenge: func(*http.Request) string { return `more="here"` },
		})
		for _, c := range []struct {
			name   string
			header http.Header
			verb   string
			host   string
			size   int
			status int
			want   string
		}{
			{"good", speaks("bob"), "POST", "", 100, 200, "bob true 100 <nil>"},
			{"no token", http.Header{}, "POST", "", 1, 401, `"unauthenticated"`},
			{"bad token", bearer("plt_wrong"), "POST", "", 1, 401, `"unauthenticated"`},
			{"another host", bearer(devToken), "POST", "evil.example", 1, 403, `"forbidden"`},
			{"another origin", speaks("bob", "Origin", "https://evil.example"), "POST", "", 1, 403, `"forbidden"`},
			{"another verb", bearer(devToken), "GET", "", 0, 405, `"method_not_found"`},
			{"too large", bearer(devToken), "POST", "", 101, 413, `at most 100 bytes`},
		} {
			before := reached.Load()
			r, err := http.NewRequestWithContext(t.Context(), c.verb, "http://"+w.addr+protocolPath,
				strings.NewReader(strings.Repeat("x", c.size)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header, r.Host = c.header, c.host
			resp, err := w.client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.want) {
				t.Errorf("%s: HTTP %d %s, %v", c.name, resp.StatusCode, body, err)
			}
			if got := reached.Load() > before; got != (c.status == 200) {
				t.Errorf("%s: reached the handler: %t", c.name, got)
			}
			if got := resp.Header.Get("WWW-Authenticate"); (c.status == 401) != strings.Contains(got, `more="here"`) {
				t.Errorf("%s: WWW-Authenticate is %q", c.name, got)
			}
		}
	})
}

// TestProtocolBodyWithoutLength: a body of unknown length is cut off at the limit.
func TestProtocolBodyWithoutLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: http.HandlerFunc(echo), MaxBody: 1000})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.addr+protocolPath,
			io.MultiReader(bytes.NewReader(make([]byte, 1001))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = bearer(devToken)
		resp, err := w.client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusRequestEntityTooLarge ||
			!strings.Contains(string(body), `"too_large"`) {
			t.Errorf("HTTP %d %s, %v", resp.StatusCode, body, err)
		}
	})
}

// TestProtocolBodyThatDoesNotArrive: the wait for a body ends after 10 s, and at once when the
// server stops.
func TestProtocolBodyThatDoesNotArrive(t *testing.T) {
	for _, c := range []struct {
		name   string
		stop   bool
		status int
		after  time.Duration
	}{
		{"in time", false, http.StatusRequestTimeout, 10 * time.Second},
		{"the server stops", true, http.StatusServiceUnavailable, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: http.HandlerFunc(func(http.ResponseWriter,
					*http.Request) {
					t.Error("half a body has reached the handler")
				})})
				conn := w.dialRaw()
				fmt.Fprint(conn, protocolHead(100)+"half")
				begin := time.Now()
				if c.stop {
					time.Sleep(time.Second)
					if err := w.server.Shutdown(t.Context()); err != nil || time.Since(begin) != time.Second {
						t.Errorf("shut down after %v: %v", time.Since(begin), err)
					}
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if took := time.Since(begin); resp.StatusCode != c.status || took != c.after {
					t.Errorf("HTTP %d after %v", resp.StatusCode, took)
				}
			})
		})
	}
}

// TestProtocolRequestEndsWithItsToken: a request ends when its token expires or is revoked. It gets
// the reason if nothing of its answer was written.
func TestProtocolRequestEndsWithItsToken(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprintf("begun=%t", begun), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: untilEnd(begun)})
				admin := w.as("admin")
				begin := time.Now()
				check := func(a httpAnswer, what string, after time.Duration) {
					t.Helper()
					if took := time.Since(begin); took != after {
						t.Errorf("%s: it ended after %v", what, took)
					}
					if begun && (a.status != 200 || !strings.HasPrefix(a.body, ": ok\n\n") ||
						a.header.Get("X-Accel-Buffering") != "no") || !begun && (a.status != 401 || a.reason() != "unauthenticated" ||
						!strings.Contains(a.body, what)) {
						t.Errorf("%s: %v", what, a)
					}
				}
				check(w.plain(bearer(admin.token(`{"agentId":"bob","expiresInMs":20000}`)), "POST", protocolPath, "{}"), "expired",
					20*time.Second)
				var made parley.CreateTokenResult
				unmarshal(t, string(admin.must(methods.CreateToken, `{"agentId":"bob"}`)), &made)
				begin = time.Now()
				time.AfterFunc(5*time.Second, func() {
					admin.start(methods.RevokeToken,
						fmt.Sprintf(`{"tokenId":%q}`, made.TokenID))
				})
				check(w.plain(bearer(made.Token), "POST", protocolPath, "{}"), "revoked", 5*time.Second)
				if a := w.plain(bearer(made.Token), "POST", protocolPath, "{}"); a.status != 401 {
					t.Errorf("after that: %v", a)
				}
			})
		})
	}
}

// TestProtocolRequestEndsWithTheHub: requests under way do not delay a drain, and get the reason.
func TestProtocolRequestEndsWithTheHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: untilEnd(false)})
		const requests = 50
		answers := make(chan httpAnswer, requests)
		for range requests {
			go func() { answers <- w.plain(bearer(devToken), "POST", protocolPath, "{}") }()
		}
		synctest.Wait()
		begin := time.Now()
		if err := w.server.Shutdown(t.Context()); err != nil || time.Since(begin) != 0 {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
		for range requests {
			if a := <-answers; a.status != 503 || a.reason() != "unavailable" || a.header.Get("Retry-After") != "1" {
				t.Errorf("a request: %v", a)
			}
		}
		if a := w.plain(bearer(devToken), "POST", protocolPath, "{}"); a.status != 503 {
			t.Errorf("one more: %v", a)
		}
	})
}

// flood writes more than any buffer holds, and then waits for the end of its request.
func flood(ended chan<- time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range 64 {
			if _, err := w.Write(piece); err != nil {
				break
			}
		}
		<-r.Context().Done()
		ended <- time.Now()
	}
}

// TestProtocolPeerReadsNothing: the request ends after WriteTimeout, and delays a drain no longer.
func TestProtocolPeerReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 2)
		w := newProtocolWorld(t, &rpc.Options{WriteTimeout: 7 * time.Second}, &rpc.Protocol{Handler: flood(ended)})
		begin := time.Now()
		fmt.Fprint(w.dialRaw(), protocolHead(2)+"{}")
		if took := (<-ended).Sub(begin); took != 7*time.Second {
			t.Errorf("it ended after %v", took)
		}
		fmt.Fprint(w.dialRaw(), protocolHead(2)+"{}")
		synctest.Wait()
		begin = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := w.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 3*time.Second {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
	})
}

// TestSilentProtocolHandler: a handler may answer late, also with a status only. The connection
// stays open.
func TestSilentProtocolHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(5 * time.Minute):
				w.WriteHeader(http.StatusAccepted)
			case <-r.Context().Done():
			}
		})})
		for range 2 {
			if a := w.plain(bearer(devToken), "POST", protocolPath, "{}"); a.status != http.StatusAccepted {
				t.Errorf("%v", a)
			}
		}
	})
}

// TestProtocolPeerDisconnects: the request ends with its connection.
func TestProtocolPeerDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		w := newProtocolWorld(t, nil, &rpc.Protocol{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			close(ended)
		})})
		conn := w.dialRaw()
		fmt.Fprint(conn, protocolHead(2)+"{}")
		synctest.Wait()
		conn.Close()
		<-ended
	})
}

// TestProtocolRequestsAreBounded: for all, and for one account, which cannot keep the others out.
func TestProtocolRequestsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name          string
		most, room    int
		alice, others int // what one more is answered
	}{
		{"all", 3, 3, 503, 503},
		{"of one account", 0, 256, 503, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newProtocolWorld(t, &rpc.Options{MaxPosts: c.most},
					&rpc.Protocol{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if caller, _ := rpc.CallerOf(r.Context()); caller.AgentID == "alice" {
							<-r.Context().Done()
						}
					})})
				admin := w.as("admin")
				token := admin.token(`{"agentId":"alice"}`)
				for range c.room {
					fmt.Fprint(w.dialRaw(), strings.ReplaceAll(protocolHead(2), devToken, token)+"{}")
				}
				synctest.Wait()
				for who, want := range map[string]int{token: c.alice, devToken: c.others} {
					a := w.plain(bearer(who), "POST", protocolPath, "{}")
					if a.status != want || want == 503 && (a.reason() != "unavailable" || !strings.Contains(a.body, "under way")) {
						t.Errorf("one more: %v, expected %d", a, want)
					}
				}
			})
		})
	}
}

// TestProtocolHandlerPanics: a panic is logged as an internal error, and the peer gets an error.
func TestProtocolHandlerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newProtocolWorld(t, &rpc.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, &rpc.Protocol{
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") }),
		})
		if a := w.plain(bearer(devToken), "POST", protocolPath, "{}"); a.status != 500 || a.reason() != "internal" {
			t.Errorf("%v", a)
		}
		if text := log.String(); !strings.Contains(text, "a protocol handler panicked") || !strings.Contains(text, "oh") {
			t.Errorf("the log says %q", text)
		}
	})
}
