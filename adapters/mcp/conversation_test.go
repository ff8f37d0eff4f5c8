package mcp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// An IDE and another participant take turns until the end, across restarts of the hub.
func TestConversation(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	bob := h.Client(t, "bob")
	var made struct {
		ConversationID string `json:"conversation_id"`
		SinceSeq       int64  `json:"since_seq"`
		Guidance       struct{ Kind string }
	}
	alice.must("create_conversation", map[string]any{"title": "lunch", "participants": []any{
		map[string]any{"id": "alice", "kind": "human"}, map[string]any{"id": "bob", "kind": "peer", "role": "the cook"},
	}}, &made)
	id := made.ConversationID
	if made.Guidance.Kind != "may_speak" {
		t.Fatalf("guidance %q", made.Guidance.Kind)
	}
	var p postResult
	alice.must("post_message", map[string]any{"conversation_id": id, "since_seq": made.SinceSeq, "text": "noodles?"}, &p)
	first := p
	alice.must("post_message", map[string]any{"conversation_id": id, "since_seq": made.SinceSeq, "text": "noodles?"}, &p)
	if !p.Duplicate || p.Seq != first.Seq {
		t.Errorf("the same call again: %+v, expected a duplicate of %+v", p, first)
	}
	var u updates
	text := alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": p.SinceSeq,
		"wait_seconds": 0}, &u)
	if u.MaySpeak || len(u.Messages) > 0 || len(text) > 400 {
		t.Errorf("nothing new: %+v, in %d characters: %s", u, len(text), text)
	}
	h.Restart(t)
	postAs(t, bob, id, "rice", parley.FinalityTurn)
	alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": p.SinceSeq}, &u)
	if !u.MaySpeak || len(u.Messages) != 1 || u.Messages[0].Text != "rice" {
		t.Fatalf("after the message of bob: %+v", u)
	}
	alice.refused("post_message", map[string]any{"conversation_id": id, "since_seq": p.SinceSeq, "text": "late"},
		"turn_conflict", "Next: wait_for_updates")
	alice.must("close_conversation", map[string]any{"conversation_id": id, "since_seq": u.SinceSeq, "text": "rice it is",
		"reason": "agreed"}, nil)
	text = alice.must("read_conversation", map[string]any{"conversation_id": id}, nil)
	for _, want := range []string{"noodles?", "rice it is", "closed", "agreed", "alice (human), bob (peer: the cook)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in the conversation: %s", want, text)
		}
	}
	alice.refused("post_message", map[string]any{"conversation_id": id, "since_seq": 0, "text": "more"},
		"conversation_closed", "read_conversation")
}

// hubName matches names of hub parameters and methods, which callers of tools do not know.
var hubName = regexp.MustCompile(`\b(since|after)Seq\b|\b(conversation|session|request)Id\b|\b(get|list|start|stop|` +
	`send|create|close)[A-Z][a-z]+`)

// Each refusal names the reason, the fault and the next call.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	id := h.Create(t, "bob", "alice")
	foreign, mine := h.Create(t, "bob", "carol"), h.Create(t, "alice", "bob")
	for _, c := range []struct {
		tool  string
		args  map[string]any
		words []string
	}{
		{"post_message", map[string]any{"conversation_id": id, "since_seq": 0, "text": "hello"}, []string{"not_your_turn",
			"bob has the floor", "Next: wait_for_updates"}},
		{"post_message", map[string]any{"conversation_id": id, "since_seq": 99, "text": "hello"}, []string{"not_your_turn"}},
		{"wait_for_updates", map[string]any{"conversation_id": id, "since_seq": 99},
			[]string{"cursor_ahead: since_seq 99 is beyond the log. Expected: at most 1.",
				"Next: the same call with a since_seq from an earlier result"}},
		{"post_message", map[string]any{"conversation_id": mine, "since_seq": 99, "text": "hello"},
			[]string{"cursor_ahead: since_seq 99 is beyond the log. Expected: at most 1."}},
		{"create_conversation", map[string]any{"participants": []any{map[string]any{"id": "bob", "kind": "human"}},
			"starts_with": "carol"}, []string{"starts_with", "carol"}},
		{"list_conversations", map[string]any{"cursor": "nothing"}, []string{"cursor"}},
		{"wait_for_updates", map[string]any{"conversation_id": foreign}, []string{"not_found", "list_conversations"}},
		{"wait_for_updates", map[string]any{"conversation_id": "nowhere"}, []string{"not_found"}},
		{"wait_for_updates", map[string]any{"conversation_id": id, "until": "noon"}, []string{"until", "noon"}},
		{"wait_for_updates", map[string]any{"conversation_id": id, "wait_seconds": -1}, []string{"wait_seconds"}},
		{"wait_for_updates", map[string]any{"conversation": id}, []string{"conversation"}},
		{"read_conversation", map[string]any{"conversation_id": foreign}, []string{"not_found"}},
		{"post_message", map[string]any{"conversation_id": id, "since_seq": 0, "text": strings.Repeat("x", 1<<20)},
			[]string{"text"}},
		{"start_agent_session", map[string]any{"agent_name": "nobody"}, []string{"not_found", "nobody",
			"Expected: a name from list_agent_blueprints"}},
		{"get_agent_session", map[string]any{"session_id": "ses_none"}, []string{"not_found"}},
		{"list_agent_blueprints", map[string]any{"agent_name": "nobody"}, []string{"not_found"}},
		{"close_conversation", map[string]any{"conversation_id": id, "outcome": "won"}, []string{"outcome"}},
	} {
		text := alice.refused(c.tool, c.args, c.words...)
		if len(text) > 2000 {
			t.Errorf("%s: a refusal of %d characters", c.tool, len(text))
		}
		if name := hubName.FindString(text); name != "" {
			t.Errorf("%s: the refusal has the hub name %s: %s", c.tool, name, text)
		}
	}
}

