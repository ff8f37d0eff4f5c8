package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// Target is a runtime that Matrix tests.
type Target struct {
	Wire *Wire
	// Model is a model without reasoning, and ReasoningModel one that takes no temperature.
	Model, ReasoningModel string
	// Runtime returns a runtime that calls the server at an address without a path.
	Runtime func(t *testing.T, base string) *llm.Runtime
}

// Matrix runs each scenario against each target, streamed and not. The vendor refuses what the real
// vendors refuse; see Wire.Check. Matrix prints a table of the outcomes with counts.
func Matrix(t *testing.T, targets ...Target) {
	table := &outcomes{targets: targets}
	t.Cleanup(func() { t.Log("\n" + table.String()) })
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			for i := range targets {
				for _, streamed := range []bool{false, true} {
					c := &cell{scenario: &s, target: &targets[i], streamed: streamed}
					name := targets[i].Wire.Name + map[bool]string{true: ", streamed"}[streamed]
					passed := t.Run(name, func(t *testing.T) {
						c.ran = true
						if why := c.skipped(); why != "" {
							t.Skip(why)
						}
						c.run(t)
					})
					if c.ran { // -run may leave it out
						table.add(c, passed)
					}
				}
			}
		})
	}
}

// scenario is what a vendor sends and refuses, and what a runtime must make of it.
type scenario struct {
	name string
	// reasons uses the reasoning model. ask changes the request. By default the user says hello, and
	// there is one tool.
	reasons bool
	ask     func(a *asked)
	rules   Rules
	// answers are the answers to the requests. After calls of tools, their results follow.
	answers []answer
	// skip has reasons why the scenario does not exist, by the name of an API, "streamed", "whole",
	// or an API and one of both.
	skip map[string]string
	// want are the expected responses, except for usage. By default they are those of the answers.
	want []llm.Response
	// fault is the expected error of the last request. Its Message is a part of the message.
	fault *llm.ProviderError
	// sent and never are texts in the last request.
	sent, never []string
}

// asked is the request of a scenario.
type asked struct {
	definition llm.Definition
	options    llm.Options
	messages   []llm.Message
}

// answer is the answer to one request. Its changes apply in the order of the fields.
type answer struct {
	Exchange
	// edit changes each JSON object: the whole answer, or the data of each event.
	edit func(w *Wire, o Object)
	// change changes the events of a stream, and last the text of any answer.
	change func(w *Wire, all []Event) []Event
	last   func(body string) string
	// other sends a stream for a whole answer, and the reverse. kind replaces the Content-Type.
	other bool
	kind  string
	// status, header and body replace the answer. body may depend on the API.
	status int
	header map[string]string
	body   func(w *Wire) string
	// broken closes the connection in the middle of a chunk. bytewise sends each byte separately.
	broken, bytewise bool
}

// cell is one scenario with one target, streamed or not.
type cell struct {
	*scenario
	target   *Target
	streamed bool
	ran      bool

	mu       sync.Mutex // guards the fields below
	requests []string
	refused  []string
}

func (c *cell) skipped() string {
	how := map[bool]string{true: "streamed", false: "whole"}[c.streamed]
	for _, key := range []string{c.target.Wire.Name, how, c.target.Wire.Name + " " + how} {
		if why := c.skip[key]; why != "" {
			return why
		}
	}
	return ""
}

func (c *cell) run(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	defer server.Close()
	runtime := c.target.Runtime(t, server.URL)
	defer runtime.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	results, err := c.converse(ctx, t, runtime)

	c.mu.Lock()
	defer c.mu.Unlock()
	for _, why := range c.refused {
		t.Errorf("the vendor refuses: %s", why)
	}
	if len(c.requests) != len(c.answers) {
		t.Errorf("%d requests: expected %d", len(c.requests), len(c.answers))
	}
	c.checkFault(t, err)
	for i := range results {
		c.checkResult(t, i, results[i])
	}
	if len(c.requests) == 0 {
		return
	}
	last := c.requests[len(c.requests)-1]
	for _, text := range c.sent {
		if !strings.Contains(last, text) {
			t.Errorf("expected %s in the request %s", text, last)
		}
	}
	for _, text := range c.never {
		if strings.Contains(last, text) {
			t.Errorf("expected no %s in the request %s", text, last)
		}
	}
}

