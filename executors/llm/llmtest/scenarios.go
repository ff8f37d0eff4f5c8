package llmtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// scenarios returns all scenarios of Matrix.
func scenarios() []scenario {
	return slices.Concat(textScenarios(), transportScenarios(), thoughtScenarios(), callScenarios(),
		finishScenarios(), faultScenarios(), requestScenarios())
}

func only(w *Wire, why string) map[string]string {
	all := map[string]string{}
	for _, other := range []*Wire{Chat, Responses, Messages} {
		if other != w {
			all[other.Name] = why
		}
	}
	return all
}

var wholeOnly = map[string]string{"streamed": "only a whole answer can have this form"}

var streamedOnly = map[string]string{"whole": "only a stream can have this form"}

// says is an answer with a text in chunks.
func says(texts ...string) answer { return answer{Exchange: say("", texts...)} }

// looks is an answer that calls look once with each of the arguments.
func looks(all ...string) answer {
	e := Exchange{Response: llm.Response{Finish: llm.FinishToolCalls, Usage: usage(30, 9)}}
	for i, a := range all {
		id := fmt.Sprintf("call_%d", i+1)
		e.Response.ToolCalls = append(e.Response.ToolCalls, llm.ToolCall{ID: id, Name: "look", Arguments: a})
		e.Chunks = append(e.Chunks, call(i, id, "look"), arguments(i, a[:len(a)/2]), arguments(i, a[len(a)/2:]))
	}
	return answer{Exchange: e}
}

// lookIn is an answer that calls look with arguments in pieces.
func lookIn(all ...string) answer {
	a := looks(strings.Join(all, ""))
	a.Chunks = a.Chunks[:1]
	for _, piece := range all {
		a.Chunks = append(a.Chunks, arguments(0, piece))
	}
	return a
}

// saying is the response of says.
func saying(text string) []llm.Response {
	return []llm.Response{{Text: text, Finish: llm.FinishStop, Usage: usage(11, 7)}}
}

func (a answer) edited(edit func(w *Wire, o Object)) answer {
	a.edit = edit
	return a
}

func (a answer) changed(change func(w *Wire, all []Event) []Event) answer {
	a.change = change
	return a
}

func (a answer) rewritten(last func(body string) string) answer {
	a.last = last
	return a
}

// finished sets the member that has the reason of the end.
func (a answer) finished(chat, status, stop any) answer {
	return a.edited(func(w *Wire, o Object) {
		walk(o, func(o Object) {
			switch {
			case w == Chat && o["finish_reason"] != nil:
				o["finish_reason"] = chat
			case w == Responses && o["object"] == "response" && o["status"] != "in_progress":
				o["status"] = status
			case w == Messages && o["stop_reason"] != nil:
				o["stop_reason"] = stop
			}
		})
	})
}

