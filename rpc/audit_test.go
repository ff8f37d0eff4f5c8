package rpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// record keeps what is logged as JSON lines.
type record struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(b)
}

func (r *record) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func (r *record) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// lines returns the lines since the last call, without time and message, and with sorted
// attributes.
func (r *record) lines(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for line := range strings.Lines(r.b.String()) {
		var attrs map[string]any
		if err := json.Unmarshal([]byte(line), &attrs); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		delete(attrs, "time")
		delete(attrs, "msg")
		var pairs []string
		for k, v := range attrs {
			pairs = append(pairs, fmt.Sprintf("%s=%v", k, v))
		}
		slices.Sort(pairs)
		out = append(out, strings.Join(pairs, " "))
	}
	r.b.Reset()
	return out
}

// TestAudit: one line for each grant, refusal and revocation.
func TestAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var audit record
		w := newWorld(t, &rpc.Options{Audit: audit.logger()})
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if got := audit.lines(t); !slices.Equal(got, want) {
				t.Errorf("the audit says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		admin := w.as("admin")
		expect("agent=admin event=authenticated level=INFO method=authenticate remote=127.0.0.1 tokenId=root")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice","scopes":["read"]}`)
		expect("agent=admin event=token_created level=INFO madeFor=alice madeTokenId=t1 method=createToken " +
			"remote=127.0.0.1 tokenId=root")
		for range 3 {
			w.plain(bearer(token), "GET", "/conversations", "")
		}
		expect("agent=alice event=authenticated level=INFO remote=127.0.0.1 tokenId=t1") // once
		time.Sleep(time.Hour)
		w.plain(bearer(token), "GET", "/conversations", "")
		expect("agent=alice event=authenticated level=INFO remote=127.0.0.1 tokenId=t1")
		w.plain(bearer(token), "POST", "/conversations", `{"participants":[{"id":"a","kind":"peer"}]}`)
		expect("agent=alice event=scope_refused level=WARN message=createConversation needs the scope create " +
			"method=createConversation reason=forbidden remote=127.0.0.1 tokenId=t1")
		w.plain(bearer(token+"x"), "GET", "/conversations", "")
		expect("event=login_refused level=WARN message=the token is not valid reason=unauthenticated remote=127.0.0.1")
		header := bearer(token)
		header.Set("Parley-Agent", "bob")
		w.plain(header, "GET", "/conversations", "")
		expect("agent=bob event=agent_refused level=WARN message=the token may not speak as this id reason=forbidden " +
			"remote=127.0.0.1")
		w.do(http.Header{"Origin": {"https://evil.example.com"}}, "GET", "/conversations", "").Body.Close()
		expect(`event=host_refused level=WARN message=web pages of this Origin may not connect reason=forbidden ` +
			`remote=127.0.0.1 what=Host 127.0.0.1, Origin https://evil.example.com`)
		w.plain(http.Header{"Authorization": {"Basic YTpi"}}, "GET", "/conversations", "")
		w.plain(http.Header{}, "GET", "/conversations?token="+token, "")
		expect("event=login_refused level=WARN message=the Authorization header has no bearer token "+
			"reason=unauthenticated remote=127.0.0.1",
			"event=login_refused level=WARN message=a token is not taken from the URL reason=unauthenticated remote=127.0.0.1")
		other := admin.token(`{"agentId":"bob","agents":["alice"]}`)
		bob := w.dial("b", bearer(other))
		audit.lines(t)
		bob.call(methods.Authenticate, fmt.Sprintf(`{"token":%q,"agentId":"alice"}`, other))
		expect("agent=alice event=agent_refused level=WARN message=the socket speaks as another id already " +
			"method=authenticate reason=forbidden remote=127.0.0.1 tokenId=t2")
		bob.call(methods.CreateToken, `{"agentId":"carol"}`)
		expect("agent=bob event=call_refused level=WARN message=the caller may not speak as carol method=createToken " +
			"reason=forbidden remote=127.0.0.1 tokenId=t2")
		ticket := w.with(token).ticket(`{}`)
		w.do(http.Header{}, "GET", events+"?ticket="+ticket, "").Body.Close()
		w.do(http.Header{}, "GET", events+"?ticket="+ticket, "").Body.Close()
		expect("agent=alice event=ticket_created level=INFO method=createTicket remote=127.0.0.1 tokenId=t1",
			"agent=alice event=authenticated level=INFO method=ticket remote=127.0.0.1 tokenId=t1",
			"event=login_refused level=WARN message=the ticket is not valid method=ticket reason=unauthenticated "+
				"remote=127.0.0.1")
		admin.must(methods.RevokeToken, revokes(token))
		expect("agent=admin event=token_revoked level=INFO method=revokeToken remote=127.0.0.1 " +
			"revokedTokenId=t1 tokenId=root")
		short := admin.token(`{"agentId":"alice","expiresInMs":60000}`)
		audit.lines(t)
		time.Sleep(time.Minute)
		w.plain(bearer(short), "GET", "/conversations", "")
		expect("cause=the token has expired event=login_refused level=WARN message=the token is not valid " +
			"reason=unauthenticated remote=127.0.0.1")
	})
}

