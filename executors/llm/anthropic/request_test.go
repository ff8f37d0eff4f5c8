package anthropic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

func TestRequest(t *testing.T) {
	temperature, seed := 0.5, int64(7)
	header, body, _ := vendor.Sent(t, "", &llm.Request{
		Model: "claude-x", Instructions: "Be brief.", Temperature: &temperature, Seed: &seed,
		Messages: []llm.Message{
			{Role: llm.RoleUser, Text: "Look."},
			{Role: llm.RoleAssistant, Text: "Looking.",
				ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look", Arguments: `{"a":1}`}, {ID: "c2", Name: "look"},
					{ID: "c3", Name: "look", Arguments: `{"a":`}}},
			{Role: llm.RoleTool,
				Results: []llm.ToolResult{{CallID: "c1", Name: "look", Text: "a door"},
					{CallID: "c2", Name: "look", Text: "it is dark", IsError: true}, {CallID: "c3", Name: "look"}}},
			{Role: llm.RoleAssistant},
			{Role: llm.RoleAssistant, Opaque: &llm.Opaque{Provider: "openai", Data: json.RawMessage(`{"api":"responses"}`)},
				Text: "A door."},
			{Role: llm.RoleUser, Text: "And?"},
		},
		Tools: []llm.ToolSpec{
			{Name: "look", Description: "Looks.",
				Parameters: json.RawMessage(
					`{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}},"required":["a"],"$defs":{}}`)},
			{Name: "wait"}},
		Output:   &llm.OutputSchema{Name: "door", Schema: json.RawMessage(`{"type": "object"}`)},
		Metadata: map[string]string{"case": "7", "user_id": "u-1"}, IdempotencyKey: "key-1", TraceID: "trace-1",
	})
	wiretest.SameJSON(t, body, `{"model":"claude-x","max_tokens":4096,"temperature":0.5,"metadata":{"user_id":"u-1"},
		"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Your final answer is exactly one JSON value that matches this JSON Schema, without any other text:\n{\"type\":\"object\"}"}],
		"messages":[{"role":"user","content":[{"type":"text","text":"Look."}]},
			{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"look","input":{"a":1}},{"type":"tool_use","id":"c2","name":"look","input":{}},{"type":"tool_use","id":"c3","name":"look","input":{"arguments":"{\"a\":"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"a door"}]},{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"it is dark"}]},{"type":"tool_result","tool_use_id":"c3"}]},
			{"role":"assistant","content":[{"type":"text","text":"A door."}]},{"role":"user","content":[{"type":"text","text":"And?"}]}],
		"tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}},"required":["a"],"$defs":{}}},{"name":"wait","input_schema":{"type":"object","properties":{}}}]}`)
	if !strings.Contains(body, "9007199254740993") {
		t.Error("a number of the schema lost digits")
	}
	if header.Get("Idempotency-Key") != "key-1" || header.Get("X-Client-Request-Id") != "trace-1" ||
		header.Get("X-Api-Key") != key {
		t.Errorf("the headers are %v", header)
	}
}

// TestOpaqueFits removes calls that were cut off, and uses the plain message if it does not match
// the opaque data.
func TestOpaqueFits(t *testing.T) {
	blocks := `[{"type":"thinking","thinking":"T","signature":"S\u003cS"},{"type":"text","text":""},` +
		`{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]`
	vendor.TestOpaque(t, "", map[string]wiretest.Opaque{
		"all": {"", blocks, []llm.ToolCall{{ID: "a"}, {ID: "b"}}, []string{`"S\u003cS"`, `"id":"a"`, `"id":"b"`},
			[]string{`"text":""`}},
		"one is gone": {"", blocks, []llm.ToolCall{{ID: "a"}}, []string{`"S\u003cS"`, `"id":"a"`}, []string{`"id":"b"`}},
		"one is other": {"", blocks, []llm.ToolCall{{ID: "z", Name: "g"}}, []string{`"id":"z"`, "said"},
			[]string{"S", `"id":"a"`}},
		"another id": {"", blocks, []llm.ToolCall{{ID: "z", Name: "f"}}, []string{`"id":"z"`, `"S\u003cS"`},
			[]string{`"id":"a"`, "said"}},
		"input that is a text": {"", `[{"type":"tool_use","id":"a","name":"f","input":"{\"x\":"}]`,
			[]llm.ToolCall{{ID: "a", Name: "f"}}, []string{`"input":{"arguments":"{\"x\":"}`}, nil},
		"no list":    {"", `"x"`, nil, []string{"said"}, nil},
		"of another": {"proxy", `[{"type":"thinking","thinking":"T","signature":"S-1"}]`, nil, []string{"said"}, []string{"S-1"}}, // it may be of this package too
	})
}

