package rpc_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// tokenIDOf returns the id of a token.
func tokenIDOf(token string) string { return strings.Split(token, "_")[1] }

func revokes(token string) string { return fmt.Sprintf(`{"tokenId":%q}`, tokenIDOf(token)) }

// TestRevokedTokenEndsEverywhere: sockets, waits and streams of a token, and of the tokens made
// with it, end within a second. Others do not.
func TestRevokedTokenEndsEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		parent, other := admin.token(`{"agentId":"alice"}`), admin.token(`{"agentId":"alice"}`)
		holder := w.with(parent)
		child := holder.token(`{"agentId":"alice"}`)
		idle, subscribed, stays := w.with(child), w.with(child), w.with(other)
		subscribed.must(methods.Subscribe, `{"conversationId":"case"}`)
		stays.must(methods.Subscribe, `{"conversationId":"case"}`)
		moved := w.with(parent) // has shown another token since
		moved.must(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, other))
		posted := make(chan string, 1)
		go func() {
			_, _, body := w.post(bearer(child), strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"waitForChange","params":{"conversationId":"case","sinceSeq":1,`+
					`"timeoutMs":60000}}`))
			posted <- body
		}()
		waited := make(chan httpAnswer, 1)
		go func() {
			waited <- w.plain(bearer(child), "GET", "/conversations/case/wait?sinceSeq=1&timeoutMs=60000", "")
		}()
		stream := w.follow(bearer(child), events)
		synctest.Wait()

		begin := time.Now()
		if got := string(admin.must(methods.RevokeToken, revokes(parent))); got != fmt.Sprintf(`{"revoked":[%q,%q]}`,
			tokenIDOf(parent), tokenIDOf(child)) {
			t.Errorf("revoked %s", got)
		}
		for name, p := range map[string]*peer{"the parent's": holder, "an idle one": idle,
			"one with a subscription": subscribed} {
			<-p.done
			if p.closeCode() != wire.CloseUnauthenticated {
				t.Errorf("%s: close code %d", name, p.closeCode())
			}
		}
		if got := parseReply(t, <-posted).reason(); got != "unauthenticated" {
			t.Errorf("the wait by POST: %q", got)
		}
		if a := <-waited; a.status != http.StatusUnauthorized {
			t.Errorf("the wait by GET: %v", a)
		}
		if got := stream.ended(); got != `{"reason":"the token was revoked"}` {
			t.Errorf("the stream: closing %s", got)
		}
		if took := time.Since(begin); took >= time.Second {
			t.Errorf("it took %v", took)
		} else {
			t.Logf("all had ended after %v", took)
		}
		for _, p := range []*peer{stays, moved} {
			p.must(methods.Ping, `{}`)
		}
		if got := parseReply(t, admin.call(methods.RevokeToken, revokes(parent))).reason(); got != "not_found" {
			t.Errorf("twice: %q", got)
		}
	})
}

// waitingHandler is a slow audit. Events during its write come between the verification of a token
// and its use by the socket.
type waitingHandler struct {
	slog.Handler
	wait func(agent string)
}

func (h waitingHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "agent" {
			h.wait(a.Value.String())
		}
		return true
	})
	return nil
}

func (h waitingHandler) Enabled(context.Context, slog.Level) bool { return true }

// TestRevokedWhileItIsShown: a token that is revoked between its verification and its use by the
// socket ends that socket.
func TestRevokedWhileItIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		w := newWorld(t, &rpc.Options{Audit: slog.New(waitingHandler{Handler: slog.DiscardHandler, wait: func(agent string) {
			if agent == "alice" {
				<-gate
			}
		}})})
		admin := w.as("admin")
		token := admin.token(`{"agentId":"alice"}`)
		first := w.dial("", nil)
		first.start(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, token))
		second := make(chan *peer, 1)
		go func() { second <- w.with(token) }()
		synctest.Wait()
		admin.must(methods.RevokeToken, revokes(token))
		synctest.Wait()
		close(gate)
		begin := time.Now()
		for _, p := range []*peer{first, <-second} {
			<-p.done
			if p.closeCode() != wire.CloseUnauthenticated || time.Since(begin) > time.Second {
				t.Errorf("close code %d after %v", p.closeCode(), time.Since(begin))
			}
		}
	})
}

// TestRevokedBeforeTheBody: a call whose body arrives after the end of its token is refused.
func TestRevokedBeforeTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		token := admin.token(`{"agentId":"alice"}`)
		conn, err := w.transport.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: "+
			"Bearer %s\r\nContent-Length: %d\r\n\r\n", token, len(pingPost))
		synctest.Wait()
		admin.must(methods.RevokeToken, revokes(token))
		fmt.Fprint(conn, pingPost)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%v, %v", resp, err)
		}
	})
}

// TestRotation: a participant changes its token without a gap.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		first := admin.token(`{"agentId":"alice"}`)
		alice := w.with(first)
		alice.must(methods.Subscribe, `{"conversationId":"case","sinceSeq":1}`)
		second := admin.token(`{"agentId":"alice"}`)
		alice.must(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, second))
		alice.must(methods.RevokeToken, revokes(second)) // its own
		<-alice.done
		third := admin.token(`{"agentId":"alice"}`)
		alice = w.with(first)
		alice.must(methods.Subscribe, `{"conversationId":"case","sinceSeq":1}`)
		alice.must(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, third))
		admin.must(methods.RevokeToken, revokes(first))
		alice.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"still here"},"finality":"turn"}`)
		alice.find("its own event", func(f string) bool { return strings.Contains(f, "still here") })
	})
}

// TestOwnRevocationIsAnswered: a caller that revokes its own token gets the answer before its
// socket ends.
func TestOwnRevocationIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// before the answer
		audit := waitingHandler{Handler: slog.DiscardHandler, wait: func(string) { time.Sleep(100 * time.Millisecond) }}
		w := newWorld(t, &rpc.Options{Audit: slog.New(audit)})
		token := w.as("admin").token(`{"agentId":"alice"}`)
		alice := w.with(token)
		alice.must(methods.RevokeToken, revokes(token))
		<-alice.done
	})
}

// TestSpeaksAsItself: the author is that of the token, for any name in the params.
func TestSpeaksAsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice"}`)
		alice := w.with(token)
		for _, field := range []string{"agentId", "from", "author", "participantId", "role", "createdBy"} {
			params := fmt.Sprintf(`{"conversationId":"case",%q:"bob","payload":{"text":"x"},"finality":"none"}`, field)
			if got := parseReply(t, alice.call(methods.SendMessage, params)).reason(); got != "invalid_params" {
				t.Errorf("%s beside the payload: %q", field, got)
			}
			params = fmt.Sprintf(`{"conversationId":"case","payload":{"text":"x",%q:"bob"},"finality":"none"}`, field)
			alice.must(methods.SendMessage, params)
		}
		for _, e := range w.stored("case")[1:] {
			if !strings.Contains(e, `"from":"alice"`) {
				t.Errorf("stored: %s", e)
			}
		}
		if got := parseReply(t, w.dial("b", nil).call(methods.Authenticate,
			fmt.Sprintf(`{"token":%q,"agentId":"bob"}`, token))).reason(); got != "forbidden" {
			t.Errorf("as bob: %q", got)
		}
		header := bearer(token)
		header.Set("Parley-Agent", "bob")
		if a := w.plain(header, "GET", "/conversations", ""); a.status != http.StatusForbidden {
			t.Errorf("as bob by header: %v", a)
		}
	})
}
