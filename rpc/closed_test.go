package rpc_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/rpc"
)

// ended sends a request on a connection, ends its side, and returns the whole answer.
func (w *world) ended(request string) string {
	w.t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(c, strings.ReplaceAll(request, "\n", "\r\n"))
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		w.t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(answer)
}

// TestClosedConnections: a connection that its peer has closed gets the answer or nothing, never an
// empty success. That is no internal error.
func TestClosedConnections(t *testing.T) {
	var logged strings.Builder
	w := newLoopbackWorld(t, &rpc.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	alice := w.as("alice")
	alice.create(twoAgents)
	alice.create(`{"conversationId":"quiet","participants":[{"id":"alice","kind":"peer"}]}`)
	resp, text := w.files("alice").put("conversationId=case", "", strings.Repeat("file", 100_000))
	if resp.StatusCode != 201 {
		t.Fatal(resp.StatusCode, text)
	}
	file := resp.Header.Get("Location")
	head := "HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + devToken +
		"\nParley-Agent: alice\nContent-Type: application/json\n"
	call := `{"jsonrpc":"2.0","id":1,"method":"waitForChange","params":{"conversationId":"quiet","sinceSeq":1,` +
		`"timeoutMs":60000}}`
	say := `{"payload":{"text":"hello"},"finality":"none"}`
	for name, request := range map[string]string{
		"read":     "GET /conversations/case " + head + "\n",
		"wait":     "GET /conversations/quiet/wait?sinceSeq=1&timeoutMs=60000 " + head + "\n",
		"call":     "POST /rpc " + head + fmt.Sprintf("Content-Length: %d\n\n%s", len(call), call),
		"message":  "POST /conversations/case/messages " + head + fmt.Sprintf("Content-Length: %d\n\n%s", len(say), say),
		"upload":   "POST /attachments?conversationId=case " + head + "Content-Length: 4\n\nfile",
		"download": "GET " + file + " " + head + "\n",
		"stream":   "GET /conversations/case/events " + head + "\n",
	} {
		for range 20 {
			_, body, whole := strings.Cut(w.ended(request), "\r\n\r\n")
			if whole && body == "" {
				t.Errorf("%s: an answer without a body", name)
				break
			}
		}
	}
	w.stop()
	if strings.Contains(logged.String(), "level=ERROR") {
		t.Errorf("logged: %s", logged.String())
	}
	w.start()
}

// TestShortAnswersThatAreNotTaken: an unread short answer keeps its connection no longer than other
// answers do, also if it needs no token.
func TestShortAnswersThatAreNotTaken(t *testing.T) {
	preflight := "\nOrigin: https://chat.example.com\nAccess-Control-Request-Method: GET"
	for name, request := range map[string]string{
		"probe": "GET /livez HTTP/1.1\nHost: localhost", "ready": "GET /readyz HTTP/1.1\nHost: localhost",
		"no path":    "GET /nothing HTTP/1.1\nHost: localhost",
		"wrong verb": "BREW /livez HTTP/1.1\nHost: localhost", "another host": "GET /livez HTTP/1.1\nHost: evil.com",
		"document": "GET /openrpc.json HTTP/1.1\nHost: localhost",
		"no token": "GET /conversations HTTP/1.1\nHost: localhost", "metrics": "GET /metrics HTTP/1.1\nHost: localhost",
		"preflight": "OPTIONS /livez HTTP/1.1\nHost: localhost" + preflight,
		"socket":    "GET /rpc HTTP/1.1\nHost: localhost",
		"stream":    "GET /conversations/case/events HTTP/1.1\nHost: localhost",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, &rpc.Options{AllowOrigins: []string{"https://chat.example.com"}})
			c := w.dialRaw()
			begin := time.Now()
			_ = c.SetWriteDeadline(begin.Add(time.Minute))
			many := []byte(strings.Repeat(strings.ReplaceAll(request+"\n\n", "\n", "\r\n"), 100))
			var err error
			for err == nil {
				_, err = c.Write(many)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("%s: the connection was held for %v", name, took)
			}
		})
	}
}