// TestAuditIsNotFlooded: refusals of one address are logged up to a rate, and then counted. Those
// of another address are logged.
func TestAuditIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var audit record
		w := newWorld(t, &rpc.Options{Audit: audit.logger(),
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		for range 1000 {
			w.post(from("192.0.2.1", "nonsense"), strings.NewReader(pingPost))
		}
		w.post(from("192.0.2.2", "nonsense"), strings.NewReader(pingPost))
		lines := audit.lines(t)
		if len(lines) != 21 || !strings.Contains(lines[20], "remote=192.0.2.2") {
			t.Errorf("%d lines, the last: %s", len(lines), lines[len(lines)-1])
		}
		time.Sleep(10 * time.Second)
		if lines = audit.lines(t); !slices.Equal(lines,
			[]string{"event=refusals_left_out leftOut=980 level=WARN remote=192.0.2.1/32"}) {
			t.Errorf("what was left out: %q", lines)
		}
	})
}

// TestNoSecretIsLogged: for any text in any place, no token, ticket or secret is in any log, and no
// text breaks a line.
func TestNoSecretIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log, audit record
		w := newWorld(t, &rpc.Options{Logger: log.logger(), Audit: audit.logger()})
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice"}`) // plt_t1_secret1
		ticket := w.with(token).ticket(`{}`)        // tkt_secret2
		nasty := "bob\n{\"event\":\"forged\"}\x1b[31m\u202e" + strings.Repeat("y", 5000)
		for _, secret := range []string{token, ticket, token + "x", ticket + "x", nasty,
			"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."} {
			quoted, err := json.Marshal(secret)
			if err != nil {
				t.Fatal(err)
			}
			p := w.dial("", nil)
			for _, params := range []string{`{"token":%s}`, `{"token":"dev","agentId":%s}`, `{"token":"dev","clientName":%s}`,
				`{"token":%s,"agentId":"alice","clientName":"x"}`} {
				p.call(methods.Authenticate, fmt.Sprintf(params, quoted))
				time.Sleep(time.Second) // so that every refusal is logged
			}
			alice := w.with(devToken)
			for method, params := range map[string]string{
				methods.CreateToken: `{"agentId":%s}`, methods.RevokeToken: `{"tokenId":%s}`,
				methods.Tail:         `{"conversationId":%s,"sinceSeq":0}`,
				methods.CreateTicket: `{"origin":%s}`, methods.ListTokens: `{"cursor":%s}`,
			} {
				alice.call(method, fmt.Sprintf(params, quoted))
			}
			p.send(secret)
			p.close()
			if strings.ContainsAny(secret, "\n\x1b") {
				continue // is no header
			}
			for _, header := range []http.Header{
				{"Authorization": {secret}}, bearer(secret), {"Authorization": {"Bearer dev"}, "Parley-Agent": {secret}},
				{"Origin": {secret}}, {"Origin": {"https://" + secret}},
			} {
				w.plain(header, "GET", "/conversations", "")
				w.plain(header, "POST", "/rpc", pingPost)
				time.Sleep(2 * time.Second)
			}
			for _, target := range []string{"/conversations?token=" + secret, events + "?ticket=" + secret,
				"/rpc?ticket=" + secret, "/conversations?ticket=" + secret, "/" + secret, "/conversations/" + secret} {
				w.do(http.Header{}, "GET", target, "").Body.Close()
				w.do(bearer(devToken), "GET", target, "").Body.Close()
				time.Sleep(2 * time.Second)
			}
		}
		admin.must(methods.RevokeToken, revokes(token))
		synctest.Wait()
		for name, text := range map[string]string{"log": log.text(), "audit": audit.text()} {
			if text == "" {
				t.Errorf("the %s is empty: the test looks for nothing", name)
			}
			for _, canary := range []string{"secret", "eyJhbG", "forged\"}\n", "\x1b", "\u202e", strings.Repeat("y", 500)} {
				if i := strings.Index(text, canary); i >= 0 {
					t.Errorf("the %s has %.20q: %s", name, canary, text[max(0, i-200):min(len(text), i+100)])
				}
			}
		}
		log.lines(t) // each is one JSON object
		audit.lines(t)
	})
}
