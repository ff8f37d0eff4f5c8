package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/scripted"
)

// load returns a provider with one script, the model m.
func load(t *testing.T, text string) *scripted.Provider {
	t.Helper()
	p, err := scripted.New(&scripted.Options{FS: fstest.MapFS{"m.yaml": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

func said(text string) llm.Message { return llm.Message{Role: llm.RoleAssistant, Text: text} }

// called returns a tool call with its result.
func called(tool, text string, isError bool) []llm.Message {
	return []llm.Message{
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: tool}}},
		{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: "1", Name: tool, Text: text, IsError: isError}}},
	}
}

func ask(messages ...llm.Message) *llm.Request { return &llm.Request{Model: "m", Messages: messages} }

// outcome returns the result of a call in one line.
func outcome(p llm.Provider, req *llm.Request) string {
	r, err := p.Call(context.Background(), req, nil)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case r.Refusal != "":
		return "refusal: " + r.Refusal
	}
	line := r.Text
	for _, c := range r.ToolCalls {
		line += " " + c.ID + " " + c.Name + c.Arguments
	}
	return strings.TrimSpace(line)
}

const conditions = `
turns:
  - {when: {tool: refund, failed: true}, text: it failed}
  - {when: {tool: refund, result: "/^done [0-9]+$/"}, text: "refunded: ${result.refund}"}
  - {when: {result: later}, text: a tool said later}
  - {when: {tool: pay}, text: "paid ${result.pay.n}"}
  - {when: {tool: list}, text: "listed ${result.list[0].n}"}
  - {when: {said: goodbye}, text: we are done}
  - {when: {instructions: /(?i)planner/, step: 1}, text: a plan}
  - {when: {offers: look, schema: false}, tool_calls: [{name: look, arguments: {q: "${last}", n: "${params.n}"}}]}
  - {when: {schema: true}, json: {n: "${params.items[0].n}", of: "n is ${params.items[0].n}", all: "${params.items}"}}
  - {when: {params: {case.id: 7, case.name: knee}}, text: "case ${params.case.id} of ${params.case}"}
  - {when: {last: bad}, refusal: I will not.}
  - {when: {last: hello}, unless: {last: world}, text: "$${hello} in step ${step}"}
`

