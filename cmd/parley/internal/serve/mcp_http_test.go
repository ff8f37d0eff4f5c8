package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/cmd/parley/internal/listen"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/memnet"
	"github.com/parleyhub/parley/sdk"
)

// mcpTestHub is a hub with its door for the Model Context Protocol.
type mcpTestHub struct {
	t     *testing.T
	s     *Server
	door  *mcpAdapter
	http  string
	close func() error
}

func newMCPTestHub(t *testing.T) *mcpTestHub { return newMCPTestHubWith(t, func(*Options) {}) }

// newMCPTestHubWith starts a hub with other options.
func newMCPTestHubWith(t *testing.T, change func(*Options)) *mcpTestHub {
	t.Helper()
	var door *mcpAdapter
	o := Options{Address: "127.0.0.1:0", Log: zerolog.Nop(), rootToken: "plt_root_of_this_test"}
	o.adapters = []newAdapter{func(_ *hub.Hub, log *slog.Logger) (adapter, error) {
		door = newMCPAdapter(log, &mcpOptions{MaxWait: longWait * time.Second})
		return door, nil
	}}
	if change(&o); o.Journal == nil {
		o.Journal = memory.New()
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	h := &mcpTestHub{t: t, s: s, door: door, http: "http://" + s.Addr, close: sync.OnceValue(s.Close)}
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// longWait is a wait, in seconds, that lasts longer than the tests are patient.
const longWait = 3600

// awaitCalls waits until so many calls are under way.
func (h *mcpTestHub) awaitCalls(n int) {
	h.t.Helper()
	for end := time.Now().Add(clitest.Patience); h.door.inUse() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("%d calls are under way, expected %d", h.door.inUse(), n)
		}
	}
}

// awaitNoCalls waits until no call is under way.
func (h *mcpTestHub) awaitNoCalls() {
	h.t.Helper()
	for end := time.Now().Add(clitest.Patience); h.door.inUse() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("%d calls are under way, and their clients have left", h.door.inUse())
		}
	}
}

// token makes a token.
func (h *mcpTestHub) token(agent string, more func(*parley.CreateTokenParams)) (secret, id string) {
	h.t.Helper()
	admin := h.client("plt_root_of_this_test", "")
	p := &parley.CreateTokenParams{AgentID: agent}
	if more != nil {
		more(p)
	}
	r, err := admin.CreateToken(h.t.Context(), p)
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Token, r.TokenID
}

func (h *mcpTestHub) client(token, agent string) parley.Client {
	h.t.Helper()
	c, err := sdk.Dial(h.t.Context(), h.s.URL, &sdk.Options{Token: token, AgentID: agent})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return c
}

func (h *mcpTestHub) session(token, version string) *protocol.ClientSession {
	h.t.Helper()
	return clitest.OpenMCPSession(h.t, h.http, token, version)
}

// TestMCPOverHTTP: clients of both eras take part at one URL, each with what its token allows.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			h := newMCPTestHub(t)
			secret, _ := h.token("alice", nil)
			alice := h.session(secret, version)
			bobs, _ := h.token("bob", nil)
			bob := h.client(bobs, "")
			made, err := bob.CreateConversation(t.Context(), &parley.CreateConversationParams{Participants: []parley.Participant{
				{ID: "bob", Kind: parley.KindPeer}, {ID: "alice", Kind: parley.KindHuman},
			}})
			if err != nil {
				t.Fatal(err)
			}
			id := made.ConversationID
			waited := make(chan string, 1)
			go func() {
				text, _, err := clitest.CallTool(t.Context(), alice, "wait_for_updates", map[string]any{"conversation_id": id})
				waited <- fmt.Sprint(text, err)
			}()
			if _, err = bob.SendMessage(t.Context(),
				&parley.SendMessageParams{ConversationID: id, Payload: json.RawMessage(`{"text":"hello alice"}`),
					Finality: parley.FinalityTurn}); err != nil {
				t.Fatal(err)
			}
			if text := <-waited; !strings.Contains(text, "hello alice") || !strings.Contains(text, "You may speak") {
				t.Errorf("wait_for_updates: %s", text)
			}
			text, refused,
				err := clitest.CallTool(t.Context(), alice, "post_message",
				map[string]any{"conversation_id": id, "since_seq": 2, "text": "hello bob"})
			if err != nil || refused {
				t.Fatalf("post_message: %s, %v", text, err)
			}
			others, err := bob.CreateConversation(t.Context(),
				&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "bob", Kind: parley.KindPeer}}})
			if err != nil {
				t.Fatal(err)
			}
			if text, refused,
				err := clitest.CallTool(t.Context(), alice, "read_conversation",
				map[string]any{"conversation_id": others.ConversationID}); err != nil || !refused ||
				!strings.Contains(text, "not_found") {
				t.Errorf("a foreign conversation: %q, %v", text, err)
			}
		})
	}
}