// A page is short enough for a model, and names the call that reads the rest.
func TestBounds(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	id := h.Create(t, "bob", "alice")
	bob := h.Client(t, "bob")
	long := strings.Repeat("word ", 10_000)
	postAs(t, bob, id, long, parley.FinalityNone)
	for range 60 {
		postAs(t, bob, id, "short", parley.FinalityNone)
	}
	seen, chars, since := 0, "", int64(0)
	for page := 0; ; page++ {
		var u updates
		text := alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": since, "wait_seconds": 0,
			"until": "any"}, &u)
		if len(text) > mcp.MaxChars+4000 || len(u.Messages) > mcp.MaxEvents {
			t.Errorf("page %d: %d characters, %d messages", page, len(text), len(u.Messages))
		}
		for _, m := range u.Messages {
			if seen++; m.Seq == u.Messages[0].Seq && page == 0 {
				chars = m.Text
			}
		}
		if since = u.SinceSeq; !u.More {
			break
		}
		if page > 5 {
			t.Fatal("the pages do not end")
		}
	}
	if seen != 61 {
		t.Errorf("%d messages, expected 61", seen)
	}
	for next := len(chars); next > 0; {
		var v struct {
			Events []struct {
				Text string
				Next int `json:"next_text_offset"`
			}
		}
		text := alice.must("read_conversation", map[string]any{"conversation_id": id, "limit": 1, "text_offset": next}, &v)
		if len(v.Events) != 1 || v.Events[0].Text == "" || len(chars) > len(long) {
			t.Fatalf("no rest after %d characters", len(chars))
		}
		chars, next = chars+v.Events[0].Text, v.Events[0].Next
		if next > 0 && !strings.Contains(text, fmt.Sprintf("text_offset: %d}", next)) {
			t.Errorf("the text does not name offset %d", next)
		}
	}
	if chars != long {
		t.Error("the pieces differ from the message")
	}
}

// Tools that write, and tools of toolsets that are not served, do not exist.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	for _, c := range []struct {
		change func(*mcp.Options)
		want   string
	}{
		{nil, "answer_approval close_conversation create_conversation get_agent_session list_agent_blueprints " +
			"list_approvals list_conversations post_message read_attachment read_conversation start_agent_session " +
			"stop_agent_session wait_for_updates"},
		{func(o *mcp.Options) { o.ReadOnly = true },
			"get_agent_session list_agent_blueprints list_approvals list_conversations read_attachment read_conversation " +
				"wait_for_updates"},
		{func(o *mcp.Options) { o.Toolsets = []mcp.Toolset{mcp.Agents} },
			"get_agent_session list_agent_blueprints start_agent_session stop_agent_session"},
		{func(o *mcp.Options) { o.Toolsets = []mcp.Toolset{mcp.Approvals} }, "answer_approval list_approvals"},
		{func(o *mcp.Options) { o.Toolsets, o.ReadOnly = []mcp.Toolset{mcp.Approvals}, true }, "list_approvals"},
	} {
		alice := newIDE(t, h, "alice", c.change)
		r, err := alice.session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("tools %s, expected %s", got, c.want)
		}
	}
}

// Clients learn all policies, the default first.
func TestPolicies(t *testing.T) {
	t.Parallel()
	alice := newIDE(t, sdktest.NewHub(t), "alice", nil)
	r, err := alice.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(r.Tools, func(tool *protocol.Tool) bool { return tool.Name == "create_conversation" })
	var schema struct {
		Properties map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal(raw(t, r.Tools[at].InputSchema), &schema); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(schema.Properties["policy"].Enum, " "); got != "round_robin open addressed moderator triggers" {
		t.Errorf("policies %s", got)
	}
}

// A participant that works under claims posts its turn in one message, and reads a recreated
// conversation from its beginning.
func TestAgentSeat(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	bob := h.Client(t, "bob")
	args := map[string]any{"client_request_id": "once", "participants": []any{
		map[string]any{"id": "alice", "kind": "agent"}, map[string]any{"id": "bob", "kind": "peer"},
	}}
	var made struct {
		ConversationID string `json:"conversation_id"`
		SinceSeq       int64  `json:"since_seq"`
	}
	alice.must("create_conversation", args, &made)
	alice.refused("post_message", map[string]any{"conversation_id": made.ConversationID, "since_seq": made.SinceSeq,
		"text": "one", "finality": "none"}, "validation_failed", "finality turn")
	alice.must("post_message", map[string]any{"conversation_id": made.ConversationID, "since_seq": made.SinceSeq,
		"text": "one"}, nil)
	postAs(t, bob, made.ConversationID, "two", parley.FinalityTurn)
	alice.must("create_conversation", args, &made)
	var u updates
	alice.must("wait_for_updates", map[string]any{"conversation_id": made.ConversationID, "since_seq": made.SinceSeq,
		"wait_seconds": 0}, &u)
	if len(u.Messages) == 0 || u.Messages[len(u.Messages)-1].Text != "two" {
		t.Errorf("after the repeated creation: %+v", u)
	}
}