// The first turn whose conditions all hold answers.
func TestConditions(t *testing.T) {
	p := load(t, conditions)
	look := []llm.ToolSpec{{Name: "look"}}
	output := &llm.OutputSchema{Name: "answer"}
	for _, c := range []struct {
		name string
		req  *llm.Request
		want string
	}{
		{"text", ask(user("hello")), "${hello} in step 1"},
		{"refusal", ask(user("something bad")), "refusal: I will not."},
		{"result", ask(append([]llm.Message{user("hello")}, called("refund", "done 12", false)...)...), "refunded: done 12"},
		{"result among words",
			ask(append([]llm.Message{user("x")}, called("pay", "[changed to {\"n\":1}]\n{\"n\":2} [context: 3]", false)...)...),
			"paid 2"},
		{"result that is a list",
			ask(append([]llm.Message{user("x")}, called("list", "[{\"n\":1}]\n\n[context: 3]", false)...)...), "listed 1"},
		{"result of another form", ask(append([]llm.Message{user("hello")}, called("refund", "done", false)...)...),
			"${hello} in step 2"},
		{"result that failed", ask(append([]llm.Message{user("hello")}, called("refund", "done 12", true)...)...),
			"it failed"},
		{"result of any tool", ask(append([]llm.Message{user("hello")}, called("pay", "later", false)...)...),
			"a tool said later"},
		{"result of long ago",
			ask(append(append([]llm.Message{user("x")}, called("refund", "done 12", false)...), said("so"), user("hello"))...),
			"${hello} in step 1"},
		{"said", ask(user("hello"), said("goodbye then"), user("hello")), "we are done"},
		{"instructions",
			&llm.Request{Model: "m", Instructions: "You are the Planner.", Messages: []llm.Message{user("hello")}}, "a plan"},
		{"tool", &llm.Request{Model: "m", Tools: look, Messages: []llm.Message{user(`see {"n": 1.50}`)}},
			`call_1 look{"q":"see {\"n\": 1.50}","n":1.50}`},
		{"tool again",
			&llm.Request{Model: "m", Tools: look, Messages: append(called("look", "nothing", false), user(`{"n":[]}`))},
			`call_2 look{"q":"{\"n\":[]}","n":[]}`},
		{"schema", &llm.Request{Model: "m", Tools: look, Output: output,
			Messages: []llm.Message{user(`{"items":[{"n":3}]}`)}}, `{"n":3,"of":"n is 3","all":[{"n":3}]}`},
		{"params", ask(user(`look: {"case": {"id": 7, "name": "knee"}} and more`)), `case 7 of {"id":7,"name":"knee"}`},
		{"params as they were said",
			ask(user(`<message><data>{"case":{"id":7,"name":"knee","of":"&lt;A&amp;B&gt;"}}</data></message>`)),
			`case 7 of {"id":7,"name":"knee","of":"<A&B>"}`},
		{"params of another text", ask(user(`{"case":{"name":"knee"}} {"case":{"id":7}}`), said("so"), user("that is all")),
			`case 7 of {"id":7}`},
		{"unless", ask(user("hello world")),
			`error: scripted: invalid_request: no turn of m.yaml matches the request: step 1; last: "hello world"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcome(p, c.req); got != c.want {
				t.Errorf("%s: expected %s", got, c.want)
			}
		})
	}
}

// A request without an answer has an error that names the reason and is not retryable.
func TestRefused(t *testing.T) {
	p := load(t, `
turns:
  - {when: {last: param}, text: "${params.x}"}
  - {when: {last: result}, json: ["${result.look.x}"]}
  - {when: {last: hello}, text: hello}
`)
	other := ask(user("hello"))
	other.Model = "none"
	for _, c := range []struct {
		req  *llm.Request
		want error
		says string
	}{
		{other, scripted.ErrNoScript, "unknown script none; available: m"},
		{ask(user("good day")), scripted.ErrNoTurn, "no turn of m.yaml matches the request: step 1; last: \"good day\""},
		{ask(user("param")), scripted.ErrNoValue,
			"turns[0] of m.yaml: the request has no value for ${params.x}: step 1"},
		{ask(append(called("look", `{"y":1}`, false), user("result"))...), scripted.ErrNoValue, "${result.look.x}"},
	} {
		_, err := p.Call(t.Context(), c.req, nil)
		var pe *llm.ProviderError
		if !errors.As(err, &pe) || !errors.Is(err, c.want) || pe.Retryable || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: expected %v, %q", err, c.want, c.says)
		}
	}
}

// A turn with once answers once, also across processes.
func TestOnce(t *testing.T) {
	const text = `
turns:
  - {once: true, text: "first to ${last}"}
  - {once: true, tool_calls: [{name: look}]}
  - {once: true, json: {n: "${params.n}", done: false}}
  - {text: that is all}
`
	want := []string{`first to {"n":5}`, "call_1 look{}", `{"n":5,"done":false}`, "that is all", "that is all"}
	for _, marked := range []bool{true, false} {
		messages := []llm.Message{user(`{"n":5}`)}
		for i, line := range want {
			p := load(t, text) // a new process
			if got := outcome(p, ask(messages...)); got != line {
				t.Fatalf("marked %t, answer %d is %s: expected %s", marked, i, got, line)
			}
			r, err := p.Call(t.Context(), ask(messages...), nil)
			if err != nil {
				t.Fatal(err)
			}
			m := r.Message()
			if !marked {
				m.Opaque = nil
			}
			messages = append(messages, m)
		}
	}
}

// The names that two categories had in earlier scripts are accepted.
func TestEarlierCategories(t *testing.T) {
	for written, want := range map[string]llm.Category{
		"authentication": llm.CategoryAuthentication, "server": llm.CategoryServer, "server_error": llm.CategoryServer,
	} {
		_, err := load(t, "turns: [{error: {category: "+written+"}}]").Call(t.Context(), ask(user("hi")), nil)
		var e *llm.ProviderError
		if !errors.As(err, &e) || e.Category != want {
			t.Errorf("%s: %v", written, err)
		}
	}
}

// An error with once is returned once for the same request, and once for another one.
func TestOnceError(t *testing.T) {
	p := load(t, `
turns:
  - {once: true, error: {status: 503, retry_after: 2s, code: overloaded, message: not now}}
  - {once: true, break_after: 1, text: half a word}
  - {text: at last}
`)
	for _, question := range []string{"one", "two"} {
		req := ask(user(question))
		_, err := p.Call(t.Context(), req, nil)
		want := &llm.ProviderError{Provider: "scripted", Category: llm.CategoryServer, Status: 503, Code: "overloaded",
			Retryable: true, RetryAfter: 2 * time.Second, Message: "not now"}
		if !reflect.DeepEqual(err, error(want)) {
			t.Errorf("%#v: expected %#v", err, want)
		}
		req.IdempotencyKey, req.TraceID = "another", "another" // it is the same request
		var heard []llm.Chunk
		_, err = p.Call(t.Context(), req, func(c llm.Chunk) error { heard = append(heard, c); return nil })
		var pe *llm.ProviderError
		if !errors.As(err, &pe) || pe.Category != llm.CategoryNetwork || !pe.Retryable ||
			!reflect.DeepEqual(heard, []llm.Chunk{{Text: "half"}}) {
			t.Errorf("%v after %v", err, heard)
		}
		if got := outcome(p, req); got != "at last" {
			t.Errorf("the third answer is %s", got)
		}
	}
}

// Pauses have the duration in the script, and end when the caller cancels.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := load(t, `
delay: 10ms
turns:
  - {when: {last: slow}, wait: 2s, text: one two three}
  - {when: {last: characters}, chunk: 2, delay: 1s, text: "añ日本"}
  - {when: {last: stuck}, hang_after: 2, text: one two three}
`)
		hear := func(ctx context.Context, question string) (texts []string, after time.Duration, err error) {
			began := time.Now()
			_, err = p.Call(ctx, ask(user(question)), func(c llm.Chunk) error { texts = append(texts, c.Text); return nil })
			return texts, time.Since(began), err
		}
		texts, after, err := hear(t.Context(), "slow")
		if err != nil || after != 2*time.Second+30*time.Millisecond || strings.Join(texts, "|") != "one| two| three" {
			t.Errorf("%q after %s: %v", texts, after, err)
		}
		texts, after, err = hear(t.Context(), "characters")
		if err != nil || after != 2*time.Second || strings.Join(texts, "|") != "añ|日本" {
			t.Errorf("%q after %s: %v", texts, after, err)
		}
		for question, want := range map[string]string{"stuck": "one| two", "slow": ""} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			texts, after, err = hear(ctx, question)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || after != time.Second || strings.Join(texts, "|") != want {
				t.Errorf("%q after %s: %v", texts, after, err)
			}
		}
	})
}

// The usage in a script is reported with its sum. Without it, none is reported.
func TestUsage(t *testing.T) {
	p := load(t,
		`turns: [{when: {last: count}, text: one, usage: {prompt_tokens: 3, completion_tokens: 4, reasoning_tokens: 1}, `+
			`model: m-2, finish: length}, {text: two}]`)
	r, err := p.Call(t.Context(), ask(user("count")), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(r)
	const want = `{"text":"one","finish":"length","usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,` +
		`"reasoning_tokens":1},"model":"m-2","metadata":{"script":"m","turn":"0"},"opaque":{"provider":"scripted",` +
		`"data":{"script":"m","turn":0}}}`
	if string(raw) != want {
		t.Errorf("%s: expected %s", raw, want)
	}
	if r, err = p.Call(t.Context(), ask(user("no")), nil); err != nil || r.Usage != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// Of several concurrent equal requests, one gets the error with once. A canceled request does not
// use it up.
func TestOnceErrorOfConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := load(t, `
turns:
  - {once: true, wait: 50ms, error: {status: 500}}
  - {text: ok}
`)
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := p.Call(gone, ask(user("hi")), nil); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		var failed atomic.Int64
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				req := ask(user("hi"))
				req.MaxTokens = i // max_tokens is ignored
				if _, err := p.Call(t.Context(), req, nil); err != nil {
					failed.Add(1)
				}
			})
		}
		all.Wait()
		if n := failed.Load(); n != 1 {
			t.Errorf("%d of 3 failed", n)
		}
	})
}
