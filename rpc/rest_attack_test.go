package rpc_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/rpc"
)

// begin sends the beginning of a request, written by hand, and reads on from there.
func (w *world) begin(head string) *bufio.Reader {
	w.t.Helper()
	c := w.dialRaw()
	fmt.Fprint(c, strings.ReplaceAll(head, "\n", "\r\n"))
	return bufio.NewReader(c)
}

// answered reads an answer, and returns its status and the reason of its problem.
func answered(t *testing.T, r *bufio.Reader) (int, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, httpAnswer{resp.StatusCode, resp.Header, string(body)}.reason()
}

const postMessage = "POST /conversations/case/messages HTTP/1.1\nHost: localhost\n"

// TestBodiesThatDoNotCome: a body that does not arrive takes a place for the body timeout at most,
// for any sender and any refusal.
func TestBodiesThatDoNotCome(t *testing.T) {
	authorized := "Authorization: Bearer " + devToken + "\n"
	json := "Content-Type: application/json\n"
	for _, c := range []struct {
		name, head string
		status     int
		after      time.Duration // at most
	}{
		{"good", postMessage + authorized + json + "Content-Length: 1000\n\n{", 408, 10 * time.Second},
		{"good, in pieces", postMessage + authorized + json + "Transfer-Encoding: chunked\n\n1\n{\n", 408, 10 * time.Second},
		{"no token", postMessage + json + "Content-Length: 1000\n\n{", 401, 10 * time.Second},
		{"a form", postMessage + authorized + "Content-Length: 1000\n\n{", 415, 10 * time.Second},
		{"a form in pieces", postMessage + "Transfer-Encoding: chunked\n\n1\n{\n", 415, 10 * time.Second},
		{"with GET", "GET /conversations HTTP/1.1\nHost: localhost\n" + authorized + "Content-Length: 1000\n\n{", 400,
			10 * time.Second},
		{"to nowhere", "POST /nowhere HTTP/1.1\nHost: localhost\nContent-Length: 1000\n\n{", 404, 10 * time.Second},
		{"for another host", "POST /rpc HTTP/1.1\nHost: evil.com\nContent-Length: 1000\n\n{", 403, 10 * time.Second},
		{"1 GiB is claimed", postMessage + authorized + json + "Content-Length: 1073741824\n\n{", 413, 0},
		{"1 GiB is claimed at /rpc", "POST /rpc HTTP/1.1\nHost: localhost\n" + authorized + json +
			"Content-Length: 1073741824\n\n{", 413, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.as("alice").create(twoAgents)
				begin := time.Now()
				status, _ := answered(t, w.begin(c.head))
				if took := time.Since(begin); status != c.status || took > c.after {
					t.Errorf("HTTP %d after %v", status, took)
				}
				synctest.Wait()
				if n := rpc.CountRequests(w.server); n != 0 {
					t.Errorf("%d requests are under way", n)
				}
			})
		})
	}
}

// TestPlainReplyThatIsNotTaken: the answer is given up after 10 s.
func TestPlainReplyThatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		alice.say(strings.Repeat("a", 500<<10))
		w.begin("GET /conversations/case HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + devToken + "\n\n")
		synctest.Wait()
		if n := rpc.CountRequests(w.server); n != 1 {
			t.Errorf("%d requests are under way at first", n)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := rpc.CountRequests(w.server); n != 0 {
			t.Errorf("%d requests are under way after 10 s", n)
		}
	})
}

// TestManyOnOneConnection: the settings of a request end with it.
func TestManyOnOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		c := w.dialRaw()
		r := bufio.NewReader(c)
		ask := func(head, body string) {
			t.Helper()
			fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nParley-Agent: alice\r\n"+
				"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", head, devToken, len(body), body)
			if status, reason := answered(t, r); status >= 400 {
				t.Errorf("%s: HTTP %d %s", head, status, reason)
			}
			time.Sleep(time.Minute) // past every deadline that was set
		}
		for range 2 {
			ask("POST /conversations/case/messages", `{"payload":{"text":"a"},"finality":"none"}`)
			ask("GET /conversations/case", "")
			ask("POST /tickets", "")
			ask("GET /livez", "")
			ask("POST /rpc", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
	})
}
