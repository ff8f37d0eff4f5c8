package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// ask sends a request over plain HTTP and returns its answer with an unread body. It ends with ctx.
func (w *world) ask(ctx context.Context, method, path, body string, header http.Header) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body == "" {
		req.Body = http.NoBody
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := w.client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// TestMetricsCountEveryDoor: a refusal over any transport is counted once, and nothing else is.
func TestMetricsCountEveryDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := w.as("a")
		p.create(`{"conversationId":"c","participants":[{"id":"a","kind":"peer"}]}`)
		user := p.token(`{"agentId":"a","scopes":["read"]}`)
		admin, as := bearer(devToken), bearer(user)
		speaker := bearer(devToken)
		speaker.Set("Parley-Agent", "a")
		json := func(h http.Header) http.Header {
			h = h.Clone()
			h.Set("Content-Type", "application/json")
			return h
		}
		call := `{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`
		for _, c := range []struct {
			method, path, body string
			header             http.Header
			reason             error // nil: not refused
		}{
			{"GET", "/conversations/c", "", admin, nil},
			{"GET", "/conversations/absent", "", admin, parley.ErrNotFound},
			{"GET", "/conversations/c?limit=0", "", admin, parley.ErrValidationFailed},
			{"GET", "/conversations/c?nonsense=1", "", admin, parley.ErrInvalidParams},
			{"GET", "/conversations/c", "", nil, parley.ErrUnauthenticated},
			{"GET", "/conversations/c", "", http.Header{"Host": {"evil.example"}}, parley.ErrForbidden},
			{"GET", "/conversations/c/events?sinceSeq=99", "", admin, parley.ErrCursorAhead},
			{"GET", "/conversations/absent/events", "", admin, parley.ErrNotFound},
			{"GET", "/nothing", "", admin, parley.ErrMethodNotFound},
			{"PUT", "/conversations/c", "", admin, parley.ErrMethodNotFound},
			{"GET", "/stats", "", as, parley.ErrForbidden},
			{"GET", "/metrics", "", as, parley.ErrForbidden},
			{"GET", "/livez", "", nil, nil},
			{"POST", "/conversations", `{`, json(admin), parley.ErrParse},
			{"POST", "/conversations", `{}`, admin, parley.ErrInvalidRequest},
			{"POST", "/conversations", strings.Repeat(" ", 1<<20+1), json(admin), parley.ErrTooLarge},
			{"POST", "/conversations/c/messages", `{"payload":{"text":"x"},"finality":"none"}`, json(as), parley.ErrForbidden},
			{"POST", "/conversations/c/messages", `{"payload":{"text":"x"},"finality":"none","turn":9}`, json(speaker),
				parley.ErrTurnConflict},
			{"POST", "/rpc", fmt.Sprintf(call, "stats"), json(as), parley.ErrForbidden},
			{"POST", "/rpc", fmt.Sprintf(call, "ping"), json(as), nil},
			{"POST", "/rpc", fmt.Sprintf(call, "subscribe"), json(as), parley.ErrMethodNotFound},
			{"POST", "/rpc", strings.Repeat(" ", 1<<20+1), json(as), parley.ErrTooLarge},
			{"POST", "/rpc", `[]`, json(as), parley.ErrInvalidRequest},
		} {
			before := series(t, w.scrape())
			resp := w.ask(t.Context(), c.method, c.path, c.body, c.header)
			_ = resp.Body.Close()
			synctest.Wait()
			after := series(t, w.scrape())
			for _, row := range parley.Errors {
				name := fmt.Sprintf("parley_refusals_total{reason=%q}", row.Reason())
				want := 0.0
				if row.Err == c.reason {
					want = 1
				}
				if got := after[name] - before[name]; got != want {
					t.Errorf("%s %s (%d): %v refusals are counted as %s, expected %v", c.method, c.path, resp.StatusCode, got,
						row.Reason(), want)
				}
			}
		}
	})
}

// TestMetricsOfWhatIsOpen: streams and requests count while they last.
func TestMetricsOfWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := w.as("a")
		p.create(`{"conversationId":"c","participants":[{"id":"a","kind":"peer"}]}`)
		open := func(streams, subscribers, requests float64) {
			t.Helper()
			synctest.Wait()
			n := series(t, w.scrape())
			if n["parley_streams"] != streams || n["parley_subscribers"] != subscribers || n["parley_requests"] != requests {
				t.Errorf("%v streams, %v subscribers, %v requests; expected %v, %v, %v",
					n["parley_streams"], n["parley_subscribers"], n["parley_requests"], streams, subscribers, requests)
			}
		}
		open(0, 0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream := w.ask(ctx, "GET", "/conversations/c/events", "", bearer(devToken))
		defer stream.Body.Close()
		p.must(methods.Subscribe, `{"conversationId":"c"}`)
		open(1, 2, 0)
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			_ = w.ask(t.Context(), "GET", "/conversations/c/wait?sinceSeq=1&timeoutMs=5000", "", bearer(devToken)).Body.Close()
		}()
		open(1, 2, 1)
		<-waited
		cancel()
		open(0, 1, 0)
		p.close()
		open(0, 0, 0)
		n := series(t, w.scrape())
		if n[`parley_sockets{state="authenticated"}`] != 0 || n[`parley_sockets{state="pending"}`] != 0 {
			t.Errorf("sockets that have ended are counted: %v", n)
		}
	})
}
