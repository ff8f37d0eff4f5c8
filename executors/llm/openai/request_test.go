package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

func full(api llm.API) *llm.Request {
	temperature, topP, seed := 0.5, 0.25, int64(7)
	return &llm.Request{
		Model: "gpt-4.1", API: api, Instructions: "Be brief.", UseInstructions: true, Temperature: &temperature, TopP: &topP,
		Seed: &seed, MaxTokens: 99,
		Messages: []llm.Message{
			{Role: llm.RoleUser, Text: "Look."},
			{Role: llm.RoleAssistant, Text: "Looking.",
				ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look", Arguments: `{"a":1}`}, {ID: "c2", Name: "look"}}},
			{Role: llm.RoleTool,
				Results: []llm.ToolResult{{CallID: "c1", Name: "look", Text: "a door"},
					{CallID: "c2", Name: "look", Text: "it is dark", IsError: true}}},
			{Role: llm.RoleAssistant, Opaque: &llm.Opaque{Provider: "anthropic", Data: json.RawMessage(`[{"type":"thinking"}]`)},
				Text: "A door."},
			{Role: llm.RoleUser, Text: "And?"},
		},
		Tools: []llm.ToolSpec{
			{Name: "look", Description: "Looks.",
				Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}`)},
			{Name: "wait"}},
		ToolChoice: llm.ToolsRequired,
		Output:     &llm.OutputSchema{Name: "door", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		Metadata:   map[string]string{"case": "7"}, IdempotencyKey: "key-1", TraceID: "trace-1",
	}
}

func TestResponsesRequest(t *testing.T) {
	header, body, _ := vendor.Sent(t, llm.APIResponses, full(""))
	wiretest.SameJSON(t, body, `{"model":"gpt-4.1","store":false,"instructions":"Be brief.","temperature":0.5,"top_p":0.25,"max_output_tokens":99,"metadata":{"case":"7"},"tool_choice":"required",
		"input":[{"role":"user","content":"Look."},{"role":"assistant","content":"Looking."},
			{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"a\":1}"},{"type":"function_call","call_id":"c2","name":"look","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"a door"},{"type":"function_call_output","call_id":"c2","output":"Error: it is dark"},
			{"role":"assistant","content":"A door."},{"role":"user","content":"And?"}],
		"tools":[{"type":"function","name":"look","description":"Looks.","strict":false,"parameters":{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}},
			{"type":"function","name":"wait","strict":false,"parameters":{"type":"object","properties":{}}}],
		"text":{"format":{"type":"json_schema","name":"door","strict":false,"schema":{"type":"object","properties":{}}}}}`)
	if !strings.Contains(body, "9007199254740993") {
		t.Error("a number of the schema lost digits")
	}
	if header.Get("Idempotency-Key") != "key-1" || header.Get("X-Client-Request-Id") != "trace-1" ||
		header.Get("Authorization") != "Bearer "+key {
		t.Errorf("the headers are %v", header)
	}
}

func TestChatRequest(t *testing.T) {
	_, body, _ := vendor.Sent(t, "", full(""))
	wiretest.SameJSON(t, body, `{"model":"gpt-4.1","temperature":0.5,"top_p":0.25,"seed":7,"max_tokens":99,"tool_choice":"required",
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look."},
			{"role":"assistant","content":"Looking.","tool_calls":[{"type":"function","id":"c1","function":{"name":"look","arguments":"{\"a\":1}"}},{"type":"function","id":"c2","function":{"name":"look","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"a door"},{"role":"tool","tool_call_id":"c2","content":"Error: it is dark"},
			{"role":"assistant","content":"A door."},{"role":"user","content":"And?"}],
		"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}}},
			{"type":"function","function":{"name":"wait","parameters":{"type":"object","properties":{}}}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"door","strict":false,"schema":{"type":"object","properties":{}}}}}`)
}

func TestMaxTokensParam(t *testing.T) {
	for _, c := range []struct {
		api         llm.API
		param, want string
	}{
		{llm.APIResponses, "", "max_output_tokens"},
		{llm.APIResponses, "max_completion_tokens", "max_output_tokens"},
		{llm.APIResponses, "max_tokens", "max_output_tokens"},
		{llm.APIChat, "", "max_tokens"},
		{llm.APIChat, "max_output_tokens", "max_tokens"},
		{llm.APIChat, "max_completion_tokens", "max_completion_tokens"},
		{llm.APIChat, "num_predict", "num_predict"},
	} {
		_, body, _ := vendor.Sent(t, "", &llm.Request{Model: "m", API: c.api, MaxTokens: 5, MaxTokensParam: c.param})
		var o object
		if err := json.Unmarshal([]byte(body), &o); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"} {
			if _, is := o[name]; is != (name == c.want) {
				t.Errorf("%s, %q: was sent %s", c.api, c.param, body)
			}
		}
	}
}

// Only reasoning models support encrypted thoughts; others refuse the request.
func TestEncryptedThoughts(t *testing.T) {
	for model, asked := range map[string]bool{
		"gpt-5": true, "gpt-5.1-codex-max": true, "gpt-5-chat-latest": false, "o3-mini": true, "o1": true,
		"openai/gpt-5-nano": true, "ft:o4-mini:acme::1": true,
		"gpt-4o": false, "gpt-4.1-mini": false, "ft:gpt-4.1:acme::1": false, "llama3": false, "olmo": false, "gpt-10": true,
		"gpt-oss:20b": false,
	} {
		_, body, _ := vendor.Sent(t, llm.APIResponses, &llm.Request{Model: model})
		if got := strings.Contains(body, `"include":["reasoning.encrypted_content"]`); got != asked {
			t.Errorf("%s: was sent %s", model, body)
		}
	}
}

// TestOpaqueFits removes calls that were cut off, and uses the plain message if it does not match
// the opaque data.
func TestOpaqueFits(t *testing.T) {
	items := `{"api":"responses","items":[{"type":"reasoning","id":"rs_1","summary":[],` +
		`"encrypted_content":"X\u003cY"},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"},` +
		`{"type":"function_call","id":"fc_2","call_id":"b","name":"f","arguments":"{}"}]}`
	vendor.TestOpaque(t, llm.APIResponses, map[string]wiretest.Opaque{
		"all":         {"", items, []llm.ToolCall{{ID: "a"}, {ID: "b"}}, []string{`"X\u003cY"`, "fc_1", "fc_2"}, nil},
		"one is gone": {"", items, []llm.ToolCall{{ID: "a"}}, []string{`"X\u003cY"`, "fc_1"}, []string{"fc_2"}},
		"one is other": {"", items, []llm.ToolCall{{ID: "a"}, {ID: "z"}}, []string{`"call_id":"z"`},
			[]string{"rs_1", "fc_1"}},
		"another id": {"", items, []llm.ToolCall{{ID: "z", Name: "f"}, {ID: "b", Name: "f"}},
			[]string{`"call_id":"z"`, "rs_1", "fc_1"}, []string{`"call_id":"a"`}},
		"arguments that were cut": {"", strings.Replace(items, `"{}"`, `"{\"x\":"`, 1), []llm.ToolCall{{ID: "a"}, {ID: "b"}},
			[]string{`"arguments":"{\"arguments\":\"{\\\"x\\\":\"}"`}, nil},
		"another API": {"", `{"api":"chat","items":[{"type":"reasoning","id":"rs_1"}]}`, nil, []string{"said"},
			[]string{"rs_1"}},
		"no object":  {"", `"rs_1"`, nil, []string{"said"}, []string{"rs_1"}},
		"no items":   {"", `{"api":"responses","items":["rs_1"]}`, nil, []string{"said"}, []string{"rs_1"}},
		"of another": {"azure", `{"api":"responses","items":[{"type":"reasoning","id":"rs_1"}]}`, nil, []string{"said"}, []string{"rs_1"}}, // it may be of this package too
	})
}

func TestUnsendable(t *testing.T) { vendor.TestUnsendable(t, &llm.Request{API: "telepathy"}) }

// TestImages sends images in a message and in the results of tools.
func TestImages(t *testing.T) {
	png, gif := llm.File{MediaType: "image/png", SHA256: "a", Data: []byte("P")},
		llm.File{MediaType: "image/gif", SHA256: "b", Data: []byte("GI")}
	req := func(api llm.API, model string) *llm.Request {
		return &llm.Request{Model: model, API: api, Messages: []llm.Message{
			{Role: llm.RoleUser, Text: "Look.", Files: []llm.File{png, gif}},
			{Role: llm.RoleUser, Files: []llm.File{png}},
			{Role: llm.RoleAssistant,
				ToolCalls: []llm.ToolCall{{ID: "id0000001", Name: "look"}, {ID: "id0000002", Name: "look"}}},
			{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: "id0000001", Text: "a door", Files: []llm.File{png}},
				{CallID: "id0000002", Text: "dark", IsError: true, Files: []llm.File{gif}}, {CallID: "id0000003", Text: "plain"},
				{CallID: "id0000004", Files: []llm.File{png}}}},
		}}
	}
	_, body, _ := vendor.Sent(t, "", req(llm.APIResponses, "gpt-4.1"))
	wiretest.SameJSON(t, body, `{"model":"gpt-4.1","store":false,"input":[
		{"role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","detail":"auto",
			"image_url":"data:image/png;base64,UA=="},{"type":"input_image","detail":"auto",
			"image_url":"data:image/gif;base64,R0k="}]},
		{"role":"user","content":[{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,UA=="}]},
		{"type":"function_call","call_id":"id0000001","name":"look","arguments":"{}"},{"type":"function_call",
			"call_id":"id0000002","name":"look","arguments":"{}"},
		{"type":"function_call_output","call_id":"id0000001","output":[{"type":"input_text","text":"a door"},
			{"type":"input_image","image_url":"data:image/png;base64,UA=="}]},
		{"type":"function_call_output","call_id":"id0000002","output":[{"type":"input_text","text":"Error: dark"},
			{"type":"input_image","image_url":"data:image/gif;base64,R0k="}]},
		{"type":"function_call_output","call_id":"id0000003","output":"plain"},
		{"type":"function_call_output","call_id":"id0000004","output":[{"type":"input_image",
			"image_url":"data:image/png;base64,UA=="}]}]}`)
	calls := `{"role":"assistant","tool_calls":[{"type":"function","id":"id0000001","function":{"name":"look",
			"arguments":"{}"}},{"type":"function","id":"id0000002","function":{"name":"look","arguments":"{}"}}]}`
	first := `"messages":[
		{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image_url",
			"image_url":{"url":"data:image/png;base64,UA=="}},{"type":"image_url",
			"image_url":{"url":"data:image/gif;base64,R0k="}}]},
		{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,UA=="}}]},` + calls
	_, body, _ = vendor.Sent(t, "", req(llm.APIChat, "gpt-4.1"))
	wiretest.SameJSON(t, body, `{"model":"gpt-4.1",`+first+`,
		{"role":"tool","tool_call_id":"id0000001","content":"a door"},
		{"role":"tool","tool_call_id":"id0000002","content":"Error: dark"},
		{"role":"tool","tool_call_id":"id0000003","content":"plain"},
		{"role":"tool","tool_call_id":"id0000004","content":""},
		{"role":"user","content":[{"type":"text","text":"The images of the result of the tool call id0000001:"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,UA=="}},
			{"type":"text","text":"The images of the result of the tool call id0000002:"},{"type":"image_url",
			"image_url":{"url":"data:image/gif;base64,R0k="}},
			{"type":"text","text":"The images of the result of the tool call id0000004:"},{"type":"image_url",
			"image_url":{"url":"data:image/png;base64,UA=="}}]}]}`)
	mark := `\n[The images of this result are not shown, because the API takes none.]`
	_, body, _ = vendor.Sent(t, "", req(llm.APIChat, "mistralai/pixtral-12b"))
	wiretest.SameJSON(t, body, `{"model":"mistralai/pixtral-12b",`+first+`,
		{"role":"tool","tool_call_id":"id0000001","content":"a door`+mark+`"},{"role":"tool","tool_call_id":"id0000002",
			"content":"Error: dark`+mark+`"},
		{"role":"tool","tool_call_id":"id0000003","content":"plain"},
		{"role":"tool","tool_call_id":"id0000004","content":"`+mark+`"}]}`)
}
