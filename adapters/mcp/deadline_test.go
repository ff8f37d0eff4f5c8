package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// shortTimeout limits calls to a short time.
func shortTimeout(o *mcp.Options) { o.CallTimeout = 200 * time.Millisecond }

// While the hub is down, each call ends in time. A wait times out, every other call fails, and both
// name the next call.
func TestHubAwayEndsCallsInTime(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", shortTimeout)
	id := h.Create(t, "bob", "alice")
	h.Drain(t)
	callUnreachable(t, alice, id)
	h.Restart(t)
	again := newIDE(t, h, "alice", nil)
	again.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": 1, "wait_seconds": 0}, nil)
}

// The same over HTTP, in both eras.
func TestHubAwayOverHTTP(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "alice")
	o := &mcp.Options{Connect: mcp.Client(h.Client(t, "alice"))}
	shortTimeout(o)
	s := mcp.NewServer(o)
	server := httptest.NewServer(mcp.NewHandler(s, func(*http.Request) string { return "alice" }))
	t.Cleanup(func() {
		s.Close()
		server.CloseClientConnections()
		server.Close()
	})
	h.Drain(t)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			session, err := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil).Connect(
				t.Context(), &protocol.StreamableClientTransport{Endpoint: server.URL,
					HTTPClient: &http.Client{Transport: bearerTransport{"some"}}, MaxRetries: -1},
				&protocol.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			callUnreachable(t, &ide{t, session}, id)
		})
	}
}

// The same if no connection is ever made.
func TestHubNeverReached(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", func(o *mcp.Options) {
		shortTimeout(o)
		o.Connect = func(ctx context.Context, _ *protocol.RequestExtra) (parley.Client, func(), error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
	})
	callUnreachable(t, alice, "con_1")
}

// callUnreachable makes all calls to a hub that cannot be reached.
func callUnreachable(t *testing.T, alice *ide, id string) {
	t.Helper()
	var u updates
	text := alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": 1, "wait_seconds": 0.1,
		"until": "message"}, &u)
	if !u.TimedOut || u.MaySpeak || u.SinceSeq != 1 || len(text) > 300 {
		t.Errorf("a wait: %+v, in %d characters", u, len(text))
	}
	for _, want := range []string{"The hub cannot be reached", "nothing is lost", `wait_for_updates {conversation_id: "` +
		id + `", since_seq: 1, until: "message", wait_seconds: 0.1}`} {
		if !strings.Contains(text, want) {
			t.Errorf("a wait does not have %q: %s", want, text)
		}
	}
	session := map[string]any{"session_id": "ses_1", "wait_seconds": 0}
	for _, c := range []struct {
		tool, reason string
		args         map[string]any
	}{
		{"list_conversations", "unavailable", nil},
		{"read_conversation", "unavailable", map[string]any{"conversation_id": id}},
		{"post_message", "unavailable", map[string]any{"conversation_id": id, "since_seq": 1, "text": "hello"}},
		{"create_conversation", "unavailable", map[string]any{"participants": []any{map[string]any{"id": "alice",
			"kind": "human"}}}},
		{"close_conversation", "outcome_unknown", map[string]any{"conversation_id": id}},
		{"list_agent_blueprints", "unavailable", nil},
		{"start_agent_session", "unavailable", map[string]any{"agent_name": "crawl", "wait_seconds": 0}},
		{"start_agent_session", "unavailable", map[string]any{"agent_name": "crawl", "mode": "async_poll"}},
		{"get_agent_session", "unavailable", session},
		{"stop_agent_session", "outcome_unknown", map[string]any{"session_id": "ses_1"}},
	} {
		alice.refused(c.tool, c.args, c.reason+": the hub cannot be reached", "the same call again")
	}
	uri := "parley://conversations/" + id
	for what, do := range map[string]func() error{
		"read": func() error {
			_, err := alice.session.ReadResource(t.Context(), &protocol.ReadResourceParams{URI: uri})
			return err
		},
		"list": func() error { _, err := alice.session.ListResources(t.Context(), nil); return err },
		"prompt": func() error {
			_, err := alice.session.GetPrompt(t.Context(), &protocol.GetPromptParams{Name: "join_conversation",
				Arguments: map[string]string{"conversation_id": id}})
			return err
		},
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "unavailable: the hub cannot be reached") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A call without an answer has an unknown outcome, and a repeated call finds its effect.
func TestHubWithoutAnswer(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", func(o *mcp.Options) { o.CallTimeout = 3 * time.Second })
	var made postResult
	id := h.Create(t, "alice", "bob")
	text := map[string]any{"conversation_id": id, "since_seq": 1, "text": "hello"}
	h.Journal().Hold()
	alice.refused("post_message", text, "outcome_unknown: the hub cannot be reached", "the same call again")
	h.Journal().Release()
	alice.must("post_message", text, &made)
	if !made.Duplicate {
		t.Errorf("the same call again: %+v, expected a duplicate", made)
	}
}

// A wait is limited by its arguments, not by the limit of other calls.
func TestWaitIsLongerThanCallTimeout(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", func(o *mcp.Options) { o.CallTimeout = 3 * time.Second })
	id := h.Create(t, "alice", "bob")
	var u updates
	alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": 1, "wait_seconds": 4,
		"until": "closed"}, &u)
	if !u.TimedOut || u.Status != "active" {
		t.Errorf("a wait of four seconds: %+v", u)
	}
}