// converse makes the exchanges, and answers each call of a tool.
func (c *cell) converse(ctx context.Context, t *testing.T, runtime *llm.Runtime) (all []*llm.Result, err error) {
	a := asked{
		definition: llm.Definition{Model: c.target.Model, Instructions: "You are a test.", MaxTokens: 2048,
			Tools: []llm.ToolSpec{{Name: "look", Description: "Looks.",
				Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}}},
		messages: []llm.Message{user("hello")},
	}
	if c.reasons {
		a.definition.Model = c.target.ReasoningModel
	}
	if c.ask != nil {
		c.ask(&a)
	}
	p, err := runtime.Prepare(ctx, &a.definition, &a.options)
	if err != nil {
		t.Fatal(err)
	}
	for {
		in := &llm.Input{Messages: a.messages}
		var said strings.Builder
		var r *llm.Result
		if c.streamed {
			r, err = runtime.RunStream(ctx, p, in, func(e llm.Event) error {
				if e.ToolCall == nil {
					said.WriteString(e.Delta)
				}
				return nil
			})
		} else {
			r, err = runtime.Run(ctx, p, in)
		}
		if err != nil {
			return all, err
		}
		if c.streamed && said.String() != r.Content {
			t.Errorf("the deltas are %.200q, but the content is %.200q", said.String(), r.Content)
		}
		all = append(all, r)
		if len(r.ToolCalls) == 0 || len(all) == len(c.answers) {
			return all, nil
		}
		a.messages = append(a.messages, reread(r.Message), resultsOf(r.ToolCalls))
	}
}

// reread encodes and decodes a message, as in a log.
func reread(m llm.Message) (again llm.Message) {
	raw, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(raw, &again)
	}
	if err != nil {
		panic(err) // a message can be encoded as JSON
	}
	return again
}

func resultsOf(calls []llm.ToolCall) llm.Message {
	m := llm.Message{Role: llm.RoleTool}
	for _, call := range calls {
		m.Results = append(m.Results, llm.ToolResult{CallID: call.ID, Name: call.Name, Text: "seen"})
	}
	return m
}

func (c *cell) checkFault(t *testing.T, err error) {
	t.Helper()
	if c.fault == nil {
		if err != nil {
			t.Errorf("the call failed: %v", err)
		}
		return
	}
	var got *llm.ProviderError
	if !errors.As(err, &got) {
		t.Errorf("the call ended with %v: expected a ProviderError", err)
		return
	}
	want := *c.fault
	if got.Category != want.Category || got.Status != want.Status || got.Retryable != want.Retryable ||
		got.RetryAfter != want.RetryAfter || !strings.Contains(got.Message, want.Message) ||
		want.Code != "" && got.Code != want.Code {
		t.Errorf("the error is %s, code %q, message %q: expected %s, code %q, message %q", describe(got), got.Code,
			got.Message, describe(&want), want.Code, want.Message)
	}
}

func (c *cell) checkResult(t *testing.T, i int, got *llm.Result) {
	t.Helper()
	want := c.answers[i].Response
	if i < len(c.want) {
		want = c.want[i]
	}
	texts := []string{got.Content, want.Text, got.Reasoning, want.Reasoning, got.Refusal, want.Refusal,
		string(got.Finish), string(want.Finish)}
	for j, name := range []string{"text", "reasoning", "refusal", "finish"} {
		if texts[2*j] != texts[2*j+1] {
			t.Errorf("answer %d: the %s is %.200q: expected %.200q", i, name, texts[2*j], texts[2*j+1])
		}
	}
	if len(got.ToolCalls) != len(want.ToolCalls) {
		t.Fatalf("answer %d: %d tool calls: expected %d: %+v", i, len(got.ToolCalls), len(want.ToolCalls), got.ToolCalls)
	}
	ids := map[string]bool{}
	for j, call := range got.ToolCalls {
		w := want.ToolCalls[j]
		if call.Name != w.Name || call.Arguments != w.Arguments && !sameJSON(call.Arguments, w.Arguments) {
			t.Errorf("answer %d: the call %d is %s(%s): expected %s(%s)", i, j, call.Name, call.Arguments, w.Name, w.Arguments)
		}
		if call.ID == "" || ids[call.ID] {
			t.Errorf("answer %d: the id of the call %d is %q: expected a unique one", i, j, call.ID)
		}
		ids[call.ID] = true
	}
	u := got.Usage
	if w := want.Usage; w == nil && !u.Estimated || w != nil && (u.Estimated || u != *w) {
		t.Errorf("answer %d: the usage is %+v: expected %+v", i, u, w)
	}
}

// sameJSON compares arguments. Missing ones equal an empty object.
func sameJSON(got, want string) bool {
	var g, w any
	if want == "" {
		want = "{}"
	}
	return json.Unmarshal([]byte(got), &g) == nil && json.Unmarshal([]byte(want), &w) == nil && JSON(g) == JSON(w)
}

