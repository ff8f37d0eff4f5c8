package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// ticket makes a ticket.
func (p *peer) ticket(params string) string {
	p.t.Helper()
	var r parley.CreateTicketResult
	unmarshal(p.t, string(p.must(methods.CreateTicket, params)), &r)
	return r.Ticket
}

// upgrade opens a socket with a query, or returns the error.
func (w *world) upgrade(query string, header http.Header) (*peer, error) {
	stream, err := wire.DialStream(context.Background(), w.url()+query,
		&wire.DialOptions{HTTPClient: w.client(), Header: header})
	if err != nil {
		return nil, err
	}
	p := &peer{t: w.t, stream: stream, done: make(chan struct{}), more: make(chan struct{})}
	go p.read()
	w.t.Cleanup(p.close)
	return p, nil
}

// TestTicketOpensASocket: with the identity of its creator, once.
func TestTicketOpensASocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		admin.create(`{"conversationId":"other","participants":[{"id":"alice","kind":"peer"}]}`)
		token := admin.token(`{"agentId":"alice"}`)
		alice := w.with(token)
		wide, narrow := alice.ticket(`{}`), alice.ticket(`{"conversationId":"case"}`)
		for ticket, other := range map[string]string{wide: "", narrow: "not_found"} {
			p, err := w.upgrade("?ticket="+ticket, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.must(methods.Tail, `{"conversationId":"case","sinceSeq":0}`)
			if got := parseReply(t, p.call(methods.Tail,
				`{"conversationId":"other","sinceSeq":0}`)).reason(); got != other {
				t.Errorf("the other conversation: %q, want %q", got, other)
			}
			if _, err := w.upgrade("?ticket="+ticket, nil); err == nil {
				t.Error("it opened a second one")
			}
			p.must(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, token)) // continues as with a token
			p.must(methods.Tail, `{"conversationId":"other","sinceSeq":0}`)
		}
		if got := parseReply(t, alice.call(methods.CreateTicket,
			`{"conversationId":"absent"}`)).reason(); got != "not_found" {
			t.Errorf("for a conversation that she does not see: %q", got)
		}
	})
}

// TestTicketsThatAreNoGood: all are refused with the same answer, and the attempt ends them.
func TestTicketsThatAreNoGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{AllowOrigins: []string{"https://chat.example.com", "https://evil.example.com"}})
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice"}`)
		alice := w.with(token)
		page := func(origin string, more ...string) http.Header {
			h := http.Header{}
			if origin != "" {
				h.Set("Origin", origin)
			}
			for i := 0; i < len(more); i += 2 {
				h.Set(more[i], more[i+1])
			}
			return h
		}
		bound := `{"origin":"https://chat.example.com"}`
		for _, c := range []struct {
			name   string
			params string
			before func()
			header http.Header
			good   bool
		}{
			{"at once", `{}`, nil, page(""), true},
			{"just in time", `{}`, func() { time.Sleep(30*time.Second - 1) }, page(""), true},
			{"too late", `{}`, func() { time.Sleep(30 * time.Second) }, page(""), false},
			{"its page", bound, nil, page("https://chat.example.com"), true},
			{"its page, in another case", `{"origin":"HTTPS://Chat.example.com"}`, nil, page("https://chat.EXAMPLE.com"), true},
			{"another page", bound, nil, page("https://evil.example.com"), false},
			{"no page", bound, nil, page(""), false},
			{"no page that says it is the hub's", bound, nil, page("", "Sec-Fetch-Site", "same-origin"), false},
			{"the hub's own page", `{"origin":"http://127.0.0.1"}`, nil, page("", "Sec-Fetch-Site", "same-origin"), true},
			{"a page of nowhere", `{"origin":"http://127.0.0.1"}`, nil, page("", "Sec-Fetch-Site", "cross-site"), false},
			{"with a token", `{}`, nil, bearer(token), false},
			{"as herself", `{}`, nil, page("", "Parley-Agent", "alice"), true},
			{"as another", `{}`, nil, page("", "Parley-Agent", "bob"), false},
		} {
			ticket := alice.ticket(c.params)
			if c.before != nil {
				c.before()
			}
			resp := w.do(c.header, "GET", events+"?ticket="+ticket, "")
			resp.Body.Close()
			if good := resp.StatusCode == 200; good != c.good {
				t.Errorf("%s: HTTP %d", c.name, resp.StatusCode)
			}
			resp = w.do(page("https://chat.example.com"), "GET", events+"?ticket="+ticket, "")
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: after that it is still good: HTTP %d", c.name, resp.StatusCode)
			}
		}
		for _, target := range []string{"GET /conversations", "POST /rpc", "GET /metrics", "GET /backup"} {
			verb, path, _ := strings.Cut(target, " ")
			if a := w.plain(http.Header{}, verb, path+"?ticket="+alice.ticket(`{}`), ""); a.status != 401 ||
				!strings.Contains(a.body, "nothing else") {
				t.Errorf("%s: %v", target, a)
			}
		}
		if a := w.plain(http.Header{}, "GET", events+"?ticket=a&ticket=b", ""); a.status != 401 {
			t.Errorf("two tickets: %v", a)
		}
		for _, origin := range []string{"chat.example.com", "https://chat.example.com/", "ftp://x", "null", "https://",
			"https://a b"} {
			if got := parseReply(t, alice.call(methods.CreateTicket,
				fmt.Sprintf(`{"origin":%q}`, origin))).reason(); got != "validation_failed" {
				t.Errorf("the origin %s: %q", origin, got)
			}
		}
		for _, ticket := range []string{alice.ticket(`{}`), alice.ticket(`{"conversationId":"case"}`)} {
			if token != "" {
				admin.must(methods.RevokeToken, revokes(token))
				token = ""
			}
			if a := w.plain(http.Header{}, "GET", "/rpc?ticket="+ticket, ""); a.status != 401 { // else 426: it is no upgrade
				t.Errorf("of a token that was revoked: %v", a)
			}
		}
	})
}

