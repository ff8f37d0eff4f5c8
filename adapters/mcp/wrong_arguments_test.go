package mcp_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parleyhub/parley/sdk/sdktest"
)

// Wrong arguments are refused with the reason, the argument, its value, the expected value and the
// next call. The text is short for values of any length.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	id := h.Create(t, "alice", "bob")
	for _, c := range []struct {
		tool  string
		args  map[string]any
		words []string
	}{
		{"wait_for_updates", map[string]any{"conversation_id": id, "until": "noon"}, []string{"until: ", "noon",
			"Expected: one of my_turn, message, any, closed."}},
		{"wait_for_updates", map[string]any{"conversation_id": id, "wait_seconds": -1}, []string{"wait_seconds: ", "-1",
			"Expected: a number from 0 to 3600."}},
		{"wait_for_updates", map[string]any{"conversation_id": id, "since_seq": "four"}, []string{"since_seq: ", "four",
			"Expected: a number of at least 0."}},
		{"wait_for_updates", map[string]any{"conversation_id": id, "since_seq": 1e30}, []string{"1e+30"}},
		{"wait_for_updates", map[string]any{"conversation_id": id, "since_seq": 1.5}, []string{"since_seq: ", "1.5"}},
		{"wait_for_updates", map[string]any{"conversation": id}, []string{"conversation",
			"Expected: the arguments conversation_id (required), since_seq, until, wait_seconds."}},
		{"wait_for_updates", nil, []string{"conversation_id", "missing",
			"Expected: the arguments conversation_id (required)"}},
		{"post_message", map[string]any{"conversation_id": id, "since_seq": 1, "text": ""},
			[]string{"text: ", "Expected: text of 1 to 500000 characters."}},
		{"post_message", map[string]any{"conversation_id": id, "since_seq": 1, "text": strings.Repeat("x", 1<<20)},
			[]string{"text: ", "xxx", "1048576", "Expected: text of 1 to 500000 characters."}},
		{"post_message", map[string]any{"conversation_id": id, "since_seq": 1, "text": "hi", "data": []any{1}},
			[]string{"data: ", "Expected: object."}},
		{"create_conversation", map[string]any{"participants": []any{}}, []string{"participants: ",
			"Expected: a list of 1 to "}},
		{"create_conversation", map[string]any{"participants": []any{map[string]any{"id": "alice", "kind": "robot"}}},
			[]string{"participants.kind: ", "robot", "Expected: one of human, agent, tool, peer."}},
		{"create_conversation", map[string]any{"participants": []any{map[string]any{"id": "alice", "sort": "human"}}},
			[]string{"participants: ", "sort", "Expected: the arguments id (required), kind (required), agent, role."}},
		{"start_agent_session", map[string]any{"agent_name": "clerk", "parameters": "book a table"}, []string{"parameters: ",
			"book a table", "Expected: object."}},
	} {
		words := append(c.words, "validation_failed: ", "The call had no effect. Next: call "+c.tool+" again")
		if text := alice.refused(c.tool, c.args, words...); utf8.RuneCountInString(text) > 600 || strings.Contains(text,
			"validating") {
			t.Errorf("%d characters: %.1000s", utf8.RuneCountInString(text), text)
		}
	}
}
