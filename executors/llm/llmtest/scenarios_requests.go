package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// aPNG is an image of one pixel.
var aPNG, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" +
	"AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

// requestScenarios send requests that a careless runtime would send in a form that the vendor
// refuses.
func requestScenarios() []scenario {
	temperature, topP := 0.3, 0.9
	fine := []answer{says("fi", "ne")}
	history := func(all ...llm.Message) func(a *asked) {
		return func(a *asked) { a.messages = append(all, user("and now?")) }
	}
	assistant := func(text string, calls ...llm.ToolCall) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Text: text, ToolCalls: calls}
	}
	call := func(id, arguments string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "look", Arguments: arguments}
	}
	result := func(id, text string, failed bool, files ...llm.File) llm.Message {
		return llm.Message{Role: llm.RoleTool,
			Results: []llm.ToolResult{{CallID: id, Name: "look", Text: text, IsError: failed, Files: files}}}
	}
	image := llm.File{Name: "a.png", MediaType: "image/png", Data: aPNG}
	return []scenario{
		{name: "sampling of a model without reasoning", answers: fine, sent: []string{`"temperature":0.3`},
			ask: func(a *asked) { a.definition.Temperature, a.definition.TopP = &temperature, &topP }},
		{name: "sampling of a reasoning model", reasons: true, answers: fine,
			ask: func(a *asked) { a.definition.Temperature, a.definition.TopP = &temperature, &topP }},
		{name: "deterministic sampling of a reasoning model", reasons: true, answers: fine,
			ask: func(a *asked) { a.options.Deterministic = true }},
		{name: "the limit of tokens of a reasoning model", reasons: true, answers: fine, sent: []string{`321`},
			ask: func(a *asked) { a.definition.MaxTokens = 321 }},
		{name: "no limit of tokens", answers: fine, ask: func(a *asked) { a.definition.MaxTokens = 0 }},
		{name: "no limit of tokens of a reasoning model", reasons: true, answers: fine,
			ask: func(a *asked) { a.definition.MaxTokens = 0 }},
		{name: "a limit by the budget", reasons: true, answers: fine,
			ask: func(a *asked) { a.definition.MaxTokens, a.options.Budget.Tokens = 0, 9000 }},
		{name: "no instructions", answers: fine, ask: func(a *asked) { a.definition.Instructions = "" }},
		{name: "blank instructions", answers: fine, ask: func(a *asked) { a.definition.Instructions = " \n" }},
		{name: "instructions in their own field", answers: fine, sent: []string{"You are a test."},
			ask: func(a *asked) { a.options.ResponsesUseInstructions = true }},
		{name: "no tools", answers: fine, never: []string{`"tools"`, `"tool_choice"`},
			ask: func(a *asked) { a.definition.Tools = nil }},
		{name: "tool_choice none", answers: fine, sent: []string{`none`},
			ask: func(a *asked) { a.options.ToolChoice = llm.ToolsNone }},
		{name: "tool_choice required", answers: []answer{looks(`{"q":"x"}`), says("fine")},
			ask: func(a *asked) { a.options.ToolChoice = llm.ToolsRequired }},
		{name: "a tool without parameters", answers: fine,
			ask: func(a *asked) { a.definition.Tools[0].Parameters = json.RawMessage(`{}`) }},
		{name: "a tool without a description", answers: fine,
			ask: func(a *asked) { a.definition.Tools[0].Description = "" }},
		{name: "a tool with a name of 64 characters", answers: fine,
			ask: func(a *asked) { a.definition.Tools[0].Name = strings.Repeat("Az_-", 16) }},
		{name: "an answer schema", answers: []answer{says(`{"a":`, `1}`)}, ask: func(a *asked) {
			a.definition.OutputSchema = json.RawMessage(
				`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`)
		}},
		{name: "an answer schema with open members", answers: []answer{says(`{"a":`, `1}`)}, ask: func(a *asked) {
			a.definition.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
		}},
		{name: "a lax answer schema", answers: []answer{says(`{"a":`, `1}`)}, ask: func(a *asked) {
			a.options.Lax = true
			a.definition.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
		}},
		{name: "metadata, trace and idempotency key", answers: fine, ask: func(a *asked) {
			a.options.Metadata = map[string]string{"user_id": "u1"}
			a.options.IdempotencyKey, a.options.TraceID = "key-1", "trace-1"
		}},
		{name: "a user message of invalid UTF-8", answers: fine, sent: []string{"caf"},
			ask: func(a *asked) { a.messages = []llm.Message{user("caf\xe9 \xed\xa0\xbd")} }},
		{name: "a blank user message between others", answers: fine,
			ask: func(a *asked) { a.messages = []llm.Message{user("one"), user(" \n"), user("two")} }},
		{name: "several user messages", answers: fine, sent: []string{"one", "two", "three"},
			ask: func(a *asked) { a.messages = []llm.Message{user("one"), user("two"), user("three")} }},
		{name: "a history that begins with the model", answers: fine,
			ask: func(a *asked) { a.messages = []llm.Message{assistant("Welcome."), user("hello")} }},
		{name: "an answer without text in the history", answers: fine, ask: history(user("one"), assistant(""))},
		{name: "a blank answer in the history", answers: fine, ask: history(user("one"), assistant(" \n"))},
		{name: "calls and results in the history", answers: fine, sent: []string{"seen"},
			ask: history(user("one"), assistant("Looking.", call("c1", `{"q":"x"}`)), result("c1", "seen", false))},
		{name: "calls with invalid arguments in the history", answers: fine,
			ask: history(user("one"), assistant("", call("c1", `{"q":`)), result("c1", "no JSON", true))},
		{name: "calls with half surrogates in the history", answers: fine,
			ask: history(user("one"), assistant("", call("c1", `{"q":"\ud83d"}`)), result("c1", "seen", false))},
		{name: "an empty result", answers: fine,
			ask: history(user("one"), assistant("", call("c1", "{}")), result("c1", "", false))},
		{name: "a blank result", answers: fine,
			ask: history(user("one"), assistant("", call("c1", "{}")), result("c1", " \n", false))},
		{name: "an error as a result", answers: fine, sent: []string{"it is dark"},
			ask: history(user("one"), assistant("", call("c1", "{}")), result("c1", "it is dark", true))},
		{name: "a result of invalid UTF-8", answers: fine,
			ask: history(user("one"), assistant("", call("c1", "{}")), result("c1", "caf\xe9", false))},
		{name: "an image of the user", answers: fine, sent: []string{"iVBORw0KGgo"},
			ask: func(a *asked) {
				a.messages = []llm.Message{{Role: llm.RoleUser, Text: "see", Files: []llm.File{image}}}
			}},
		{name: "an image without a text", answers: fine, sent: []string{"iVBORw0KGgo"},
			ask: func(a *asked) { a.messages = []llm.Message{{Role: llm.RoleUser, Files: []llm.File{image}}} }},
		{name: "an image as a result", answers: fine, sent: []string{"iVBORw0KGgo"},
			ask: history(user("one"), assistant("", call("c1", "{}")), result("c1", "", false, image))},
		{name: "an image in the result of an error", answers: fine,
			ask: history(user("one"), assistant("", call("c1", "{}")), result("c1", "oh", true, image))},
		{name: "a history for Mistral", skip: only(Chat, "Mistral has chat completions"), rules: Rules{Mistral: true},
			answers: fine, ask: func(a *asked) {
				a.definition.Model = "mistral-large-latest"
				a.messages = []llm.Message{user("one"), assistant("", call("call_1", "{}")), result("call_1", "", false, image)}
			}},
		{name: "a reasoning model behind a gateway", answers: fine, sent: []string{"321"},
			skip: map[string]string{Messages.Name: "OpenAI has no such API"},
			ask:  func(a *asked) { a.definition.Model, a.definition.MaxTokens = "openai/gpt-5-mini", 321 }},
		{name: "call ids of another vendor", answers: fine,
			ask: history(user("one"), assistant("", call("functions.look:0", "{}")), result("functions.look:0", "seen", false))},
		{name: "call ids that are long", answers: fine, ask: history(user("one"),
			assistant("", call(strings.Repeat("0123456789abcdef", 6), "{}")),
			result(strings.Repeat("0123456789abcdef", 6), "seen", false))},
	}
}
