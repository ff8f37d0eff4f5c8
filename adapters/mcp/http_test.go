package mcp_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// site serves an adapter over HTTP. Each caller uses a client with its own token.
type site struct {
	t   *testing.T
	h   *sdktest.Hub
	url string

	mu      sync.Mutex // guards the fields below
	clients map[string]parley.Client
	lent    map[string]int
}

func newSite(t *testing.T, h *sdktest.Hub) *site {
	t.Helper()
	p := &site{t: t, h: h, clients: map[string]parley.Client{}, lent: map[string]int{}}
	s := mcp.NewServer(&mcp.Options{Connect: p.connect, Version: "test", MaxWait: longWait * time.Second})
	server := httptest.NewServer(mcp.NewHandler(s, func(r *http.Request) string { return r.Header.Get("Authorization") }))
	p.url = server.URL
	t.Cleanup(func() {
		s.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

func (p *site) connect(ctx context.Context, e *protocol.RequestExtra) (parley.Client, func(), error) {
	token := strings.TrimPrefix(e.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.clients[token]
	if c == nil {
		made, err := sdk.Dial(context.WithoutCancel(ctx), p.h.URL, &sdk.Options{Token: token})
		if err != nil {
			return nil, nil, err
		}
		p.t.Cleanup(func() { _ = made.Close() })
		c, p.clients[token] = made, made
	}
	p.lent[token]++
	return c, sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lent[token]--
	}), nil
}

// longWait is a wait, in seconds, that is longer than the tests last.
const longWait = 3600

// waitIdle waits until all clients of a token are released.
func (p *site) waitIdle(token string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		n := p.lent[token]
		p.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%d clients are still in use", n)
		}
	}
}

// bearerTransport adds a token to requests.
type bearerTransport struct{ token string }

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// A client of each era is notified over HTTP with its own token, and no longer after its token has
// ended or it has disconnected.
func TestSubscriptionsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := sdktest.NewHub(t)
			p := newSite(t, h)
			id := h.Create(t, "bob", "alice", "carol")
			bob := h.Client(t, "bob")
			told := map[string]chan string{}
			tokens, sessions := map[string]*parley.CreateTokenResult{}, map[string]*protocol.ClientSession{}
			for _, name := range []string{"alice", "carol"} {
				made, err := h.Admin(t).CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: name})
				if err != nil {
					t.Fatal(err)
				}
				tokens[name], told[name] = made, make(chan string, 100)
				c := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, &protocol.ClientOptions{
					ResourceUpdatedHandler: func(_ context.Context,
						r *protocol.ResourceUpdatedNotificationRequest) {
						told[name] <- r.Params.URI
					},
				})
				acked := make(chan struct{}, 1)
				c.AddReceivingMiddleware(func(next protocol.MethodHandler) protocol.MethodHandler {
					return func(ctx context.Context, method string, r protocol.Request) (protocol.Result, error) {
						if method == "notifications/subscriptions/acknowledged" {
							acked <- struct{}{}
						}
						return next(ctx, method, r)
					}
				})
				s, err := c.Connect(t.Context(), &protocol.StreamableClientTransport{Endpoint: p.url,
					HTTPClient: &http.Client{Transport: bearerTransport{made.Token}}, MaxRetries: -1},
					&protocol.ClientSessionOptions{ProtocolVersion: era})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if err := s.Subscribe(t.Context(), &protocol.SubscribeParams{URI: conversations + id}); err != nil {
					t.Fatal(err)
				}
				if era >= modern {
					<-acked
				}
				sessions[name] = s
			}
			hears := func(names ...string) {
				t.Helper()
				for _, name := range names {
					select {
					case uri := <-told[name]:
						if uri != conversations+id {
							t.Errorf("%s was notified of %s", name, uri)
						}
					case <-time.After(patience):
						t.Fatalf("%s was not notified", name)
					}
				}
			}
			postAs(t, bob, id, "hello", parley.FinalityNone)
			hears("alice", "carol")
			if _, err := h.Admin(t).RevokeToken(t.Context(),
				&parley.RevokeTokenParams{TokenID: tokens["alice"].TokenID}); err != nil {
				t.Fatal(err)
			}
			p.waitIdle(tokens["alice"].Token)
			postAs(t, bob, id, "hello carol", parley.FinalityNone)
			hears("carol")
			postAs(t, bob, id, "and again", parley.FinalityNone)
			hears("carol")
			if n := len(told["alice"]); n > 0 {
				t.Errorf("alice received %d notifications after her token ended", n)
			}
			_ = sessions["carol"].Close()
			p.waitIdle(tokens["carol"].Token)
		})
	}
}