// walk visits an object and all objects in it.
func walk(value any, visit func(o Object)) {
	switch v := value.(type) {
	case Object:
		visit(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "input" { // the arguments of a call
				walk(v[name], visit)
			}
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

// onCalls returns an edit of the tool calls.
func onCalls(edit func(w *Wire, call Object)) func(w *Wire, o Object) {
	return func(w *Wire, o Object) {
		walk(o, func(o Object) {
			_, function := o["function"].(Object)
			if w == Chat && function || w == Responses && o["type"] == "function_call" ||
				w == Messages && o["type"] == "tool_use" {
				edit(w, o)
			}
		})
	}
}

// between inserts events after each event except the last one.
func between(more func(w *Wire, e Event) []Event) func(w *Wire, all []Event) []Event {
	return func(w *Wire, all []Event) (out []Event) {
		for i, e := range all {
			out = append(out, e)
			if i < len(all)-1 {
				out = append(out, more(w, e)...)
			}
		}
		return out
	}
}

// isEnd reports whether an event ends the answer, except for the usage and [DONE].
func isEnd(e Event) bool {
	o, _ := e.Data.(Object)
	choices, _ := o["choices"].([]any)
	if len(choices) > 0 {
		return choices[0].(Object)["finish_reason"] != nil
	}
	return e.Name == "message_delta" || slices.Contains([]string{"response.completed", "response.incomplete"}, e.Name)
}

func textScenarios() []scenario {
	const kinds = "naïve 日本語 🙂\n\n\"quoted\" \\ <b>&amp;</b>\t\u2028 end"
	return []scenario{
		{name: "a text", answers: []answer{says("Hel", "lo, ", "wor", "ld")}},
		{name: "a text of all kinds", answers: []answer{says(strings.SplitAfter(kinds, " ")...)}},
		{name: "an answer without content",
			answers: []answer{{Exchange: Exchange{Response: llm.Response{Finish: llm.FinishStop, Usage: usage(3, 0)}}}}},
		{name: "unknown members in all objects", answers: []answer{says("fi", "ne").edited(unknownMembers)}},
		{name: "unknown members beside calls", answers: []answer{looks(`{"q":"x"}`).edited(unknownMembers), says("fine")}},
		{name: "null in place of missing members", answers: []answer{says("fi", "ne").edited(nullMembers)}},
		{name: "null members beside calls", answers: []answer{looks(`{"q":"x"}`).edited(nullMembers), says("fine")}},
		{name: "a list as content", skip: only(Chat, "the content is always a list"),
			answers: []answer{says("fi", "ne").edited(func(w *Wire, o Object) {
				walk(o, func(o Object) {
					if text, ok := o["content"].(string); ok {
						o["content"] = []any{Object{"type": "text", "text": text}}
					}
				})
			})}},
		{name: "a text as content of a whole answer",
			skip:    mergeSkips(only(Messages, "this is the usual form, or no server does this"), wholeOnly),
			answers: []answer{says("fi", "ne").edited(func(w *Wire, o Object) { o["content"] = "fine" })}},
		{name: "a huge delta", answers: []answer{says("start ", strings.Repeat("0123456789abcdef", 64<<10), " end")}},
		{name: "thousands of deltas", answers: []answer{says(slices.Repeat([]string{"word "}, 2000)...)}},
		{name: "half surrogates in two deltas", answers: []answer{says("a HIGH", "LOW b").rewritten(halves)},
			want: saying("a 🙂 b")},
		{name: "an escaped surrogate pair", answers: []answer{says("a HIGHLOW", " b").rewritten(halves)},
			want: saying("a 🙂 b")},
		{name: "half of a surrogate pair", answers: []answer{says("a HIGH", " b").rewritten(halves)},
			want: saying("a \uFFFD b")},
		{name: "half surrogates in arguments",
			answers: []answer{lookIn(`{"q":"HIGH`, `LOW"}`).rewritten(halves), says("fine")},
			want: []llm.Response{{Finish: llm.FinishToolCalls, Usage: usage(30, 9),
				ToolCalls: []llm.ToolCall{{Name: "look", Arguments: `{"q":"🙂"}`}}}}},
		{name: "half of a surrogate pair in arguments",
			answers: []answer{lookIn(`{"q":"HIGH`, `"}`).rewritten(halves), says("fine")},
			want: []llm.Response{{Finish: llm.FinishToolCalls, Usage: usage(30, 9),
				ToolCalls: []llm.ToolCall{{Name: "look", Arguments: "{\"q\":\"\uFFFD\"}"}}}}},
		{name: "numbers as strings", answers: []answer{looks(`{"q":"x"}`, `{"q":"y"}`).edited(func(w *Wire, o Object) {
			walk(o, func(o Object) {
				for name, v := range o {
					if n, ok := v.(float64); ok {
						o[name] = fmt.Sprint(int(n))
					}
				}
			})
		}), says("fine")}},
		{name: "numbers with a fraction",
			answers: []answer{looks(`{"q":"x"}`, `{"q":"y"}`).rewritten(func(body string) string {
				return regexp.MustCompile(`":(\d+)([,}])`).ReplaceAllString(body, `":$1.0$2`)
			}), says("fine")}},
		{name: "no usage", answers: []answer{says("fi", "ne").edited(func(w *Wire, o Object) {
			walk(o, func(o Object) { delete(o, "usage") })
		})}, want: []llm.Response{{Text: "fine", Finish: llm.FinishStop}}},
		{name: "usage in the last choice", skip: only(Chat, "the API has no choices"),
			answers: []answer{says("fi", "ne").edited(func(w *Wire, o Object) {
				choices, _ := o["choices"].([]any)
				if len(choices) > 0 && choices[0].(Object)["finish_reason"] != nil {
					choices[0].(Object)["usage"] = chatUsage(usage(11, 7))
				}
				delete(o, "usage")
			})}},
		{name: "usage in each event", skip: only(Chat, "the API has one place for usage"),
			answers: []answer{says("fi", "ne").edited(func(w *Wire, o Object) { o["usage"] = chatUsage(usage(11, 7)) })}},
	}
}

func unknownMembers(_ *Wire, o Object) {
	walk(o, func(o Object) {
		if o["x_vendor"] == nil && !isNews(o) {
			o["x_vendor"] = Object{"news": []any{1.0, nil, "a"}}
		}
	})
}

func isNews(o Object) bool { _, ok := o["news"]; return ok }

// nullMembers adds the members that servers set to null.
func nullMembers(w *Wire, o Object) {
	walk(o, func(o Object) {
		names := []string{"x_vendor", "annotations", "citations", "cache_control"}
		if w == Chat {
			names = append(names, "reasoning_content", "audio", "refusal", "function_call", "content", "tool_calls", "error")
		}
		for _, name := range names {
			if _, present := o[name]; !present {
				o[name] = nil
			}
		}
	})
}

// halves replaces HIGH and LOW by the escaped halves of a surrogate pair.
func halves(body string) string {
	return strings.NewReplacer("HIGH", `\ud83d`, "LOW", `\ude42`).Replace(body)
}
