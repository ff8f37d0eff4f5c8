package rpc_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

const pingPost = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// behindProxy are options under which a test says itself where a request comes from.
func behindProxy() *rpc.Options {
	return &rpc.Options{Rates: &rpc.Rates{}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// from are the headers of a request with a token from an address.
func from(address, token string) http.Header {
	h := bearer(token)
	h.Set("X-Forwarded-For", address)
	return h
}

// TestGuessing: after ten bad tokens in a minute the answers to an address are delayed, over every
// transport. Good tokens are not.
func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, behindProxy())
		good := w.as("admin").token(`{"agentId":"alice"}`)
		guess := func(address string) reply {
			_, _, body := w.post(from(address, good+"x"), strings.NewReader(pingPost))
			return parseReply(t, body)
		}
		begin := time.Now()
		for range 10 {
			if got := guess("192.0.2.1").reason(); got != "unauthenticated" {
				t.Fatalf("a free guess: %q", got)
			}
		}
		if time.Since(begin) != 0 {
			t.Errorf("ten guesses took %v", time.Since(begin))
		}
		// Each of these is one too many.
		doors := map[string]func() (reason string, retryAfterMs int64){
			"POST": func() (string, int64) {
				r := guess("192.0.2.1")
				return r.reason(), r.Error.Data.RetryAfterMs
			},
			"plain HTTP": func() (string, int64) {
				a := w.plain(from("192.0.2.1", "nonsense"), "GET", "/conversations", "")
				var p parley.Problem
				unmarshal(t, a.body, &p)
				if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
					t.Errorf("%v", a)
				}
				return p.Reason, p.RetryAfterMs
			},
			"a ticket": func() (string, int64) {
				h := http.Header{"X-Forwarded-For": {"192.0.2.1"}}
				var p parley.Problem
				unmarshal(t, w.plain(h, "GET", events+"?ticket=tkt_x", "").body, &p)
				return p.Reason, p.RetryAfterMs
			},
			"authenticate": func() (string, int64) {
				p := w.dial("", http.Header{"X-Forwarded-For": {"192.0.2.1"}})
				defer p.close()
				r := parseReply(t, p.call(methods.Authenticate, `{"token":"nonsense"}`))
				return r.reason(), r.Error.Data.RetryAfterMs
			},
		}
		for name, door := range doors {
			begin := time.Now()
			reason, retry := door()
			if reason != "rate_limited" || retry < 1000 || retry > 6000 || time.Since(begin) != time.Second {
				t.Errorf("%s: %q, again after %d ms, after %v", name, reason, retry, time.Since(begin))
			}
		}
		begin = time.Now()
		if status, _, body := w.post(from("192.0.2.1", good), strings.NewReader(pingPost)); status != 200 ||
			time.Since(begin) != 0 {
			t.Errorf("a good token from there: %d %s after %v", status, body, time.Since(begin))
		}
		for _, other := range []string{"192.0.2.2", "2001:db8::1"} {
			if got := guess(other).reason(); got != "unauthenticated" {
				t.Errorf("from %s: %q", other, got)
			}
		}
		time.Sleep(time.Minute)
		if got := guess("192.0.2.1").reason(); got != "unauthenticated" {
			t.Errorf("after a minute: %q", got)
		}
	})
}

// TestGuessingFromOneNetwork: a client with a whole IPv6 network has the guesses of one address.
func TestGuessingFromOneNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, behindProxy())
		for i := range 11 {
			_, _, body := w.post(from(fmt.Sprintf("2001:db8:1:2::%d", i), "nonsense"), strings.NewReader(pingPost))
			if got, want := parseReply(t, body).reason(),
				map[bool]string{true: "rate_limited", false: "unauthenticated"}[i == 10]; got != want {
				t.Errorf("guess %d: %q", i, got)
			}
		}
	})
}

// TestManyGuesses: the number of delayed answers is bounded, and other addresses are served.
func TestManyGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, behindProxy())
		answers := make(chan time.Duration, 600)
		begin := time.Now()
		for range cap(answers) {
			go func() {
				w.post(from("192.0.2.1", "nonsense"), strings.NewReader(pingPost))
				answers <- time.Since(begin)
			}()
		}
		synctest.Wait()
		if at := len(answers); at != cap(answers)-256 {
			t.Errorf("%d of %d answers went out at once", at, cap(answers))
		}
		w.as("alice").must(methods.Ping, `{}`)
		for range cap(answers) {
			if took := <-answers; took != 0 && took != time.Second {
				t.Errorf("an answer took %v", took)
			}
		}
	})
}

// TestDevIsNotSlowed: without rates no answer is delayed.
func TestDevIsNotSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		begin := time.Now()
		for range 100 {
			if _, _, body := w.post(bearer("nonsense"), strings.NewReader(pingPost)); parseReply(t,
				body).reason() != "unauthenticated" {
				t.Fatal(body)
			}
		}
		if time.Since(begin) != 0 {
			t.Errorf("it took %v", time.Since(begin))
		}
	})
}

// TestTokensInURLs: every route refuses them by name, also with a good header, and never repeats
// them.
func TestTokensInURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		for _, query := range []string{"?token=dev", "?access_token=dev", "?a=b&token=dev", "?token="} {
			for _, target := range []string{"GET /conversations", "GET /conversations/case/events", "GET /rpc", "POST /rpc",
				"GET /metrics", "POST " + messages} {
				verb, path, _ := strings.Cut(target, " ")
				a := w.plain(speaks("alice"), verb, path+query, `{}`)
				if a.status != http.StatusUnauthorized || !strings.Contains(a.body, "not taken from the URL") ||
					strings.Contains(a.body, "dev") {
					t.Errorf("%s%s: %v", target, query, a)
				}
			}
		}
	})
}

// TestTwoCredentials: two credentials of a kind are refused, so that it is always clear which one
// counts.
func TestTwoCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for name, c := range map[string]struct {
			header http.Header
			status int
		}{
			"two tokens":   {http.Header{"Authorization": {"Bearer dev", "Bearer dev"}}, 401},
			"no bearer":    {http.Header{"Authorization": {"Basic ZGV2OmRldg=="}}, 401},
			"empty":        {http.Header{"Authorization": {""}}, 401},
			"two agents":   {http.Header{"Authorization": {"Bearer dev"}, "Parley-Agent": {"a", "b"}}, 403},
			"no agent":     {http.Header{"Authorization": {"Bearer dev"}, "Parley-Agent": {"a b"}}, 403},
			"a huge token": {bearer(strings.Repeat("x", 10<<10)), 401},
		} {
			if a := w.plain(c.header, "GET", "/conversations", ""); a.status != c.status {
				t.Errorf("%s: %v", name, a)
			}
		}
		p := w.dial("", nil)
		if got := parseReply(t, p.call(methods.Authenticate,
			fmt.Sprintf(`{"token":%q}`, strings.Repeat("x", 1<<20-200)))).reason(); got != "unauthenticated" {
			t.Errorf("a token of nearly 1 MiB: %q", got)
		}
	})
}
