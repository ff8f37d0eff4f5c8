package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

func TestPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		reader := admin.token(`{"agentId":"alice","agents":["ann"],"scopes":["read"]}`)
		admin.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"},{"id":"bob","kind":"peer"}]}`)
		request := func(method, params string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
		}
		with := func(token string, more ...string) http.Header {
			h := bearer(token)
			for i := 0; i < len(more); i += 2 {
				h.Set(more[i], more[i+1])
			}
			return h
		}
		for _, c := range []struct {
			name   string
			header http.Header
			body   string
			status int
			want   string // in the reply
		}{
			{"ping", with(devToken), request("ping", `{}`), 200, `{"jsonrpc":"2.0","id":7,"result":{"nowMs":946684800000}}`},
			{"charset", with(devToken, "Content-Type", "application/json; charset=UTF-8"), request("ping", `{}`), 200,
				`"nowMs"`},
			{"speaks as", with(devToken, "Parley-Agent", "bob"), request("getGuidance", `{"conversationId":"case"}`), 200,
				`"kind":"wait"`},
			{"speaks as its first", with(reader), request("getGuidance", `{"conversationId":"case"}`), 200,
				`"kind":"may_speak"`},
			{"speaks as another", with(reader, "Parley-Agent", "bob"), request("ping", `{}`), 403,
				`"id":null,"error":{"code":4030`},
			{"speaks as its second", with(reader, "Parley-Agent", "ann"), request("getGuidance", `{"conversationId":"case"}`),
				404, `"not_found"`},
			{"no token", http.Header{}, request("ping", `{}`), 401, `"id":null,"error":{"code":4010`},
			{"bad token", with("plt_t1_wrong"), request("ping", `{}`), 401, `"unauthenticated"`},
			{"other scheme", http.Header{"Authorization": {"Basic ZGV2"}}, request("ping", `{}`), 401, `"unauthenticated"`},
			{"two tokens", http.Header{"Authorization": {"Bearer dev", "Bearer dev"}}, request("ping", `{}`), 401,
				`"unauthenticated"`},
			{"scope", with(reader), request("sendNote", `{"conversationId":"case"}`), 403, `"id":7,"error":{"code":4030`},
			{"form", with(devToken, "Content-Type", "application/x-www-form-urlencoded"), request("ping", `{}`), 415,
				`"invalid_request"`},
			{"plain text", with(devToken, "Content-Type", "text/plain"), request("ping", `{}`), 415, `"invalid_request"`},
			{"latin", with(devToken, "Content-Type", "application/json; charset=latin1"), request("ping", `{}`), 415,
				`"invalid_request"`},
			{"compressed", with(devToken, "Content-Encoding", "gzip"), request("ping", `{}`), 415, `"invalid_request"`},
			{"not JSON", with(devToken), `{`, 400, `"id":null,"error":{"code":-32700`},
			{"batch", with(devToken), `[]`, 400, `"id":null,"error":{"code":-32600`},
			{"params", with(devToken), request("tail", `{}`), 400, `"id":7,"error":{"code":-32602`},
			{"too large", with(devToken), strings.Repeat(" ", parley.MaxFrameBytes+1), 413, `"id":null,"error":{"code":4130`},
			{"just not too large", with(devToken), request("ping", `{}`) + strings.Repeat(" ",
				parley.MaxFrameBytes-len(request("ping", `{}`))), 200, `"nowMs"`},
			{"executor", with(devToken), request("registerExecutor", `{"executorId":"x","agents":["alice"]}`), 404,
				`needs a socket`},
			{"socket only", with(devToken), request("subscribe", `{"conversationId":"case"}`), 404, `needs a socket`},
			{"no method", with(devToken), request("askApproval", `{}`), 404, `there is no such method`},
			{"cursor", with(devToken), request("tail", `{"conversationId":"case","sinceSeq":2}`), 410, `"cursor_ahead"`},
			{"write", with(devToken, "Parley-Agent", "alice"),
				request("sendMessage", `{"conversationId":"case","payload":{"text":"a"},"finality":"turn"}`), 200,
				`{"seq":2,"turn":1}`},
			{"conflict", with(devToken, "Parley-Agent", "alice"),
				request("sendMessage", `{"conversationId":"case","payload":{"text":"a"},"finality":"turn"}`), 409,
				`"not_your_turn"`},
		} {
			status, header, reply := w.post(c.header, strings.NewReader(c.body))
			if status != c.status || !strings.Contains(reply, c.want) {
				t.Errorf("%s: %d %s", c.name, status, reply)
			}
			if (status == 401) != (header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s: WWW-Authenticate is %q", c.name, header.Get("WWW-Authenticate"))
			}
			if header.Get("Access-Control-Allow-Origin") != "" || header.Get("Set-Cookie") != "" {
				t.Errorf("%s: a CORS grant or a cookie: %v", c.name, header)
			}
		}
	})
}

