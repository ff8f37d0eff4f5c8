package mcp_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// The prompt has the steps, the participant id and the state of the conversation.
func TestPrompt(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id, foreign := h.Create(t, "bob", "alice"), h.Create(t, "bob")
	s := serverOf(t, h, "alice")
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			w := newWire(t, s, era, map[string]any{})
			var got struct {
				Messages []struct {
					Role    string
					Content struct{ Type, Text string }
				}
			}
			w.must("prompts/get", map[string]any{"name": "join_conversation", "arguments": map[string]any{"conversation_id": id,
				"role": "the critic"}}, &got)
			if len(got.Messages) != 1 || got.Messages[0].Role != "user" || got.Messages[0].Content.Type != "text" {
				t.Fatalf("%+v", got)
			}
			for _, want := range []string{id, "as alice", "the critic", `wait_for_updates {conversation_id: "` + id +
				`", since_seq: 0}`, "may_speak", "bob has the floor", "active"} {
				if !strings.Contains(got.Messages[0].Content.Text, want) {
					t.Errorf("the prompt does not have %q: %s", want, got.Messages[0].Content.Text)
				}
			}
			var words [2]string
			for i, c := range []map[string]any{
				{"conversation_id": foreign}, {"conversation_id": "nowhere"}, {}, {"conversation_id": id,
					"role": strings.Repeat("x", 501)},
			} {
				_, e := w.call("prompts/get", map[string]any{"name": "join_conversation", "arguments": c})
				if e == nil || e.Code != -32602 {
					t.Fatalf("%v: %+v", c, e)
				}
				if i < 2 {
					words[i] = strings.ReplaceAll(strings.ReplaceAll(e.Message, foreign, "X"), "nowhere", "X")
				}
			}
			if words[0] != words[1] {
				t.Errorf("of another participant: %s\nmissing: %s", words[0], words[1])
			}
		})
	}
	var list struct{ Prompts []struct{ Name string } }
	readOnly := mcp.NewServer(&mcp.Options{Connect: mcp.Client(h.Client(t, "alice")), ReadOnly: true})
	join := map[string]any{"name": "join_conversation", "arguments": map[string]any{"conversation_id": id}}
	if _, e := newWire(t, readOnly, modern, map[string]any{}).call("prompts/get", join); e == nil {
		t.Error("a read-only server has the prompt")
	}
	newWire(t, s, modern, map[string]any{}).must("prompts/list", map[string]any{}, &list)
	if len(list.Prompts) != 1 {
		t.Errorf("%+v", list)
	}
}
