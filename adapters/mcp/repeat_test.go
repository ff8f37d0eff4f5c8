package mcp_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// newTalk creates a conversation in which the person alice has the floor.
func newTalk(t *testing.T, alice *ide) (id string, since int64) {
	t.Helper()
	var made struct {
		ConversationID string `json:"conversation_id"`
		SinceSeq       int64  `json:"since_seq"`
	}
	alice.must("create_conversation", map[string]any{"participants": []any{map[string]any{"id": "alice", "kind": "human"},
		map[string]any{"id": "bob", "kind": "peer"}}}, &made)
	return made.ConversationID, made.SinceSeq
}

// The same text at the same since_seq is posted once. The result says so, and names the way to post
// it twice.
func TestRepeatedMessageIsPostedOnce(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	id, since := newTalk(t, alice)
	args := map[string]any{"conversation_id": id, "since_seq": since, "text": "knock", "finality": "none"}
	var first, again, other struct {
		postResult
		Next string
	}
	alice.must("post_message", args, &first)
	text := alice.must("post_message", args, &again)
	if !again.Duplicate || again.Seq != first.Seq {
		t.Errorf("%+v, expected a duplicate of %+v", again, first)
	}
	for _, told := range []string{text, again.Next} {
		if !strings.Contains(told, "another client_request_id") || !strings.Contains(told, "wait_for_updates") {
			t.Errorf("the result does not name the way to post it twice: %s", told)
		}
	}
	twice := maps.Clone(args)
	twice["client_request_id"] = "second"
	if alice.must("post_message", twice, &other); other.Duplicate || other.Seq <= first.Seq {
		t.Errorf("with another key: %+v", other)
	}
	r, err := alice.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range r.Tools {
		switch tool.Name {
		case "post_message", "create_conversation", "start_agent_session":
			if !strings.Contains(tool.Description, "client_request_id") {
				t.Errorf("%s: the description does not explain repeated calls: %s", tool.Name, tool.Description)
			}
		}
	}
}

// An error with an unknown outcome explains for each tool how to find out without a second effect.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	seats := []any{map[string]any{"id": "alice", "kind": "human"}}
	for _, c := range []struct {
		tool        string
		args        map[string]any
		words, none []string
	}{
		{"create_conversation", map[string]any{"participants": seats}, []string{"may have a second effect",
			"list_conversations",
			"with a client_request_id"}, []string{"no second effect"}},
		{"create_conversation", map[string]any{"participants": seats, "client_request_id": "k1"},
			[]string{`the same call again with client_request_id "k1". It has no second effect`},
			[]string{"may have a second effect"}},
		{"start_agent_session", map[string]any{"agent_name": "clerk", "prompt": "x"}, []string{"may have a second effect",
			"list_conversations", "with a client_request_id"}, []string{"no second effect"}},
		{"start_agent_session", map[string]any{"agent_name": "clerk", "prompt": "x", "client_request_id": "k1"},
			[]string{`client_request_id "k1"`}, []string{"may have a second effect"}},
		{"post_message", map[string]any{"text": "hello"}, []string{"the same call again", "no second effect"},
			[]string{"with client_request_id"}},
		{"close_conversation", map[string]any{}, []string{"the same call again", "no second effect"}, nil},
	} {
		t.Run(c.tool, func(t *testing.T) {
			h := sdktest.NewHub(t)
			h.RegisterAgent(t, parley.AgentInfo{Name: "clerk", Type: parley.AgentTypeAgent})
			alice := newIDE(t, h, "alice", func(o *mcp.Options) { o.Connect = mcp.Client(h.InProcess(t, "alice")) })
			id, since := newTalk(t, alice)
			args := maps.Clone(c.args)
			switch c.tool {
			case "post_message":
				args["conversation_id"], args["since_seq"] = id, since
			case "close_conversation":
				args["conversation_id"] = id
			}
			h.Journal().FailNext(journal.ErrOutcomeUnknown)
			text := alice.refused(c.tool, args, append(c.words, "outcome_unknown")...)
			for _, none := range c.none {
				if strings.Contains(text, none) {
					t.Errorf("the error has %q: %s", none, text)
				}
			}
		})
	}
}

// A conversation or session without a key is the last of list_conversations, and a repeated call
// with a key says that it is a repetition.
func TestRepeatedCallIsFound(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	alice := newIDE(t, o.h, "alice", nil)
	newTalk(t, alice)
	for what, make := range map[string]func() string{
		"conversation": func() string { id, _ := newTalk(t, alice); return id },
		"session":      func() string { return o.startFor(alice, map[string]any{}) },
	} {
		id := make()
		var list struct {
			Conversations []struct {
				ConversationID string `json:"conversation_id"`
				Participants   []string
			}
		}
		alice.must("list_conversations", nil, &list)
		if last := list.Conversations[len(list.Conversations)-1]; last.ConversationID != id {
			t.Errorf("%s: the last is %+v, expected %s", what, last, id)
		}
	}
	create := map[string]any{"client_request_id": "k1", "participants": []any{map[string]any{"id": "alice",
		"kind": "human"}}}
	start := map[string]any{"client_request_id": "k1", "agent_name": "clerk", "prompt": "x", "mode": "async_poll"}
	for tool, args := range map[string]map[string]any{"create_conversation": create, "start_agent_session": start} {
		var first, again struct{ Duplicate bool }
		alice.must(tool, args, &first)
		text := alice.must(tool, args, &again)
		if first.Duplicate || !again.Duplicate || !strings.Contains(text, "An earlier call with the same") {
			t.Errorf("%s: %+v, then %+v: %s", tool, first, again, text)
		}
	}
}
