package llmtest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm/llmtest"
)

// TestVendorRefuses breaks each rule of the APIs. The words are a part of the reason.
func TestVendorRefuses(t *testing.T) {
	t.Parallel()
	const (
		chat  = `"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}]`
		calls = `"model":"gpt-4.1","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{` +
			`"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a",` +
			`"content":"x"}]`
		responses = `"model":"gpt-4.1","store":false,"input":[{"role":"user","content":"hi"}]`
		items     = `"model":"gpt-4.1","store":false,"input":[{"role":"user","content":"hi"},{"type":"function_call",` +
			`"call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"x"}]`
		messages = `"model":"claude-sonnet-4-5","max_tokens":99,"messages":[{"role":"user","content":"hi"}]`
		blocks   = `"model":"claude-sonnet-4-5","max_tokens":99,"messages":[{"role":"user","content":"hi"},{` +
			`"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{` +
			`"type":"tool_result","tool_use_id":"a","content":"x"}]}]`
	)
	// put replaces a part of a request; with replaces an empty part at the end.
	put := func(body, old, new string) string {
		t.Helper()
		if !strings.Contains(body, old) {
			t.Fatalf("no %s in %s", old, body)
		}
		return "{" + strings.Replace(body, old, new, 1) + "}"
	}
	with := func(body, more string) string { return "{" + body + "," + more + "}" }
	type row struct{ body, words string }
	rules := llmtest.Rules{}
	check := func(w *llmtest.Wire, accepted []string, refused ...row) {
		t.Helper()
		ask := func(body string) error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://vendor"+w.Path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Anthropic-Version", "2023-06-01")
			_, err = w.Check(r, []byte(body), rules)
			return err
		}
		for _, body := range accepted {
			if err := ask("{" + body + "}"); err != nil {
				t.Errorf("%s: %v: %s", w.Name, err, body)
			}
		}
		for _, r := range refused {
			if err := ask(r.body); err == nil || !strings.Contains(err.Error(), r.words) {
				t.Errorf("%s: %v: expected %q for %s", w.Name, err, r.words, r.body)
			}
		}
	}
	// Rules of all three APIs, with a request, the start of a tool and its schema.
	tool := map[*llmtest.Wire]string{
		llmtest.Chat:      `"tools":[{"type":"function","function":{"name":"NAME","parameters":SCHEMA}}]`,
		llmtest.Responses: `"tools":[{"type":"function","name":"NAME","parameters":SCHEMA}]`,
		llmtest.Messages:  `"tools":[{"name":"NAME","input_schema":SCHEMA}]`,
	}
	for w, base := range map[*llmtest.Wire]string{
		llmtest.Chat: chat, llmtest.Responses: responses, llmtest.Messages: messages,
	} {
		named := func(name, schema string) string {
			return with(base, strings.NewReplacer("NAME", name, "SCHEMA", schema).Replace(tool[w]))
		}
		const object = `{"type":"object"}`
		one := strings.NewReplacer("NAME", "f", "SCHEMA", object).Replace(tool[w])
		check(w, []string{base},
			row{`[]`, "not a JSON object"}, row{`{`, "not a JSON object"},
			row{"{" + strings.Replace(base, "hi", "\xff", 1) + "}", "UTF-8"},
			row{put(base, "hi", `a \ud83d b`), "surrogate"}, row{put(base, "hi", `\ude42\ud83d`), "surrogate"},
			row{put(base, `"model":`, `"mode":`), "model parameter"},
			row{with(base, `"sunspots":1`), "unknown parameter: sunspots"},
			row{with(base, `"tools":[]`), "too short"}, row{with(base, `"tool_choice":"auto"`), "only allowed when tools"},
			row{named("a b", object), "does not match"}, row{named(strings.Repeat("a", 65), object), "does not match"},
			row{named("f", `{"type":"string"}`), `must have type "object"`}, row{named("f", `null`), "expected a schema"},
			row{named("f", `{"type":"object","anyOf":[]}`), "anyOf at the top level"},
			row{named("f", `{"type":"object","oneOf":[]}`), "oneOf at the top level"},
			row{named("f", `{"type":"object","allOf":[]}`), "allOf at the top level"},
			row{named("f", `{"type":"object","$ref":"#"}`), "$ref at the top level"},
			row{named("f", `{"type":"object","required":null}`), "required: null is not allowed"},
			row{named("f", `{"type":"object","properties":null}`), "properties: null is not allowed"},
			row{named("f", `{"type":"object","required":["a","a"]}`), "unique string"},
			row{named("f", `{"type":"object","properties":{"a":{"items":null}}}`), "items: null is not allowed"},
			row{named("f", `{"type":"object","properties":{"a":{"type":"array"}}}`), "missing items"},
			row{named("f", `{"type":"object","properties":{"a":{"pattern":"(?!b)"}}}`), "look-around"},
			row{named("f", `{"type":"object","properties":{"a":{"anyOf":[{"pattern":"(?<=b)"}]}}}`), "look-around"},
			row{with(base, strings.Replace(one, "]", ","+strings.TrimPrefix(one, `"tools":[`), 1)), "must be unique"},
		)
	}
	rules.Mistral = true
	check(llmtest.Chat, []string{strings.ReplaceAll(calls, `"a"`, `"abcde6789"`)}, row{"{" + calls + "}", "must match"},
		row{put(calls, `"x"}`, `"x"},{"role":"user","content":"y"}`), "unexpected role user"})
	rules = llmtest.Rules{Signature: "S", Reasoning: "R"}
	check(llmtest.Chat, nil, row{"{" + calls + "}", "thought_signature"}, row{"{" + calls + "}", "reasoning_content"})
	check(llmtest.Responses, nil, row{"{" + items + "}", "thought_signature"},
		row{"{" + items + "}", "required reasoning item"})
	check(llmtest.Messages, nil, row{"{" + blocks + "}", "thought_signature"},
		row{"{" + blocks + "}", "expected thinking"})
	rules = llmtest.Rules{}

	system := func(role string) string { return `[{"role":"` + role + `","content":"hi"}]` }
	reasoning := `"gpt-5"`
	check(llmtest.Chat, []string{calls, strings.Replace(calls, `"x"`, `[{"type":"text","text":"x"}]`, 1)},
		row{put(chat, system("user"), "[]"), "too short"}, row{put(chat, `"user"`, `"model"`), "invalid role"},
		row{put(chat, `"hi"`, "null"), "expected a string or parts"},
		row{put(chat, `"hi"`, "[]"), "expected a string or parts"},
		row{put(chat, `"hi"`, `[{"type":"text","text":""}]`), "non-empty"},
		row{put(chat, `"hi"`, `[{"type":"image","source":{}}]`), "invalid type"},
		row{put(chat, `"hi"`, `[{"type":"image_url","image_url":{"url":"data:image/bmp;base64,UA=="}}]`),
			"unsupported image type"},
		row{put(chat, `"hi"`, `[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]`), "base64"},
		row{put(chat, `"hi"`, `[{"type":"image_url","image_url":{"url":"ftp://x"}}]`), "invalid image URL"},
		row{put(chat, system("user"), `[{"role":"user","content":"a"},{"role":"system","content":"b"}]`), "at the beginning"},
		row{put(chat, system("user"), `[{"role":"assistant","content":null}]`), "expected a string, got null"},
		row{put(chat, system("user"), `[{"role":"tool","tool_call_id":"a","content":"x"}]`), "answers no call"},
		row{put(chat, system("user"), `[{"role":"function","name":"f","content":"x"}]`), "answers no function_call"},
		row{put(chat, system("user"), `[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}]`),
			"function_call"},
		row{put(calls, `,{"role":"tool","tool_call_id":"a","content":"x"}`, ""), "no result"},
		row{put(calls, `{"role":"tool"`, `{"role":"user","content":"x"},{"role":"tool"`), "no result"},
		row{put(calls, `"tool_call_id":"a"`, `"tool_call_id":"b"`), "answers no call"},
		row{put(calls, `"id":"a"`, `"id":""`), "missing id"}, row{put(calls, `"{}"`, `"{"`), "not a valid JSON object"},
		row{put(calls, `"{}"`, `"[]"`), "not a valid JSON object"}, row{put(calls, `"{}"`, `{}`), "not a valid JSON object"},
		row{put(calls, `"id":"a"`, `"id":"`+strings.Repeat("a", 41)+`"`), "maximum length of 40"},
		row{put(calls, `"name":"f"`, `"name":"f g"`), "does not match"},
		row{put(calls, `[{"id":"a"`, `[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"a"`),
			"unique"},
		row{with(chat, `"max_tokens":1,"max_completion_tokens":1`), "mutually exclusive"},
		row{put(chat, `"gpt-4.1"`, reasoning+`,"max_tokens":9`), "use max_completion_tokens"},
		row{put(chat, `"gpt-4.1"`, `"o3-mini","temperature":1`), "not supported with this model"},
		row{put(chat, `"gpt-4.1"`, reasoning+`,"stop":["x"]`), "stop is not supported"},
		row{with(chat, `"reasoning_effort":"low"`), "not supported"}, row{with(chat, `"temperature":3`), "from 0 to 2"},
		row{with(chat, `"stop":["a","b","c","d","e"]`), "1 to 4"}, row{with(chat, `"stop":[""]`), "not empty"},
		row{with(chat, `"stream_options":{}`), "stream is enabled"},
		row{with(chat, `"response_format":{"type":"json_schema","json_schema":{"name":"a b","schema":{"type":"object"}}}`),
			"does not match"},
		row{with(chat, `"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{`+
			`"type":"object"}}}`),
			"additionalProperties"},
	)
	check(llmtest.Responses, []string{items},
		row{put(responses, system("user"), "[]"), "too short"}, row{put(responses, `"user"`, `"tool"`), "invalid role"},
		row{put(responses, `"hi"`, `[{"type":"text","text":"x"}]`), "invalid type"},
		row{put(responses, `"hi"`, `[{"type":"input_image","image_url":"data:image/svg+xml;base64,UA=="}]`),
			"unsupported image type"},
		row{put(items, `,{"type":"function_call_output","call_id":"a","output":"x"}`, ""), "no result"},
		row{put(items, `{"type":"function_call_output","call_id":"a"`, `{"type":"function_call_output","call_id":"b"`),
			"answers no call"},
		row{put(items, `"output":"x"`, `"output":null`), "expected a string or parts"},
		row{put(items, `"{}"`, `"{"`), "not a valid JSON object"},
		row{put(items, `"function_call",`, `"function_call","id":"msg_1",`), "begins with fc"},
		row{put(items, `{"type":"function_call",`, `{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call",`),
			"not persisted"},
		row{put(responses, `"hi"}`, `"hi"},{"type":"reasoning","encrypted_content":"x"}`), "required following item"},
		row{with(responses, `"max_tokens":20`), "unknown parameter"},
		row{with(responses, `"max_output_tokens":15`), "from 16"},
		row{with(responses, `"seed":1`), "unknown parameter"}, row{with(responses, `"reasoning":{}`), "not supported"},
		row{with(responses, `"include":["reasoning.encrypted_content"]`), "not supported"},
		row{put(responses, `"gpt-4.1"`, reasoning+`,"top_p":1`), "not supported"},
		row{with(responses, `"text":{"format":{"type":"json_schema","schema":{"type":"object"}}}`), "does not match"},
	)
	cached := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	check(llmtest.Messages, []string{blocks, strings.Replace(messages, `"hi"`, "["+cached+"]", 1)},
		row{put(messages, `"max_tokens":99,`, ""), "max_tokens: field required"},
		row{put(messages, system("user"), "[]"), "at least one message"},
		row{put(messages, `"user"`, `"system"`), "unexpected role"},
		row{put(messages, `"hi"`, `""`), "non-whitespace"}, row{put(messages, `"hi"`, `[]`), "non-empty content"},
		row{put(messages, `"hi"`, `[{"type":"text","text":" \n"}]`), "non-whitespace"},
		row{put(messages, `"hi"`, `[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"UA=="}}]`),
			"unsupported image type"},
		row{put(messages, `"hi"`, "["+cached+","+cached+","+cached+","+cached+","+cached+"]"), "maximum of 4"},
		row{put(messages, `"hi"`, "["+strings.Replace(cached, "ephemeral", "eternal", 1)+"]"), "cache_control"},
		row{put(messages, `"hi"}`, `"hi"},{"role":"assistant","content":"yes "}`), "trailing whitespace"},
		row{put(messages, `"hi"}`, `"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}`), "signature"},
		row{put(messages, `"hi"`, `[{"type":"tool_use","id":"a","name":"f","input":{}}]`), "only be in assistant"},
		row{put(blocks, `"input":{}`, `"input":"{}"`), "valid dictionary"},
		row{put(blocks, `"id":"a"`, `"id":"a:1"`), "does not match"},
		row{put(blocks, `"tool_use_id":"a"`, `"tool_use_id":"b"`), "answers no call"},
		row{put(blocks, `{"type":"tool_result","tool_use_id":"a","content":"x"}`, `{"type":"text","text":"x"}`),
			"without tool_result"},
		row{put(blocks, `[{"type":"tool_result"`, `[{"type":"text","text":"x"},{"type":"tool_result"`), "must come first"},
		row{put(blocks, `"content":"x"`, `"content":[{"type":"text","text":""}]`), "non-whitespace"},
		row{put(blocks, `"content":"x"`, `"is_error":true,"content":[{"type":"image","source":{"type":"base64",`+
			`"media_type":"image/png","data":"UA=="}}]`),
			"must be type text"},
		row{with(messages, `"temperature":1.5`), "from 0 to 1"},
		row{with(messages, `"temperature":1,"top_p":1`), "cannot both"},
		row{put(messages, "claude-sonnet-4-5", `claude-opus-4-8","temperature":1,"x":"`), "not supported for this model"},
		row{with(messages, `"stop_sequences":[" "]`), "non-whitespace"},
		row{with(messages, `"system":[{"type":"text","text":""}]`), "non-whitespace"},
		row{with(messages, `"thinking":{"type":"enabled","budget_tokens":99}`), "1024"},
		row{with(messages, `"thinking":{"type":"enabled","budget_tokens":2000}`), "greater than thinking"},
		row{with(messages, `"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":"auto"`),
			"expected an object"},
		row{with(messages, `"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a b":{}}}}]`),
			"does not match"},
	)
}
