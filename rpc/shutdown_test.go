package rpc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/methods"
)

// dialRaw makes a connection for requests written by hand.
func (w *world) dialRaw() net.Conn {
	w.t.Helper()
	var c net.Conn
	var err error
	if w.tcp {
		c, err = net.Dial("tcp", w.addr)
	} else {
		c, err = w.transport.DialContext(context.Background(), "", "")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

// postHead is the head of a POST with a body of n bytes.
func postHead(n int, more string) string {
	return fmt.Sprintf("POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n%s\r\n", devToken, n, more)
}

// stallBody begins a POST whose body does not come, and returns when the server waits for it.
func (w *world) stallBody() *bufio.Reader {
	w.t.Helper()
	c := w.dialRaw()
	fmt.Fprint(c, postHead(100, "Expect: 100-continue\r\n"))
	r := bufio.NewReader(c)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := r.ReadString('\n'); err != nil || line != want {
			w.t.Fatalf("%q, %v", line, err)
		}
	}
	fmt.Fprint(c, `{"jsonrpc":`)
	return r
}

// TestShutdownWaitsForNoBody: a POST whose body has not arrived is refused when the server stops.
func TestShutdownWaitsForNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		r := w.stallBody()
		begin := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- w.server.Shutdown(t.Context()) }()
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusServiceUnavailable ||
			!strings.Contains(string(body), `"unavailable"`) {
			t.Errorf("the reply is %d %s, %v", resp.StatusCode, body, err)
		}
		if err := <-ended; err != nil || time.Since(begin) != 0 { // a body that does not come is given up after 10 s anyway
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
	})
}

// TestBodyThatDoesNotCome: the wait for it ends after 10 s.
func TestBodyThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		r := w.stallBody()
		begin := time.Now()
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if took := time.Since(begin); resp.StatusCode != http.StatusRequestTimeout || took != 10*time.Second {
			t.Errorf("HTTP %d after %v", resp.StatusCode, took)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("the connection goes on: %v", err)
		}
	})
}

// stallReply makes a POST whose large reply is not read.
func (w *world) stallReply() {
	w.t.Helper()
	alice := w.as("alice")
	alice.create(twoAgents)
	alice.must(methods.SendMessage, fmt.Sprintf(`{"conversationId":"case","payload":{"text":%q},"finality":"none"}`,
		strings.Repeat("a", 500<<10)))
	alice.close()
	body := `{"jsonrpc":"2.0","id":1,"method":"tail","params":{"conversationId":"case","sinceSeq":0}}`
	fmt.Fprint(w.dialRaw(), postHead(len(body), "")+body)
	synctest.Wait()
}

// TestShutdownCutsStalledReply: a peer that reads no answer delays the end no longer than ctx
// allows.
func TestShutdownCutsStalledReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.stallReply()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		if err := w.server.Shutdown(ctx); err == nil || time.Since(begin) != 3*time.Second {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
	})
}

// TestReplyThatIsNotTaken: the answer is given up after 10 s, also after a long wait.
func TestReplyThatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.stallReply()
		begin := time.Now()
		if err := w.server.Shutdown(t.Context()); err != nil || time.Since(begin) != 10*time.Second {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
	})
}

// TestPostOutlivesItsBodysTime: a wait longer than BodyTimeout is answered.
func TestPostOutlivesItsBodysTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		begin := time.Now()
		body := `{"jsonrpc":"2.0","id":1,"method":"waitForChange","params":{"conversationId":"case","sinceSeq":1,` +
			`"timeoutMs":60000}}`
		status, _, reply := w.post(bearer(devToken), strings.NewReader(body))
		if status != http.StatusOK || !strings.Contains(reply, `"timedOut":true`) || time.Since(begin) != time.Minute {
			t.Errorf("%d %s after %v", status, reply, time.Since(begin))
		}
		if status, _, reply := w.post(bearer(devToken),
			strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)); status != http.StatusOK {
			t.Errorf("the next on the same connection: %d %s", status, reply)
		}
	})
}
