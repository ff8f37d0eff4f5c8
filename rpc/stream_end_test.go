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
	"github.com/parleyhub/parley/rpc"
)

// ended waits for the end of the stream and returns the params of closing; empty without one.
func (f *follower) ended() string {
	f.t.Helper()
	<-f.done
	all := f.take()
	if len(all) == 0 || !strings.HasPrefix(all[len(all)-1], "closing ") {
		return ""
	}
	return strings.TrimPrefix(all[len(all)-1], "closing ")
}

// TestStreamEndsWithItsToken: a stream ends with a message when its token expires, and when it is
// revoked.
func TestStreamEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		begin := time.Now()
		f := w.follow(bearer(admin.token(`{"agentId":"bob","expiresInMs":20000}`)), events)
		if got := f.ended(); got != `{"reason":"the token has expired"}` || time.Since(begin) != 20*time.Second ||
			f.err.Error() != "EOF" {
			t.Errorf("expired: closing %s after %v, %v", got, time.Since(begin), f.err)
		}
		f = w.follow(bearer(admin.token(`{"agentId":"bob"}`)), events)
		synctest.Wait()
		begin = time.Now()
		var tokens parley.ListTokensResult
		list := w.plain(bearer(devToken), "GET", "/tokens", "")
		unmarshal(t, list.body, &tokens)
		id := tokens.Tokens[len(tokens.Tokens)-1].TokenID
		if a := w.plain(bearer(devToken), "DELETE", "/tokens/"+id, ""); a.status != 200 ||
			a.body != fmt.Sprintf(`{"revoked":[%q]}`, id) {
			t.Fatalf("revoke: %v", a)
		}
		if got := f.ended(); !strings.HasPrefix(got, `{"reason":"the token`) || strings.Contains(got, "retryAfterMs") ||
			time.Since(begin) > time.Second {
			t.Errorf("revoked: closing %s after %v", got, time.Since(begin))
		}
		synctest.Wait()
		if n := rpc.CountStreams(w.server); n != 0 {
			t.Errorf("%d streams are left", n)
		}
	})
}

// TestStreamEndsWithTheHub: a stream ends with a message, and does not delay Shutdown.
func TestStreamEndsWithTheHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		f := w.follow(speaks("bob"), events)
		synctest.Wait()
		begin := time.Now()
		if err := w.server.Shutdown(t.Context()); err != nil || time.Since(begin) != 0 {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
		if got := f.ended(); got != `{"reason":"the hub is about to stop","retryAfterMs":1000}` || f.err.Error() != "EOF" {
			t.Errorf("closing %s, %v", got, f.err)
		}
		if a := w.plain(speaks("bob"), "GET", events, ""); a.status != 503 || a.reason() != "unavailable" {
			t.Errorf("a stream after the end: %v", a)
		}
	})
}

// TestStreamEndsWithItsReader: a stream without a reader costs nothing.
func TestStreamEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		f := w.follow(speaks("bob"), events)
		synctest.Wait()
		if n := rpc.CountStreams(w.server); n != 1 {
			t.Errorf("%d streams while one is read", n)
		}
		f.leave()
		synctest.Wait()
		if n := rpc.CountStreams(w.server); n != 0 {
			t.Errorf("%d streams when nobody reads", n)
		}
	})
}

// stall opens a stream of which nothing is read.
func (w *world) stall(target string) {
	w.t.Helper()
	c := w.dialRaw()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nParley-Agent: bob\r\n\r\n", target,
		devToken)
	synctest.Wait()
}

// TestStreamThatIsNotRead: an unread stream is cut after 10 s, for any age, and delays no other.
func TestStreamThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		w.stall(events)
		reader := w.follow(speaks("bob"), events)
		time.Sleep(time.Hour) // what keeps it alive fits into the connection
		begin := time.Now()
		text := strings.Repeat("a", 100<<10)
		for range 40 {
			alice.say(text)
		}
		synctest.Wait()
		if got := len(reader.events()); got != 41 || time.Since(begin) != 0 {
			t.Errorf("the other reader has %d events after %v", got, time.Since(begin))
		}
		if n := rpc.CountStreams(w.server); n != 2 {
			t.Errorf("%d streams at first", n)
		}
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		if n := rpc.CountStreams(w.server); n != 2 {
			t.Errorf("%d streams before 10 s have gone by", n)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := rpc.CountStreams(w.server); n != 1 {
			t.Errorf("%d streams after 10 s; the one that is not read should be gone", n)
		}
	})
}