func TestUnsendable(t *testing.T) { vendor.TestUnsendable(t) }

// A long answer without a sink is streamed on the wire, because the SDK limits its duration.
func TestLongAnswersAreStreamed(t *testing.T) {
	var streamed any
	p := vendor.Provider(t, wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		var body object
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		streamed = body["stream"]
		wiretest.Pieces(messagesStream)(w, r)
	}), "", nil)
	r, err := p.Call(t.Context(), &llm.Request{Model: "claude-x", MaxTokens: 64_000}, nil)
	if err != nil || streamed != true || r.Text != "Ça va 🙂" {
		t.Errorf("%v, streamed %v: %+v", err, streamed, r)
	}
}

// Blank texts are left out, because the vendor refuses them.
func TestBlankTexts(t *testing.T) {
	_, body, _ := vendor.Sent(t, "", &llm.Request{Model: "claude-x", Instructions: " ", Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "\t"},
		{Role: llm.RoleUser, Text: "Look."},
		{Role: llm.RoleAssistant, Text: "\n\n", ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look"}}},
		{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: "c1", Name: "look", Text: " "}}},
		{Role: llm.RoleAssistant,
			Opaque: &llm.Opaque{Provider: "anthropic",
				Data: json.RawMessage(`[{"type":"text","text":" "},{"type":"text","text":"A door."}]`)}},
	}})
	wiretest.SameJSON(t, body, `{"model":"claude-x","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"Look."}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"}]},
		{"role":"assistant","content":[{"type":"text","text":"A door."}]}]}`)
}

// TestImages sends images in messages and in results of tools. A block of an error takes text only,
// so its images follow all results.
func TestImages(t *testing.T) {
	png, gif := llm.File{MediaType: "image/png", SHA256: "a", Data: []byte("P")},
		llm.File{MediaType: "image/gif", SHA256: "b", Data: []byte("GI")}
	_, body, _ := vendor.Sent(t, "", &llm.Request{Model: "claude-x", Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "Look.", Files: []llm.File{png, gif}},
		{Role: llm.RoleUser, Files: []llm.File{png}},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look"}, {ID: "c2", Name: "look"}}},
		{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: "c1", Text: "a door", Files: []llm.File{png}},
			{CallID: "c2", Text: "dark", IsError: true, Files: []llm.File{gif}}, {CallID: "c3", Files: []llm.File{png}}}},
	}})
	image := func(media, data string) string {
		return `{"type":"image","source":{"type":"base64","media_type":"image/` + media + `","data":"` + data + `"}}`
	}
	wiretest.SameJSON(t, body, `{"model":"claude-x","max_tokens":4096,"messages":[
		{"role":"user","content":[{"type":"text","text":"Look."},`+image("png", "UA==")+`,`+image("gif", "R0k=")+`]},
		{"role":"user","content":[`+image("png", "UA==")+`]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{}},{"type":"tool_use",
			"id":"c2","name":"look","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"a door"},
			`+image("png", "UA==")+`]},
			{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"dark"}]},
			{"type":"tool_result","tool_use_id":"c3","content":[`+image("png", "UA==")+`]},`+image("gif", "R0k=")+`]}]}`)
}
