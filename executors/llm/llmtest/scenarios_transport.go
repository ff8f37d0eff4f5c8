package llmtest

import (
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// broken is the error of an answer that ends too early.
var broken = &llm.ProviderError{Category: llm.CategoryNetwork, Retryable: true}

// malformed is the error of an answer in another form.
var malformed = &llm.ProviderError{Category: llm.CategoryMalformed}

// transportScenarios have usual contents in unusual forms of HTTP, of event streams and of JSON.
func transportScenarios() []scenario {
	text := says("Hel", "lo")
	with := func(change func(a *answer)) []answer {
		a := text
		change(&a)
		return []answer{a}
	}
	replaced := func(old, new string) []answer {
		return []answer{text.rewritten(func(body string) string { return strings.ReplaceAll(body, old, new) })}
	}
	sent := func(before, after string) []answer {
		return []answer{text.rewritten(func(body string) string { return before + body + after })}
	}
	// cut leaves out the event that ends the answer, and all events after it.
	cut := func(_ *Wire, all []Event) []Event {
		for i := range all {
			if isEnd(all[i]) {
				return all[:i]
			}
		}
		return all
	}
	onlyStatus := func(kind, body string) []answer {
		return []answer{{kind: kind, body: func(*Wire) string { return body }}}
	}
	return []scenario{
		{name: "byte by byte", answers: with(func(a *answer) { a.bytewise = true })},
		{name: "line ends of CR and LF", answers: replaced("\n", "\r\n")},
		{name: "a byte order mark", answers: sent("\uFEFF", "")},
		{name: "empty lines before the answer", answers: sent("\n\n\r\n", "")},
		{name: "empty lines after the answer", answers: sent("", "\n\n\n")},
		{name: "comments between events", skip: streamedOnly, answers: replaced("\n\n", "\n\n: keep-alive\n\n")},
		{name: "comments within events", skip: streamedOnly, answers: replaced("data: ", ": keep-alive\ndata: ")},
		{name: "no space after the colon", skip: streamedOnly, answers: replaced("data: ", "data:")},
		{name: "events with ids and retry times", skip: streamedOnly,
			answers: replaced("data: ", "id: 7\nretry: 3000\ndata: ")},
		{name: "events without data", skip: streamedOnly, answers: replaced("\n\n", "\n\nevent: ping\n\ndata: \n\n")},
		{name: "events of an unknown type", skip: streamedOnly, answers: []answer{text.changed(between(
			func(_ *Wire, e Event) []Event {
				news := Object{"type": "vendor.news", "object": "vendor.news", "delta": Object{}}
				return []Event{{Name: "vendor.news", Data: news}}
			}))}},
		{name: "events without their names", skip: streamedOnly, answers: []answer{text.changed(
			func(_ *Wire, all []Event) []Event {
				for i := range all {
					all[i].Name = ""
				}
				return all
			})}},
		{name: "empty deltas", skip: streamedOnly, answers: []answer{text.changed(between(emptyDelta))}},
		{name: "deltas that are null", skip: streamedOnly, answers: []answer{text.changed(between(nullDelta))}},
		{name: "the end twice", skip: streamedOnly, answers: []answer{text.changed(
			func(_ *Wire, all []Event) (out []Event) {
				for _, e := range all {
					out = append(out, e)
					if isEnd(e) {
						out = append(out, e)
					}
				}
				return out
			})}},
		{name: "events after the end", skip: streamedOnly, answers: []answer{text.changed(
			func(_ *Wire, all []Event) []Event { return append(all, all[len(all)-2:]...) })}},
		{name: "no [DONE]", skip: mergeSkips(only(Chat, "the API has no [DONE]"), streamedOnly),
			answers: replaced("data: [DONE]\n\n", "")},
		{name: "a stream without its end", skip: streamedOnly, answers: []answer{text.changed(cut)}, fault: broken},
		{name: "a connection that breaks off", answers: with(func(a *answer) {
			a.broken, a.last = true, func(body string) string { return body[:len(body)/2] }
		}), fault: broken},
		{name: "an event that is cut off", skip: streamedOnly,
			fault:   broken,
			answers: []answer{text.rewritten(func(body string) string { return body[:strings.LastIndex(body, "lo")] })}},
		{name: "an event that is not JSON", skip: streamedOnly, answers: replaced(`"lo"`, `"lo`), fault: malformed},
		{name: "JSON that is cut off", skip: wholeOnly,
			answers: []answer{text.rewritten(func(body string) string { return body[:len(body)-9] })}, fault: malformed},
		{name: "a whole answer to a stream, a stream to a whole one", answers: with(func(a *answer) { a.other = true })},
		{name: "the other form with calls",
			answers: []answer{otherForm(looks(`{"q":"x"}`, `{"q":"y"}`)), otherForm(says("fine"))}},
		{name: "the other form with the expected type", answers: with(func(a *answer) {
			a.other, a.kind = true, "text/event-stream"
		}), skip: map[string]string{"whole": "the stream has this type"}},
		{name: "an answer of type text/plain", answers: with(func(a *answer) { a.kind = "text/plain; charset=utf-8" })},
		{name: "an answer of an unknown type", answers: with(func(a *answer) { a.kind = "application/octet-stream" })},
		{name: "an empty answer", answers: onlyStatus("application/json", ""), fault: malformed},
		{name: "HTML with status 200", fault: malformed,
			answers: onlyStatus("text/html", "<html>Welcome to the hotel</html>")},
		{name: "an object of another kind", answers: onlyStatus("application/json", `{"status":"ok"}`), fault: malformed},
		{name: "null as the answer", answers: onlyStatus("application/json", "null"), fault: malformed},
	}
}

func otherForm(a answer) answer {
	a.other = true
	return a
}

func mergeSkips(all ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, skip := range all {
		for name, why := range skip {
			merged[name] = why
		}
	}
	return merged
}

// emptyDelta returns an event with an empty delta after an event with a text.
func emptyDelta(w *Wire, e Event) []Event {
	again := decoded(e.Data).(Object)
	found := false
	walk(again, func(o Object) {
		for _, name := range []string{"content", "delta", "text"} {
			if text, ok := o[name].(string); ok && text != "" {
				o[name], found = "", true
			}
		}
	})
	if !found || !isDelta(w, e) {
		return nil
	}
	return []Event{{Name: e.Name, Data: again}}
}

// nullDelta returns an event whose delta is null after an event with a text.
func nullDelta(w *Wire, e Event) []Event {
	if !isDelta(w, e) {
		return nil
	}
	again := decoded(e.Data).(Object)
	walk(again, func(o Object) {
		if _, present := o["delta"]; present {
			o["delta"] = nil
		}
	})
	return []Event{{Name: e.Name, Data: again}}
}

// isDelta reports whether an event has a piece of the text.
func isDelta(w *Wire, e Event) bool {
	raw := JSON(e.Data)
	return w == Chat && strings.Contains(raw, `"content":"`) || e.Name == "response.output_text.delta" ||
		e.Name == "content_block_delta"
}
