package llmtest

import (
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// thinks adds a thought before the content of an answer.
func (a answer) thinks(pieces ...string) answer {
	a.Response.Reasoning = strings.Join(pieces, "")
	var all []llm.Chunk
	for _, p := range pieces {
		all = append(all, llm.Chunk{Reasoning: p})
	}
	a.Chunks = append(all, a.Chunks...)
	return a
}

const notMember = "the API has no such member"

// thoughtScenarios have reasoning, and data that only the vendor can read.
func thoughtScenarios() []scenario {
	const thought = "I need look."
	look := llm.Response{Reasoning: thought, Finish: llm.FinishToolCalls, Usage: usage(30, 9),
		ToolCalls: []llm.ToolCall{{Name: "look", Arguments: `{"q":"x"}`}}}
	reading := func(reasoning, text string) []llm.Response {
		return []llm.Response{{Reasoning: reasoning, Text: text, Finish: llm.FinishStop, Usage: usage(11, 7)}}
	}
	encrypted := looks(`{"q":"x"}`).thinks("I need ", "look.")
	encrypted.Opaque = thought // the vendor of Responses compares the encrypted thought
	renamed := func(name string) func(w *Wire, o Object) {
		return func(_ *Wire, o Object) {
			walk(o, func(o Object) {
				if text, ok := o["reasoning_content"]; ok {
					delete(o, "reasoning_content")
					o[name] = text
				}
			})
		}
	}
	signed := onCalls(func(_ *Wire, call Object) {
		if call["id"] != nil || call["call_id"] != nil { // only the first delta of a call has it
			call["extra_content"] = Object{"google": Object{"thought_signature": "SIG-1"}}
		}
	})
	return []scenario{
		{name: "a thought beside a text", answers: []answer{says("fi", "ne").thinks("First ", "this.")}},
		{name: "a thought that each call must return", reasons: true, rules: Rules{Reasoning: thought},
			answers: []answer{encrypted, says("fine")}, want: []llm.Response{look}},
		{name: "thoughts of two rounds", reasons: true, rules: Rules{Reasoning: thought},
			answers: []answer{encrypted, encrypted, says("fine")}, want: []llm.Response{look, look}},
		{name: "thought signatures of calls", rules: Rules{Signature: "SIG-1"},
			answers: []answer{looks(`{"q":"x"}`).edited(signed), says("fine")}},
		{name: "thought signatures of parallel calls", rules: Rules{Signature: "SIG-1"},
			answers: []answer{looks(`{"q":"x"}`, `{"q":"y"}`).edited(signed), says("fine")}},
		{name: "thought signatures of calls with broken arguments", rules: Rules{Signature: "SIG-1"},
			answers: []answer{lookIn(`{"q":`, `"x"`).edited(signed), says("fine")},
			skip:    map[string]string{Messages.Name + " whole": "the input of a whole answer is always JSON"}},
		{name: "reasoning in the member reasoning", skip: only(Chat, notMember),
			answers: []answer{says("fine").thinks("First ", "this.").edited(renamed("reasoning"))}},
		{name: "reasoning in the member thinking", skip: only(Chat, notMember),
			answers: []answer{says("fine").thinks("First ", "this.").edited(renamed("thinking"))}},
		{name: "a redacted thought", skip: only(Messages, "the API has no such block"), sent: []string{"c2VjcmV0"},
			answers: []answer{looks(`{"q":"x"}`).thinks("First ", "this.").edited(func(_ *Wire, o Object) {
				walk(o, func(o Object) {
					switch o["type"] {
					case "thinking":
						delete(o, "thinking")
						delete(o, "signature")
						o["type"], o["data"] = "redacted_thinking", "c2VjcmV0"
					case "thinking_delta", "signature_delta":
						o["type"] = "unknown_delta"
						delete(o, "thinking")
						delete(o, "signature")
					}
				})
			}), says("fine")},
			want: []llm.Response{{Finish: llm.FinishToolCalls, Usage: usage(30, 9),
				ToolCalls: []llm.ToolCall{{Name: "look", Arguments: `{"q":"x"}`}}}}},
		{name: "a think block", answers: []answer{says("<think>\nno {\n</think>\n\n", "Yes.")},
			want: reading("\nno {\n", "Yes.")},
		{name: "a think block in pieces", answers: []answer{says("<thi", "nk>no</th", "ink>", "\n", "\nYes.")},
			want: reading("no", "Yes.")},
		{name: "an empty think block", answers: []answer{says("<think>\n\n</think>\n\nYes.")}, want: reading("\n\n", "Yes.")},
		{name: "a think block without an end", answers: []answer{says("<think>no", " no")}, want: reading("no no", "")},
		{name: "a think block later in the text", answers: []answer{says("Write <think>", " to think.")}},
		{name: "a think block before a call",
			answers: []answer{thinkCall(), says("fine")},
			want: []llm.Response{{Reasoning: "no", Finish: llm.FinishToolCalls, Usage: usage(30, 9),
				ToolCalls: []llm.ToolCall{{Name: "look", Arguments: `{"q":"x"}`}}}}},
	}
}

func thinkCall() answer {
	a := looks(`{"q":"x"}`)
	a.Response.Text = "<think>no</think>"
	a.Chunks = append(pieces("<think>", "no</think>"), a.Chunks...)
	return a
}
