package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

// TestOpaqueOfOthersStays: another provider may be made by this package too.
func TestOpaqueOfOthersStays(t *testing.T) {
	m := llm.Message{Role: llm.RoleAssistant, Text: "said", Opaque: &llm.Opaque{Provider: "azure", Data: json.RawMessage(`{"api":"responses","items":[{"type":"reasoning","id":"rs_1"}]}`)}}
	_, body, _ := sent(t, openai.Options{API: llm.APIResponses}, &llm.Request{Model: "gpt-5", Messages: []llm.Message{m}})
	if strings.Contains(body, "rs_1") || !strings.Contains(body, "said") {
		t.Errorf("was sent %s", body)
	}
}

// sent asks a server that takes down what it is sent.
func sent(t *testing.T, o openai.Options, req *llm.Request) (http.Header, string, error) {
	t.Helper()
	var header http.Header
	var body string
	o.BaseURL = wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		header, body = r.Header, string(raw)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTeapot)
	})
	_, err := provider(t, o).Call(t.Context(), req, nil)
	return header, body, err
}

// holdJSON compares what was sent with what is expected.
func holdJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("was sent\n%s\nexpected\n%s", got, want)
	}
}

func full(api llm.API) *llm.Request {
	temperature, topP, seed := 0.5, 0.25, int64(7)
	return &llm.Request{
		Model: "gpt-4.1", API: api, Instructions: "Be brief.", UseInstructions: true, Temperature: &temperature, TopP: &topP, Seed: &seed, MaxTokens: 99,
		Messages: []llm.Message{
			{Role: llm.RoleUser, Text: "Look."},
			{Role: llm.RoleAssistant, Text: "Looking.", ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look", Arguments: `{"a":1}`}, {ID: "c2", Name: "look"}}},
			{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: "c1", Name: "look", Text: "a door"}, {CallID: "c2", Name: "look", Text: "it is dark", IsError: true}}},
			{Role: llm.RoleAssistant, Opaque: &llm.Opaque{Provider: "anthropic", Data: json.RawMessage(`[{"type":"thinking"}]`)}, Text: "A door."},
			{Role: llm.RoleUser, Text: "And?"},
		},
		Tools:      []llm.ToolSpec{{Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}`)}, {Name: "wait"}},
		ToolChoice: llm.ToolsRequired,
		Output:     &llm.OutputSchema{Name: "door", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		Metadata:   map[string]string{"case": "7"}, IdempotencyKey: "key-1", TraceID: "trace-1",
	}
}

func TestResponsesRequest(t *testing.T) {
	header, body, _ := sent(t, openai.Options{API: llm.APIResponses}, full(""))
	holdJSON(t, body, `{"model":"gpt-4.1","store":false,"instructions":"Be brief.","temperature":0.5,"top_p":0.25,"max_output_tokens":99,"metadata":{"case":"7"},"tool_choice":"required",
		"input":[{"role":"user","content":"Look."},{"role":"assistant","content":"Looking."},
			{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"a\":1}"},{"type":"function_call","call_id":"c2","name":"look","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"a door"},{"type":"function_call_output","call_id":"c2","output":"Error: it is dark"},
			{"role":"assistant","content":"A door."},{"role":"user","content":"And?"}],
		"tools":[{"type":"function","name":"look","description":"Looks.","strict":false,"parameters":{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}},
			{"type":"function","name":"wait","strict":false,"parameters":{"type":"object","properties":{}}}],
		"text":{"format":{"type":"json_schema","name":"door","strict":false,"schema":{"type":"object","properties":{}}}}}`)
	if !strings.Contains(body, "9007199254740993") {
		t.Error("a number of the schema has lost digits")
	}
	if header.Get("Idempotency-Key") != "key-1" || header.Get("X-Client-Request-Id") != "trace-1" || header.Get("Authorization") != "Bearer "+key {
		t.Errorf("the headers are %v", header)
	}
}

func TestChatRequest(t *testing.T) {
	_, body, _ := sent(t, openai.Options{}, full(""))
	holdJSON(t, body, `{"model":"gpt-4.1","temperature":0.5,"top_p":0.25,"seed":7,"max_tokens":99,"tool_choice":"required",
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look."},
			{"role":"assistant","content":"Looking.","tool_calls":[{"type":"function","id":"c1","function":{"name":"look","arguments":"{\"a\":1}"}},{"type":"function","id":"c2","function":{"name":"look","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"a door"},{"role":"tool","tool_call_id":"c2","content":"Error: it is dark"},
			{"role":"assistant","content":"A door."},{"role":"user","content":"And?"}],
		"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}}},
			{"type":"function","function":{"name":"wait","parameters":{"type":"object","properties":{}}}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"door","strict":false,"schema":{"type":"object","properties":{}}}}}`)
}

func TestMaxTokensByTheirName(t *testing.T) {
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
		_, body, _ := sent(t, openai.Options{}, &llm.Request{Model: "m", API: c.api, MaxTokens: 5, MaxTokensParam: c.param})
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

// TestThoughtsAreAskedFor of models that have some: others refuse to be asked.
func TestThoughtsAreAskedFor(t *testing.T) {
	for model, asked := range map[string]bool{
		"gpt-5": true, "gpt-5.1-codex-max": true, "gpt-5-chat-latest": false, "o3-mini": true, "o1": true, "openai/gpt-5-nano": true, "ft:o4-mini:acme::1": true,
		"gpt-4o": false, "gpt-4.1-mini": false, "ft:gpt-4.1:acme::1": false, "llama3": false, "olmo": false, "gpt-10": true, "gpt-oss:20b": false,
	} {
		_, body, _ := sent(t, openai.Options{API: llm.APIResponses}, &llm.Request{Model: model})
		if got := strings.Contains(body, `"include":["reasoning.encrypted_content"]`); got != asked {
			t.Errorf("%s: was sent %s", model, body)
		}
	}
}

// TestOpaqueFits has calls go that were cut off, and falls back on what can be read where the two do not fit.
func TestOpaqueFits(t *testing.T) {
	items := `{"api":"responses","items":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"X\u003cY"},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","id":"fc_2","call_id":"b","name":"f","arguments":"{}"}]}`
	for name, c := range map[string]struct {
		data  string
		calls []llm.ToolCall
		want  []string
		not   []string
	}{
		"all":          {items, []llm.ToolCall{{ID: "a"}, {ID: "b"}}, []string{`"X\u003cY"`, "fc_1", "fc_2"}, nil},
		"one is gone":  {items, []llm.ToolCall{{ID: "a"}}, []string{`"X\u003cY"`, "fc_1"}, []string{"fc_2"}},
		"one is other": {items, []llm.ToolCall{{ID: "a"}, {ID: "z"}}, []string{`"call_id":"z"`}, []string{"rs_1", "fc_1"}},
		"another API":  {`{"api":"chat","items":[{"type":"reasoning","id":"rs_1"}]}`, nil, []string{"said"}, []string{"rs_1"}},
		"no object":    {`"rs_1"`, nil, []string{"said"}, []string{"rs_1"}},
		"no items":     {`{"api":"responses","items":["rs_1"]}`, nil, []string{"said"}, []string{"rs_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := llm.Message{Role: llm.RoleAssistant, Text: "said", ToolCalls: c.calls, Opaque: &llm.Opaque{Provider: "openai", Data: json.RawMessage(c.data)}}
			_, body, _ := sent(t, openai.Options{API: llm.APIResponses}, &llm.Request{Model: "gpt-5", Messages: []llm.Message{m}})
			for _, w := range c.want {
				if !strings.Contains(body, w) {
					t.Errorf("expected %s in %s", w, body)
				}
			}
			for _, n := range c.not {
				if strings.Contains(body, n) {
					t.Errorf("expected no %s in %s", n, body)
				}
			}
		})
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	for name, req := range map[string]*llm.Request{
		"idempotency key": {Model: "m", IdempotencyKey: "a\nb"},
		"trace id":        {Model: "m", TraceID: "é"},
		"parameter":       {Model: "m", MaxTokens: 1, MaxTokensParam: "a.b"},
		"tool":            {Model: "m", Tools: []llm.ToolSpec{{Name: "t", Parameters: json.RawMessage(`[]`)}}},
		"schema":          {Model: "m", Output: &llm.OutputSchema{Name: "o", Schema: json.RawMessage(`true`)}},
		"API":             {Model: "m", API: "telepathy"},
	} {
		for _, api := range []llm.API{llm.APIResponses, llm.APIChat} {
			header, _, err := sent(t, openai.Options{API: api}, req)
			var pe *llm.ProviderError
			if !errors.As(err, &pe) || pe.Category != llm.CategoryInvalid || pe.Retryable || header != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
