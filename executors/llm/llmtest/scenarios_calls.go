package llmtest

import (
	"fmt"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// callScenarios have calls of tools, and their results in the next request.
func callScenarios() []scenario {
	one := func(edit func(w *Wire, call Object)) []answer {
		return []answer{looks(`{"q":"x"}`).edited(onCalls(edit)), says("fine")}
	}
	two := func(edit func(w *Wire, call Object)) []answer {
		return []answer{looks(`{"q":"x"}`, `{"q":"y"}`).edited(onCalls(edit)), says("fine")}
	}
	withoutID := func(w *Wire, call Object) {
		delete(call, "id")
		delete(call, "call_id")
	}
	called := func(arguments string) []llm.Response {
		return []llm.Response{{Finish: llm.FinishToolCalls, Usage: usage(30, 9),
			ToolCalls: []llm.ToolCall{{Name: "look", Arguments: arguments}}}}
	}
	texts := func(text string) []answer {
		return []answer{lookIn(text[:len(text)/2], text[len(text)/2:]), says("fine")}
	}
	notText := map[string]string{Messages.Name + " whole": "the input of a whole answer is always JSON"}
	var many []string
	for i := range 64 {
		many = append(many, fmt.Sprintf(`{"q":"%d"}`, i))
	}
	mixed := looks(`{"q":"x"}`, `{"q":"y"}`)
	mixed.Response.Text = "Let me look."
	mixed.Chunks = append(pieces("Let me ", "look."), mixed.Chunks...)
	return []scenario{
		{name: "a call", answers: []answer{looks(`{"q":"x"}`), says("fine")}, sent: []string{"seen"}},
		{name: "two calls", answers: []answer{looks(`{"q":"x"}`, `{"q":"y"}`), says("fine")}},
		{name: "64 calls", answers: []answer{looks(many...), says("fine")}},
		{name: "a text before calls", answers: []answer{mixed, says("fine")}, sent: []string{"Let me look."}},
		{name: "calls in two rounds with the same ids",
			answers: []answer{looks(`{"q":"x"}`, `{"q":"y"}`), looks(`{"q":"x"}`, `{"q":"y"}`), says("fine")}},
		{name: "a call without arguments", answers: texts("")},
		{name: "a call with blank arguments", answers: texts("  "), skip: notText, want: called("  ")},
		{name: "a call with null as arguments", answers: texts("null"), skip: notText, want: called("null")},
		{name: "a call with arguments that are not JSON",
			answers: texts(`{"q": "x"`), skip: notText, want: called(`{"q": "x"`)},
		{name: "a call with a list as arguments", answers: texts(`["x"]`), want: called(`["x"]`)},
		{name: "a call with a text as arguments", answers: texts(`"x"`), skip: notText, want: called(`"x"`)},
		{name: "a call with an object as arguments", answers: one(func(w *Wire, call Object) {
			for _, o := range []any{call, call["function"]} {
				if o, ok := o.(Object); ok && strings.HasPrefix(fmt.Sprint(o["arguments"]), "{") {
					o["arguments"] = Object{"q": "x"}
				}
			}
		}), skip: map[string]string{Messages.Name: "the input is always an object",
			"streamed": "pieces of arguments are texts"}},
		{name: "a call with its input as a text", answers: one(func(w *Wire, call Object) {
			if call["input"] != nil {
				call["input"] = `{"q":"x"}`
			}
		}), skip: mergeSkips(only(Messages, "the arguments are always a text"),
			map[string]string{"streamed": "the input has deltas"})},
		{name: "a call whole in one event", skip: streamedOnly,
			answers: []answer{{Exchange: wholeCall(looks(`{"q":"x"}`).Exchange)}, says("fine")}},
		{name: "a call without an id", answers: one(withoutID)},
		{name: "calls without ids", answers: two(withoutID)},
		{name: "calls with empty ids", answers: two(func(w *Wire, call Object) {
			for _, name := range []string{"id", "call_id"} {
				if call[name] != nil {
					call[name] = ""
				}
			}
		})},
		{name: "calls with the same id", answers: two(func(w *Wire, call Object) {
			for _, name := range []string{"id", "call_id"} {
				if call[name] != nil {
					call[name] = "call_1"
				}
			}
		})},
		{name: "calls without an index", skip: mergeSkips(only(Chat, "calls have no index"), streamedOnly),
			answers: two(func(_ *Wire, call Object) { delete(call, "index") })},
		{name: "calls with the same index", skip: streamedOnly,
			answers: []answer{looks(`{"q":"x"}`, `{"q":"y"}`).edited(func(w *Wire, o Object) {
				walk(o, func(o Object) {
					for _, name := range []string{"index", "output_index"} {
						if o[name] != nil {
							o[name] = 0
						}
					}
				})
			}), says("fine")}},
		{name: "the name of a call in each delta", skip: mergeSkips(only(Chat, "deltas have no name"), streamedOnly),
			answers: two(func(_ *Wire, call Object) { call["function"].(Object)["name"] = "look" })},
		{name: "an empty name in later deltas", skip: mergeSkips(only(Chat, "deltas have no name"), streamedOnly),
			answers: two(func(_ *Wire, call Object) {
				if f := call["function"].(Object); f["name"] == nil {
					f["name"], call["id"], call["type"] = "", "", ""
				}
			})},
		{name: "calls without a type", skip: only(Chat, "the type selects the form"),
			answers: two(func(_ *Wire, call Object) { delete(call, "type") })},
		{name: "calls with the reason stop", answers: []answer{
			looks(`{"q":"x"}`).finished("stop", "completed", "end_turn"), says("fine")}},
		{name: "a function_call", skip: only(Chat, "the API never had function_call"), sent: []string{`"function_call":`},
			answers: []answer{looks(`{"q":"x"}`).edited(func(_ *Wire, o Object) {
				walk(o, func(o Object) {
					if calls, ok := o["tool_calls"].([]any); ok {
						delete(o, "tool_calls")
						o["function_call"] = calls[0].(Object)["function"]
					}
					if o["finish_reason"] == "tool_calls" {
						o["finish_reason"] = "function_call"
					}
				})
			}), says("fine")}},
		{name: "a call that the length cuts off", answers: []answer{cutCall(), says("fine")},
			skip: notText, want: []llm.Response{{Finish: llm.FinishLength, Usage: usage(30, 9),
				ToolCalls: []llm.ToolCall{{Name: "look", Arguments: `{"q": "cut he`}}}}},
	}
}

// wholeCall has the arguments of a call in its first chunk.
func wholeCall(e Exchange) Exchange {
	e.Chunks = []llm.Chunk{e.Chunks[0], arguments(0, e.Response.ToolCalls[0].Arguments)}
	return e
}

func cutCall() answer {
	a := lookIn(`{"q": "cut`, ` he`)
	a.Response.Finish = llm.FinishLength
	return a
}
