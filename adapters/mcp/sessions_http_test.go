package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// sessions makes requests of the earlier era by hand.
type sessions struct {
	t   *testing.T
	url string
}

// do makes a request of a session. An empty session is left out.
func (c *sessions) do(ctx context.Context, verb, token, session, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, verb, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " +
			token}, "Mcp-Protocol-Version": {legacy},
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return http.DefaultClient.Do(r)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy +
	`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// send starts a session. id is empty if the server refuses it.
func (c *sessions) start(token string) (id string, status int) {
	resp, err := c.do(c.t.Context(), http.MethodPost, token, "", initialize)
	if err != nil {
		c.t.Error(err)
		return "", 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("Mcp-Session-Id"), resp.StatusCode
}

// A caller has at most 64 sessions, even if it starts many at once. Other callers have their own
// limit, and an ended session makes room.
func TestSessionsPerCallerAreBounded(t *testing.T) {
	t.Parallel()
	p := newSite(t, sdktest.NewHub(t))
	c := &sessions{t, p.url}
	const ofOne, tries = 64, 100
	var begun, refused atomic.Int64
	var last atomic.Value
	var all sync.WaitGroup
	for range tries {
		all.Go(func() {
			switch id, status := c.start("alice"); {
			case status == http.StatusOK && id != "":
				begun.Add(1)
				last.Store(id)
			case status == http.StatusServiceUnavailable:
				refused.Add(1)
			default:
				t.Errorf("HTTP %d", status)
			}
		})
	}
	all.Wait()
	if begun.Load() != ofOne || refused.Load() != tries-ofOne {
		t.Errorf("%d sessions started and %d were refused, expected %d and %d", begun.Load(), refused.Load(), ofOne,
			tries-ofOne)
	}
	if _, status := c.start("bob"); status != http.StatusOK {
		t.Errorf("another: HTTP %d", status)
	}
	resp, err := c.do(t.Context(), http.MethodDelete, "alice", last.Load().(string), "")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, status := c.start("alice"); status != http.StatusOK {
		t.Errorf("in place of an ended session: HTTP %d", status)
	}
	if _, status := c.start("alice"); status != http.StatusServiceUnavailable {
		t.Errorf("one more: HTTP %d", status)
	}
}

// A call of a session ends with its HTTP request, and a notification does not.
func TestCallEndsWithRequest(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	p := newSite(t, h)
	c := &sessions{t, p.url}
	token := h.NewToken(t, "alice")
	id := h.Create(t, "bob", "alice")
	session, _ := c.start(token)
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		args := fmt.Sprintf(`{"conversation_id":%q,"until":"closed","wait_seconds":%d}`, id, longWait)
		resp, err := c.do(ctx, http.MethodPost, token, session,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait_for_updates","arguments":`+args+`}}`)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	p.waitBusy(token)
	hangUp()
	<-ended
	p.waitIdle(token)
}

// waitBusy waits until a client of a token is in use.
func (p *site) waitBusy(token string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		n := p.lent[token]
		p.mu.Unlock()
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatal("no client is in use")
		}
	}
}

// If the token with which a session subscribed ends, the stream of the session and the session end,
// even if the stream was opened with another token of the caller.
func TestStreamEndsWithToken(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "alice")
	p := newSite(t, h)
	s := mcp.NewServer(&mcp.Options{Connect: p.connect})
	server := httptest.NewServer(mcp.NewHandler(s, func(*http.Request) string { return "alice" }))
	t.Cleanup(func() {
		s.Close()
		server.CloseClientConnections()
		server.Close()
	})
	c := &sessions{t, server.URL}
	first, err := h.Admin(t).CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	second := h.NewToken(t, "alice")
	session, _ := c.start(first.Token)
	other, _ := c.start(second)
	for session, token := range map[string]string{session: first.Token, other: second} {
		resp, err := c.do(t.Context(), http.MethodPost, token, session,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":%q}}`, conversations+id))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || strings.Contains(string(got), `"error":`) {
			t.Fatalf("%s, %v", got, err)
		}
		resp.Body.Close()
	}
	stream := func(session string) *http.Response {
		t.Helper()
		resp, err := c.do(t.Context(), http.MethodGet, second, session, "")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	mine, others := stream(session), stream(other)
	if _, err := h.Admin(t).RevokeToken(t.Context(), &parley.RevokeTokenParams{TokenID: first.TokenID}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, mine.Body)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the stream continues without notifications")
	}
	p.waitIdle(first.Token)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // the session ends right after its stream
		resp, err := c.do(t.Context(), http.MethodPost, second, session, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusNotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the session continues: HTTP %d", resp.StatusCode)
		}
	}
	postAs(t, h.Client(t, "bob"), id, "hello", parley.FinalityNone)
	told := make([]byte, 1<<10)
	for n, said := 0, ""; !strings.Contains(said, conversations+id); said += string(told[:n]) {
		if n, err = others.Body.Read(told); err != nil {
			t.Fatalf("the other session: %q, %v", said, err)
		}
	}
}