// TestPostWaits: a wait over HTTP ends with the request, and with the hub.
func TestPostWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"}]}`)
		wait := func(ctx context.Context) (int, error) {
			body := `{"jsonrpc":"2.0","id":1,"method":"waitForChange","params":{"conversationId":"case","sinceSeq":1,` +
				`"timeoutMs":60000}}`
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url(), strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = bearer(devToken)
			req.Header.Set("Content-Type", "application/json")
			resp, err := w.client().Do(req)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			return resp.StatusCode, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := wait(ctx); err == nil || time.Since(begin) != time.Second {
			t.Errorf("a request that its caller gave up: %v after %v", err, time.Since(begin))
		}
		answered := make(chan int)
		go func() {
			status, err := wait(t.Context())
			if err != nil {
				t.Error(err)
			}
			answered <- status
		}()
		synctest.Wait()
		w.hub.Drain()
		if status := <-answered; status != http.StatusServiceUnavailable || time.Since(begin) != time.Second {
			t.Errorf("a wait when the hub drains: %d after %v", status, time.Since(begin))
		}
	})
}

// TestPostEndsWithItsToken: a wait ends with its token.
func TestPostEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice","expiresInMs":20000}`)
		begin := time.Now()
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"waitForChange",` +
				`"params":{"conversationId":"case","sinceSeq":1,"timeoutMs":60000}}`,
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		} {
			status, _, reply := w.post(bearer(token), strings.NewReader(body))
			if status != http.StatusUnauthorized || !strings.Contains(reply, `"unauthenticated"`) ||
				time.Since(begin) != 20*time.Second {
				t.Errorf("%d %s after %v", status, reply, time.Since(begin))
			}
		}
	})
}

// TestAgentOfTheUpgrade: the headers set the agent of a socket as they do for POST.
func TestAgentOfTheUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		header := bearer(devToken)
		header.Set("Parley-Agent", "bob")
		p := w.dial("bob", header)
		got := p.must(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, devToken))
		if !strings.Contains(string(got), `"agentId":"bob"`) {
			t.Errorf("the socket speaks as %s", got)
		}
		if _, err := wire.DialStream(t.Context(), w.url(),
			&wire.DialOptions{HTTPClient: w.client(), Header: bearer("plt_x_y")}); !errors.Is(err, parley.ErrUnauthenticated) {
			t.Errorf("a bad token on the upgrade: %v", err)
		}
	})
}

func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		get := func(path string) int {
			resp, err := w.client().Get("http://" + w.addr + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		if a, b, c, d := get("/livez"), get("/readyz"), get("/rpc"), get("/"); a != 200 || b != 200 || c != 426 || d != 404 {
			t.Errorf("livez %d, readyz %d, rpc without upgrade %d, / %d", a, b, c, d)
		}
		for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodHead, http.MethodOptions} {
			req, err := http.NewRequest(method, w.url(), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := w.client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, POST" {
				t.Errorf("%s is answered %d, Allow: %s", method, resp.StatusCode, resp.Header.Get("Allow"))
			}
		}
		w.hub.Drain()
		if a, b, c := get("/livez"), get("/readyz"), get("/rpc"); a != 200 || b != 503 || c != 503 {
			t.Errorf("draining: livez %d, readyz %d, rpc %d", a, b, c)
		}
	})
}