// Changes while the stream of a session is away are sent when it is back.
func TestStreamReconnects(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	p := newSite(t, h)
	id := h.Create(t, "bob", "alice")
	token, session := h.NewToken(t, "alice"), ""
	do := func(method string, body any) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, p.url, strings.NewReader(string(raw(t, body))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, " +
				"text/event-stream"}, "Authorization": {"Bearer " + token}, "Mcp-Protocol-Version": {legacy},
		}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode >= 300 {
			t.Fatalf("%s %v: %s", method, body, resp.Status)
		}
		session = cmp.Or(resp.Header.Get("Mcp-Session-Id"), session)
		return resp
	}
	for n, m := range []map[string]any{
		{"method": "initialize", "params": map[string]any{"protocolVersion": legacy, "capabilities": map[string]any{},
			"clientInfo": map[string]any{"name": "x", "version": "1"}}},
		{"method": "resources/subscribe", "params": map[string]any{"uri": conversations + id}},
	} {
		m["jsonrpc"], m["id"] = "2.0", n+1
		got, err := io.ReadAll(do(http.MethodPost, m).Body)
		if err != nil || strings.Contains(string(got), `"error":`) {
			t.Fatalf("%s, %v", got, err)
		}
	}
	postAs(t, h.Client(t, "bob"), id, "hello", parley.FinalityNone)
	// time for two failures
	if _, err := h.Client(t, "alice").GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: id, TimeoutMs: 2500,
		Until: parley.UntilClosed}); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(do(http.MethodGet, nil).Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), conversations+id) {
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// A request for a task must name it in the header as in the body.
func TestTaskHeader(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	p := newSite(t, h)
	h.RegisterAgent(t, parley.AgentInfo{Name: "clerk", Type: parley.AgentTypeAgent})
	token := h.NewToken(t, "alice")
	post := func(method, name string, params map[string]any) (status int, answer struct {
		ID     any
		Result task
		Error  struct{ Code int }
	}) {
		t.Helper()
		params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": modern,
			"io.modelcontextprotocol/clientCapabilities": knowsTasks}
		body := raw(t, map[string]any{"jsonrpc": "2.0", "id": "r 1", "method": method, "params": params})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, " +
				"text/event-stream", "Mcp-Protocol-Version": modern, "Mcp-Method": method, "Mcp-Name": name,
			"Authorization": "Bearer " + token,
		} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if _, data, ok := strings.Cut(string(got), "data: "); ok {
			got = []byte(data)
		}
		if err := json.Unmarshal(got, &answer); err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		return resp.StatusCode, answer
	}
	_, started := post("tools/call", "start_agent_session", map[string]any{"name": "start_agent_session",
		"arguments": map[string]any{"agent_name": "clerk", "prompt": "x"}})
	id := started.Result.TaskID
	if started.Result.ResultType != "task" || id == "" {
		t.Fatalf("%+v", started)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, name := range []string{"", "another", id + "x"} {
			if status, got := post(method, name, map[string]any{"taskId": id}); status != http.StatusBadRequest ||
				got.Error.Code != -32020 || got.ID != "r 1" {
				t.Errorf("%s with Mcp-Name %q: %d %+v", method, name, status, got)
			}
		}
		if status, got := post(method, id, map[string]any{"taskId": id,
			"inputResponses": map[string]any{}}); status != http.StatusOK || got.Error.Code != 0 ||
			got.Result.ResultType != "complete" {
			t.Errorf("%s: %d %+v", method, status, got)
		}
	}
	if _, got := post("tasks/get", id, map[string]any{"taskId": id}); got.Result.Status != "cancelled" {
		t.Errorf("%s", fmt.Sprint(got))
	}
}