// serve answers one request.
func (c *cell) serve(out http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w := c.target.Wire
	body, err := w.Check(r, raw, c.rules)
	if err == nil && (body["stream"] == true) != c.streamed {
		err = fmt.Errorf("stream is %v: expected %t", body["stream"], c.streamed)
	}
	c.mu.Lock()
	c.requests = append(c.requests, string(raw))
	n := len(c.requests)
	if err == nil && n > len(c.answers) {
		err = errors.New("a further request")
	}
	if err != nil {
		c.refused = append(c.refused, fmt.Sprintf("%v: %s", err, raw))
	}
	c.mu.Unlock()
	if err != nil {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusBadRequest)
		io.WriteString(out, JSON(w.fault(&Fault{Message: err.Error()})))
		return
	}
	a := c.answers[n-1]
	a.Request.Model = "m"
	a.send(out, w, c.streamed)
}

// send writes an answer.
func (a *answer) send(out http.ResponseWriter, w *Wire, streamed bool) {
	kind, body := "application/json", ""
	switch {
	case a.body != nil:
		body = a.body(w)
	case streamed != a.other:
		kind, body = "text/event-stream", a.stream(w)
	default:
		o := decoded(w.whole(&a.Exchange)).(Object)
		if a.edit != nil {
			a.edit(w, o)
		}
		body = JSON(o)
	}
	if a.last != nil {
		body = a.last(body)
	}
	if a.kind != "" {
		kind = a.kind
	}
	out.Header().Set("Content-Type", kind)
	out.Header().Set("X-Request-Id", "req_1")
	for name, value := range a.header {
		out.Header().Set(name, value)
	}
	if a.status != 0 {
		out.WriteHeader(a.status)
	}
	size := len(body)
	if a.bytewise {
		size = 1
	}
	for piece := range slices.Chunk([]byte(body), max(size, 1)) {
		out.Write(piece)
		http.NewResponseController(out).Flush()
	}
	if a.broken {
		panic(http.ErrAbortHandler)
	}
}

// stream returns the events of an answer.
func (a *answer) stream(w *Wire) string {
	parts := w.stream(&a.Exchange)
	all := slices.Concat(append(append([][]Event{parts.before}, parts.chunks...), parts.after)...)
	for i := range all {
		all[i].Data = decoded(all[i].Data)
		if o, ok := all[i].Data.(Object); ok && a.edit != nil {
			a.edit(w, o)
		}
	}
	if a.change != nil {
		all = a.change(w, all)
	}
	var b strings.Builder
	for _, e := range all {
		b.WriteString(e.String())
	}
	return b.String()
}

// decoded returns data as decoding of JSON makes it, so that an edit does not change shared parts.
func decoded(data any) (again any) {
	if err := json.Unmarshal([]byte(JSON(data)), &again); err != nil {
		panic(err) // it was encoded before
	}
	return again
}

// outcomes is the table of a Matrix.
type outcomes struct {
	targets []Target
	rows    []string
	reasons []string
	counts  map[string]int
}

func (o *outcomes) add(c *cell, passed bool) {
	if len(o.rows) == 0 || !strings.HasPrefix(o.rows[len(o.rows)-1], c.name+"\t") {
		o.rows = append(o.rows, c.name+"\t")
	}
	outcome := "FAIL"
	if why := c.skipped(); why != "" {
		i := slices.Index(o.reasons, why)
		if i < 0 {
			i = len(o.reasons)
			o.reasons = append(o.reasons, why)
		}
		outcome = fmt.Sprintf("n/a %d", i+1)
	} else if passed {
		outcome = "pass"
	}
	o.rows[len(o.rows)-1] += outcome + "\t"
	if o.counts == nil {
		o.counts = map[string]int{}
	}
	kind, _, _ := strings.Cut(outcome, " ")
	o.counts[kind]++
}

// String returns the table, the reasons of n/a, and the counts.
func (o *outcomes) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-58s", "scenario")
	for _, t := range o.targets {
		fmt.Fprintf(&b, "%-18s%-10s", t.Wire.Name, "streamed")
	}
	for _, row := range o.rows {
		cells := strings.Split(row, "\t")
		fmt.Fprintf(&b, "\n%-58s", cells[0])
		for i, cell := range cells[1 : len(cells)-1] {
			fmt.Fprintf(&b, "%-*s", []int{18, 10}[i%2], cell)
		}
	}
	for i, why := range o.reasons {
		fmt.Fprintf(&b, "\nn/a %d: %s", i+1, why)
	}
	fmt.Fprintf(&b, "\n%d scenarios x %d APIs x 2: %d pass, %d not applicable, %d failed", len(o.rows), len(o.targets),
		o.counts["pass"], o.counts["n/a"], o.counts["FAIL"])
	return b.String()
}