// TestTicketIsUsedOnce: of several uses the first one counts.
func TestTicketIsUsedOnce(t *testing.T) {
	w := newLoopbackWorld(t, nil)
	alice := w.as("alice")
	for range 20 {
		ticket := alice.ticket(`{}`)
		opened := make(chan bool, 8)
		for range cap(opened) {
			go func() {
				p, err := w.upgrade("?ticket="+ticket, nil)
				if err == nil {
					p.close()
				}
				opened <- err == nil
			}()
		}
		n := 0
		for range cap(opened) {
			if <-opened {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("it opened %d sockets", n)
		}
	}
}

// TestTicketEndsWithItsToken: everything that a ticket has opened ends with the token.
func TestTicketEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice"}`)
		p, err := w.upgrade("?ticket="+w.with(token).ticket(`{"conversationId":"case"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		f := w.follow(http.Header{}, events+"?ticket="+w.with(token).ticket(`{"conversationId":"case"}`))
		admin.must(methods.RevokeToken, revokes(token))
		<-p.done
		if p.closeCode() != wire.CloseUnauthenticated || f.ended() == "" {
			t.Errorf("close code %d", p.closeCode())
		}
	})
}

// TestManyTickets: one token has at most 100 unused tickets. The use or the end of one makes room.
func TestManyTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		alice := w.with(admin.token(`{"agentId":"alice"}`))
		first := alice.ticket(`{}`)
		for range 99 {
			alice.ticket(`{}`)
		}
		time.Sleep(10 * time.Second)
		r := parseReply(t, alice.call(methods.CreateTicket, `{}`))
		if r.reason() != "rate_limited" || r.Error.Data.RetryAfterMs != 20_000 {
			t.Errorf("one more: %+v", r.Error)
		}
		w.with(admin.token(`{"agentId":"alice"}`)).ticket(`{}`) // of another token
		if _, err := w.upgrade("?ticket="+first, nil); err != nil {
			t.Fatal(err)
		}
		alice.ticket(`{}`)
		time.Sleep(20 * time.Second)
		for range 99 {
			alice.ticket(`{}`)
		}
	})
}

// TestTicketEndsWhereverItIsTried: also in a wrong place, so that no log contains a valid ticket.
func TestTicketEndsWhereverItIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		alice := w.as("alice")
		for _, target := range []string{"GET /conversations?", "POST /rpc?", "GET /metrics?", "GET " + events + "?token=x&",
			"GET /rpc?access_token=x&", "GET " + events + "?%zz&", "GET " + events + "?ticket=x&"} {
			ticket := alice.ticket(`{}`)
			verb, path, _ := strings.Cut(target, " ")
			w.do(http.Header{}, verb, path+"ticket="+ticket, "").Body.Close()
			resp := w.do(http.Header{}, "GET", events+"?ticket="+ticket, "")
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("after %s it is still good: HTTP %d", target, resp.StatusCode)
			}
		}
	})
}

// TestTicketsOfOneParticipant: a participant with many tokens does not use up the tickets of all
// others.
func TestTicketsOfOneParticipant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		alice := w.with(admin.token(`{"agentId":"alice"}`))
		for range 10 {
			p := w.with(alice.token(`{"agentId":"alice"}`))
			for range 100 {
				p.ticket(`{}`)
			}
		}
		if got := parseReply(t, alice.call(methods.CreateTicket, `{}`)).reason(); got != "rate_limited" {
			t.Errorf("ticket 1,001: %q", got)
		}
		w.with(admin.token(`{"agentId":"bob"}`)).ticket(`{}`)
		time.Sleep(30 * time.Second)
		alice.ticket(`{}`)
	})
}