// TestStreamIsReadInItsOwnTime: a reader that takes a little now and then is not cut, even if the
// whole takes minutes.
func TestStreamIsReadInItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		for range 4 {
			alice.say(strings.Repeat("a", 800<<10))
		}
		c := w.dialRaw()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nParley-Agent: bob\r\n\r\n", events,
			devToken)
		total, buf := 0, make([]byte, 48<<10)
		begin := time.Now()
		for total < 3<<20 {
			n, err := c.Read(buf)
			if err != nil {
				t.Fatalf("after %d bytes and %v: %v", total, time.Since(begin), err)
			}
			total += n
			time.Sleep(4 * time.Second)
		}
		if time.Since(begin) < 2*time.Minute {
			t.Errorf("it took only %v", time.Since(begin))
		}
	})
}

// TestStreamsThatAreNotReadAreBounded: each costs at most a page, for any number of events.
func TestStreamsThatAreNotReadAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		for range 40 {
			alice.say(strings.Repeat("a", 200<<10))
		}
		alice.close()
		const streams = 20
		before := heap()
		for range streams {
			w.stall(events)
		}
		if n := rpc.CountStreams(w.server); n != streams {
			t.Fatalf("%d streams", n)
		}
		if each := (heap() - before) / streams; each > 2<<20 {
			t.Errorf("a stream that is not read costs %d KiB", each>>10)
		}
	})
}

// TestShutdownCutsStalledStream: a peer that reads nothing delays the end no longer than ctx
// allows.
func TestShutdownCutsStalledStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		for range 10 {
			alice.say(strings.Repeat("a", 100<<10))
		}
		alice.close()
		w.stall(events)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		if err := w.server.Shutdown(ctx); err == nil || time.Since(begin) != 3*time.Second {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
	})
}

// TestStreamsOfOneToken: they are bounded together with its subscriptions. The end of one makes
// room.
func TestStreamsOfOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{Rates: &rpc.Rates{Streams: 3}})
		alice := w.as("alice")
		alice.create(twoAgents)
		token := bearer(alice.token(`{"agentId":"bob"}`))
		socket := w.dial("bob", token)
		socket.must(methods.Subscribe, `{"conversationId":"case"}`)
		w.follow(token, events)
		third := w.follow(token, events)
		a := w.plain(token, "GET", events, "")
		if a.status != http.StatusTooManyRequests || a.reason() != "rate_limited" || a.header.Get("Retry-After") == "" {
			t.Errorf("one too many: %v %v", a, a.header)
		}
		w.follow(speaks("bob"), events) // another token has its own
		third.leave()
		synctest.Wait()
		if a := w.plain(token, "GET", events+"?sinceSeq=99", ""); a.reason() != "cursor_ahead" {
			t.Errorf("one that is refused: %v", a)
		}
		w.follow(token, events)
	})
}

// TestStreamByTicket: a browser that cannot set headers uses a ticket, once.
func TestStreamByTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		ticket := func() string {
			var r parley.CreateTicketResult
			unmarshal(t, w.plain(bearer(alice.token(`{"agentId":"bob"}`)), "POST", "/tickets", `{"conversationId":"case"}`).body,
				&r)
			return r.Ticket
		}
		once := ticket()
		f := w.follow(http.Header{}, events+"?ticket="+once+"&sinceSeq=0")
		synctest.Wait()
		if got := f.take(); len(got) != 3 || !strings.Contains(got[2], `"kind":"wait"`) {
			t.Errorf("by ticket comes %q", got)
		}
		if a := w.plain(http.Header{}, "GET", events+"?ticket="+once, ""); a.status != 401 {
			t.Errorf("a ticket used twice: %v", a)
		}
		if a := w.plain(speaks("bob"), "GET", events+"?ticket="+ticket(), ""); a.status != 401 {
			t.Errorf("a ticket and a token: %v", a)
		}
		if a := w.plain(http.Header{}, "GET", "/conversations/case?ticket="+ticket(), ""); a.status != 401 {
			t.Errorf("a ticket where none is taken: %v", a)
		}
	})
}