// TestMCPTokens: without a valid token there is no access, and everything that a token started ends
// with it.
func TestMCPTokens(t *testing.T) {
	t.Parallel() // it waits until a token has expired
	h := newMCPTestHub(t)
	post := func(token, host string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.http+mcpPath,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if host != "" {
			r.Host = host
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp
	}
	secret, tokenID := h.token("alice", nil)
	for _, token := range []string{"", "plt_wrong"} {
		resp := post(token, "")
		if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != http.StatusUnauthorized ||
			!strings.Contains(got, `resource_metadata="`+h.http+mcpMetadata+`"`) {
			t.Errorf("token %q: %s, WWW-Authenticate %q", token, resp.Status, got)
		}
	}
	if resp := post(secret, "evil.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign host: %s", resp.Status)
	}
	resp, err := http.Get(h.http + mcpMetadata)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc struct{ Resource string }
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || doc.Resource != h.http+mcpPath {
		t.Errorf("metadata: %+v, %v", doc, err)
	}
	bob := h.client("plt_root_of_this_test", "bob")
	made, err := bob.CreateConversation(t.Context(),
		&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "bob", Kind: parley.KindPeer},
			{ID: "alice", Kind: parley.KindHuman}}})
	if err != nil {
		t.Fatal(err)
	}
	waits := func(token string) chan error {
		s := h.session(token, "2026-07-28")
		ended := make(chan error, 1)
		go func() {
			_, refused, err := clitest.CallTool(t.Context(), s, "wait_for_updates",
				map[string]any{"conversation_id": made.ConversationID, "wait_seconds": longWait})
			if err == nil && !refused {
				err = fmt.Errorf("answered")
			}
			ended <- err
		}()
		return ended
	}
	short, _ := h.token("alice", func(p *parley.CreateTokenParams) { p.ExpiresInMs = 10_000 })
	expiring, revoked := waits(short), waits(secret)
	h.awaitCalls(2)
	admin := h.client("plt_root_of_this_test", "")
	if _, err := admin.RevokeToken(t.Context(), &parley.RevokeTokenParams{TokenID: tokenID}); err != nil {
		t.Fatal(err)
	}
	for name, ended := range map[string]chan error{"expired": expiring, "revoked": revoked} {
		select {
		case err := <-ended:
			if err != nil && err.Error() == "answered" {
				t.Errorf("a wait with a token that has %s was answered", name)
			}
		case <-time.After(clitest.Patience):
			t.Errorf("a wait goes on with a token that has %s", name)
		}
	}
	if resp := post(secret, ""); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a revoked token: %s", resp.Status)
	}
}

// TestMCPSessionsAreOwned: a session of the earlier version belongs to the caller that began it.
func TestMCPSessionsAreOwned(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	alices, _ := h.token("alice", nil)
	bobs, _ := h.token("bob", nil)
	alice := h.session(alices, "2025-11-25")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.http+mcpPath,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Session-Id", alice.ID())
	r.Header.Set("Authorization", "Bearer "+bobs)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("bob in alice's session: %s", resp.Status)
	}
}

// TestMCPBodies: of the earlier era a body is one request, and a small one where it begins a
// session.
func TestMCPBodies(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	secret, _ := h.token("alice", nil)
	for body, want := range map[string]int{
		` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`: http.StatusBadRequest,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"` + strings.Repeat("x", 70_000) +
			`"}}`: http.StatusRequestEntityTooLarge,
	} {
		if got := h.send(http.MethodPost, secret, "", body); got != want {
			t.Errorf("%.40s...: HTTP %d, expected %d", body, got, want)
		}
	}
}

// send makes a request and returns the status of its answer, or 0 without an answer.
func (h *mcpTestHub) send(verb, token, session, body string) int {
	r, err := http.NewRequestWithContext(h.t.Context(), verb, h.http+mcpPath, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestMCPStopsBesideADelete: a session that is being ended waits for its calls, and the hub does
// not wait for that.
func TestMCPStopsBesideADelete(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	h.s.drain = clitest.Patience
	secret, _ := h.token("alice", nil)
	alice := h.session(secret, "2025-11-25")
	bob := h.client("plt_root_of_this_test", "bob")
	made, err := bob.CreateConversation(t.Context(),
		&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "bob", Kind: parley.KindPeer},
			{ID: "alice", Kind: parley.KindHuman}}})
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	calls.Go(func() {
		_, _, _ = clitest.CallTool(t.Context(), alice, "wait_for_updates",
			map[string]any{"conversation_id": made.ConversationID, "wait_seconds": longWait})
	})
	h.awaitCalls(1)
	calls.Go(func() { h.send(http.MethodDelete, secret, alice.ID(), "") })
	// it takes no more calls once it is being ended
	for end := time.Now().Add(clitest.Patience); alice.Ping(t.Context(), nil) == nil; {
		if time.Now().After(end) {
			t.Fatal("the session is not being ended")
		}
	}
	if err := h.close(); err != nil { // a drain that waits for the call takes all the time there is
		t.Error(err)
	}
}

// TestUnusedConnectionsDoNotDelay: a server that shuts down does not wait for connections without a
// request. Without closeUnused, http.Server waits five seconds for them.
func TestUnusedConnectionsDoNotDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ended := memnet.Listen(), make(chan error, 1)
		h := listen.NewHTTPServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
		go func() { ended <- h.Serve(l) }()
		for range 3 {
			c, err := l.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		synctest.Wait() // the server has accepted them
		begin := time.Now()
		if err := h.Shutdown(t.Context()); err != nil || time.Since(begin) > time.Second {
			t.Errorf("shut down after %s: %v", time.Since(begin), err)
		}
		<-ended
	})
}
