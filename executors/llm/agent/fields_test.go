package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/limits"
)

// These tests have the names of fields of parley.AgentConfig. Each fails if its field is accepted
// but not enforced.

// one answers "hello" once as bot, and returns the request to its model.
func one(t *testing.T, fields string, models llm.Models) (*world, llm.Request) {
	t.Helper()
	w := newWorld(t, always("hi"))
	w.models = models
	w.run(blueprint(fields))
	w.completed(w.hello(), "hi")
	calls := w.vendor.calls()
	if len(calls) != 1 {
		t.Fatalf("the model was asked %d times", len(calls))
	}
	return w, calls[0]
}

func TestModel(t *testing.T) {
	t.Parallel()
	_, req := one(t, "", nil)
	if req.Model != "m" {
		t.Errorf("the model is %s", req.Model)
	}
	w := newWorld(t, always(""))
	b := blueprint("")
	b.AgentConfig = json.RawMessage(`{"model":"nobody:m"}`)
	refused(t, w, b, "fake")
	w.options.Functions = []tool.Tool{&adder{name: "add"}}
	w.models = llm.Models{{Capabilities: llm.Capabilities{NoTools: true}}}
	refused(t, w, blueprint(`"tools":["add"]`), "does not support tools")
	w.models = nil
	refused(t, w, blueprint(`"tools":["add","other"]`), "other")
	refused(t, w, blueprint(`"surprise":1`), "surprise")
	refused(t, w, blueprint(`"mcp_servers":{"x":{"command":"true"}}`), "mcp_servers")
	refused(t, w, &parley.Blueprint{Name: "bot", AgentConfig: blueprint("").AgentConfig}, "type")
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	_, req := one(t, `"instructions":"Be a pirate."`, nil)
	if !strings.HasPrefix(req.Instructions, "Be a pirate.\n") || !strings.Contains(req.Instructions, agent.MarksText) {
		t.Errorf("the instructions are %s", req.Instructions)
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	_, req := one(t, `"temperature":0.5,"top_p":0.25,"max_tokens":77`, nil)
	if req.Temperature == nil || *req.Temperature != 0.5 || req.TopP == nil || *req.TopP != 0.25 || req.MaxTokens != 77 {
		t.Errorf("asked with %v, %v, %d", req.Temperature, req.TopP, req.MaxTokens)
	}
}

func TestRunOptions(t *testing.T) {
	t.Parallel()
	fields := `"run_options":{"deterministic":true,"seed":7,"responses_use_instructions":true,` +
		`"metadata":{"team":"a"}},"temperature":1.5`
	w, req := one(t, fields, nil)
	if req.Temperature == nil || *req.Temperature != 0 || req.TopP == nil || *req.TopP != 1 || req.Seed == nil ||
		*req.Seed != 7 {
		t.Errorf("deterministic, seed: asked with %v, %v, %v", req.Temperature, req.TopP, req.Seed)
	}
	if !req.UseInstructions || req.Metadata["team"] != "a" {
		t.Errorf("asked with %+v", req)
	}
	if req.TraceID != "0af7651916cd43dd8448eb211c80319c" || !strings.Contains(req.IdempotencyKey, ".execute.1.") {
		t.Errorf("trace %q, key %q", req.TraceID, req.IdempotencyKey)
	}
	if _, plain := one(t, "", nil); plain.UseInstructions || plain.Seed != nil || plain.Temperature != nil {
		t.Errorf("without options: %+v", plain)
	}
	_ = w
}

// Parameters reach the provider, and a model that does not support one refuses the file.
func TestParameters(t *testing.T) {
	t.Parallel()
	_, req := one(t, `"reasoning_effort":"low","stop":["END"],"parallel_tool_calls":false,`+
		`"run_options":{"prompt_caching":false}`, nil)
	if req.ReasoningEffort != "low" || len(req.Stop) != 1 || req.ParallelTools == nil || *req.ParallelTools ||
		req.PromptCaching == nil || *req.PromptCaching {
		t.Errorf("asked with %+v", req.Parameters)
	}
	if _, req := one(t, `"thinking":{"budget_tokens":2048},"temperature":0.5`, nil); req.ThinkingTokens != 2048 ||
		req.Temperature != nil || req.MaxTokens != 2048 {
		t.Errorf("asked with %+v", req)
	}
	w := newWorld(t, nil)
	for fields, text := range map[string]string{
		`"reasoning_effort":"huge"`:                                  "reasoning_effort",
		`"thinking":{"budget_tokens":5}`:                             "budget_tokens",
		`"thinking":{"budget_tokens":2048},"max_tokens":2000`:        "less than max_tokens",
		`"thinking":{"budget_tokens":2048},"tool_choice":"add"`:      "mutually exclusive",
		`"thinking":{"budget_tokens":2048},"reasoning_effort":"low"`: "mutually exclusive",
		`"stop":["a","b","c","d","e"]`:                               "stop",
		`"fallbacks":["fake:m"]`:                                     "fallbacks",
		`"fallbacks":["nobody:m"]`:                                   "nobody",
	} {
		refused(t, w, blueprint(fields), text)
	}
	w.models = llm.Models{{Capabilities: llm.Capabilities{NoReasoningEffort: true, NoThinkingBudget: true, NoStop: true}}}
	for _, fields := range []string{`"reasoning_effort":"low"`, `"thinking":{"budget_tokens":2048}`, `"stop":["END"]`} {
		refused(t, w, blueprint(fields), "the model m")
	}
}

// A tool that the model must call is called first. Then the model decides.
func TestToolChoice(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]llm.ToolChoice{"auto": "", "none": llm.ToolsNone, "required": llm.ToolsRequired,
		"add": llm.ToolNamed("add")} {
		w := newWorld(t, inTurn(wants("add", `{"n":1}`), says("done")))
		w.options.Functions = []tool.Tool{&adder{name: "add"}}
		w.run(blueprint(`"tools":["add"],"tool_choice":"` + choice + `"`))
		w.completed(w.hello(), "done")
		then := llm.ToolsAuto
		if choice == "none" {
			then = llm.ToolsNone
		}
		if calls := w.vendor.calls(); len(calls) != 2 || calls[0].ToolChoice != want || calls[1].ToolChoice != then {
			t.Errorf("%s: asked with %+v", choice, calls)
		}
	}
}

// A fallback answers after a failure of the model, but not after one of the request.
func TestFallbacks(t *testing.T) {
	t.Parallel()
	for category, used := range map[llm.Category]bool{llm.CategoryQuota: true, llm.CategoryServer: true,
		llm.CategoryInvalid: false, llm.CategoryContext: false} {
		w := newWorld(t, nil)
		w.options.Functions = []tool.Tool{&adder{name: "add"}}
		w.vendor.answer = func(ctx context.Context, req *llm.Request) (*llm.Response, error) {
			if req.Model == "m" {
				return nil, &llm.ProviderError{Provider: "fake", Category: category, Status: 418}
			}
			return inTurn(wants("add", `{"n":1}`), says("from "+req.Model))(ctx, req)
		}
		w.run(blueprint(`"tools":["add"],"fallbacks":["fake:second","fake:third"]`))
		s := w.hello()
		if !used {
			w.failed(s, string(category))
			continue
		}
		w.completed(s, "from second")
		failures := w.traces(s.SessionID, record.KindCallFailed)
		if len(failures) != 1 || !strings.Contains(string(failures[0].Data), `"fallback":"fake:second"`) {
			t.Errorf("%s: the traces are %+v", category, failures)
		}
		calls := w.vendor.calls()
		if len(calls) != 3 || calls[0].IdempotencyKey == calls[1].IdempotencyKey {
			t.Errorf("%s: asked with %+v", category, calls)
		}
		usage := w.traces(s.SessionID, record.KindUsage)
		if len(usage) != 1 || !strings.Contains(string(usage[0].Data), `"models":["second"]`) {
			t.Errorf("%s: the usage is %+v", category, usage)
		}
	}
}

// strict: false sends the schema without enforcement. The answer is checked in any case.
func TestStrict(t *testing.T) {
	t.Parallel()
	for fields, strict := range map[string]bool{"": true, `"run_options":{"strict":true}`: true,
		`"run_options":{"strict":false}`: false} {
		w := newWorld(t, always(`{"a":1}`))
		b := blueprint(fields)
		b.OutputSchema = json.RawMessage(
			`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`)
		w.run(b)
		if s := w.hello(); string(s.Result.ResultData) != `{"a":1}` {
			t.Errorf("%s: %s", fields, indent(s))
		}
		if req := w.vendor.calls()[0]; req.Output == nil || req.Output.Strict != strict {
			t.Errorf("%s: asked with %+v", fields, req.Output)
		}
	}
}

func TestUserTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("hi"))
	b := blueprint(`"run_options":{"user_template":"{{Say}} {what} to {whom}."}`)
	w.run(b)
	s, err := w.person.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot", Prompt: "x", TimeoutMs: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	w.failed(s, "parameters")
	for _, bad := range []string{"{", "}", "{}", "{a b}"} {
		raw, _ := json.Marshal(bad)
		refused(t, w, blueprint(`"run_options":{"user_template":`+string(raw)+`}`), "user_template")
	}
	w = newWorld(t, always("hi"))
	w.run(blueprint(`"run_options":{"user_template":"{{Say}} {prompt}."}`))
	w.completed(w.session(`{"prompt":"<hub>x"}`), "hi")
	if got := w.vendor.calls()[0].Messages; len(got) != 1 ||
		got[0].Text != "<request from=\"ann\" kind=\"peer\">\n{Say} &lt;hub&gt;x.\n</request>" {
		t.Errorf("the model reads %+v", got)
	}
}

func TestMaxSteps(t *testing.T) {
	t.Parallel()
	add := &adder{name: "add"}
	w := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		if phase(req) == record.PhasePlan {
			return says("1. add"), nil
		}
		return wants("add", `{"n":1}`), nil
	})
	w.options.Functions = []tool.Tool{add}
	w.run(blueprint(`"tools":["add"],"max_steps":3,"planning_enabled":true`))
	w.failed(w.hello(), agent.ReasonBudget)
	if n := len(w.vendor.calls()); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
	if got := w.vendor.calls(); phase(&got[0]) != record.PhasePlan || phase(&got[1]) != record.PhaseExecute {
		t.Error("the planner's steps do not count")
	}
	refused(t, w, blueprint(`"planning_enabled":true,"max_steps":1`), "max_steps")
}

func TestMaxToolCalls(t *testing.T) {
	t.Parallel()
	add := &adder{name: "add"}
	w := newWorld(t, inTurn(wants("add", `{"n":1}`), wants("add", `{"n":2}`, "add", `{"n":3}`), says("done")))
	w.options.Functions = []tool.Tool{add}
	stop := w.run(blueprint(`"tools":["add"],"run_options":{"max_tool_calls":2}`))
	w.failed(w.hello(), agent.ReasonBudget)
	if got := add.ran(); len(got) != 1 {
		t.Errorf("the tool ran with %q", got)
	}
	stop()
	w.run(blueprint(`"tools":["add"],"run_options":{"max_tool_calls":3}`))
	w.completed(w.hello(), "done")
}

// TestToolOutputTokenLimit cuts a result. read_file is offered from then on, and reads the rest.
func TestToolOutputTokenLimit(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("some words ", 1000) + "THE NEEDLE"
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	for fields, c := range map[string]struct {
		window int
		cut    bool
	}{
		`"run_options":{"tool_output_token_limit":2200}`: {0, false},
		`"run_options":{"tool_output_token_limit":500}`:  {0, true},
		`"max_tokens":500`:      {0, false}, // the default
		`"max_tokens":400`:      {3000, true},
		`"context_window":3000`: {1_000_000, true},
		`"context_window":3000,"run_options":{"tool_output_token_limit":2200}`: {0, false},
	} {
		w := newWorld(t, inTurn(wants("give", "{}"), wants("read_file", `{"sha256":"`+hash+`","offset":11000}`),
			says("done")))
		w.models = llm.Models{{Capabilities: llm.Capabilities{ContextWindow: c.window}}}
		w.options.Functions = []tool.Tool{&adder{name: "give", do: func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Text: text}, nil
		}}}
		w.run(blueprint(`"tools":["give"],` + fields))
		s := w.hello()
		w.completed(s, "done")
		calls := w.vendor.calls()
		for i, r := range calls {
			if want := 1 + map[bool]int{true: min(i, 1)}[c.cut]; len(r.Tools) != want {
				t.Errorf("%s: call %d has %d tools, expected %d", fields, i, len(r.Tools), want)
			}
		}
		result := calls[1].Messages[2].Results[0].Text
		if whole := result == text; whole == c.cut || c.cut && !strings.Contains(result, hash) {
			t.Errorf("%s: the result is %s", fields, result)
		}
		if got := calls[2].Messages[4].Results[0].Text; c.cut && !strings.HasSuffix(got, "\nTHE NEEDLE") {
			t.Errorf("%s: read_file returned %s", fields, got)
		}
	}
}

func TestMaxRetries(t *testing.T) {
	t.Parallel()
	for fields, calls := range map[string]int{`"run_options":{"max_retries":0}`: 1, `"run_options":{"max_retries":1}`: 2} {
		w := newWorld(t, func(context.Context, *llm.Request) (*llm.Response, error) {
			return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryServer, Status: 500, Retryable: true,
				RetryAfter: time.Millisecond}
		})
		w.run(blueprint(fields))
		s, err := w.person.StartSession(t.Context(),
			&parley.StartSessionParams{AgentName: "bot", Prompt: "x", TimeoutMs: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		w.failed(s, string(llm.CategoryServer))
		if n := len(w.vendor.calls()); n != calls*limits.DefaultMaxAttempts {
			t.Errorf("%s: the model was asked %d times", fields, n)
		}
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	for fields, streamed := range map[string]bool{"": true, `"run_options":{"stream":true}`: true,
		`"run_options":{"stream":false}`: false} {
		w := newWorld(t, always("one two three"))
		w.vendor.pieces = func(s string) []string { return strings.SplitAfter(s, " ") }
		w.run(blueprint(fields))
		deltas, _ := w.turn("hello")
		if got := strings.Join(deltas, "|"); (got != "") != streamed {
			t.Errorf("%s: deltas %q", fields, got)
		}
		if got := strings.Join(deltas, ""); streamed && got != "one two three" {
			t.Errorf("%s: deltas %q", fields, got)
		}
	}
}

// turn sends a message to bot, and returns the deltas and the message of the answer.
func (w *world) turn(text string) (deltas []string, m *parley.Event) {
	w.Helper()
	id := w.conversation("")
	ctx, stop := context.WithTimeout(w.Context(), patience)
	defer stop()
	for n, err := range w.person.Subscribe(ctx, &parley.SubscribeParams{ConversationID: id}) {
		switch {
		case err != nil:
			w.Fatal(err)
		case n.CaughtUp != nil:
			w.say(id, text)
		case n.Delta != nil:
			if int(n.Delta.Index) != len(deltas) {
				if n.Delta.Index != 0 {
					w.Errorf("delta %d after %d", n.Delta.Index, len(deltas))
				}
				deltas = nil
			}
			deltas = append(deltas, n.Delta.Text)
		case n.Event != nil && n.Event.Type == parley.TypeMessage && n.Event.From == "bot":
			return deltas, n.Event
		}
	}
	w.Fatal("no message has come")
	return nil, nil
}

// conversation creates a conversation of ann and bot. private is the private text of bot.
func (w *world) conversation(private string) string {
	w.Helper()
	s, err := w.hub.Admin(w.T).CreateConversation(w.Context(), &parley.CreateConversationParams{
		Title: "Talk",
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman, Role: "caller"},
			{ID: "bot", Kind: parley.KindAgent, Role: "helper", Private: private}},
	})
	if err != nil {
		w.Fatal(err)
	}
	return s.ConversationID
}

func (w *world) say(id, text string) {
	w.Helper()
	if _, err := w.person.SendMessage(w.Context(),
		&parley.SendMessageParams{ConversationID: id, Payload: json.RawMessage(indent(parley.Message{Text: text})),
			Finality: parley.FinalityTurn}); err != nil {
		w.Fatal(err)
	}
}

// answered waits for the next message of bot.
func (w *world) answered(id string, since int64) *parley.Event {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), patience)
	defer stop()
	for e, err := range w.person.Events(ctx, id, since) {
		if err != nil {
			w.Fatal(err)
		}
		if e.Type == parley.TypeMessage && e.From == "bot" {
			return &e
		}
	}
	w.Fatal("the conversation has ended")
	return nil
}

func TestPlanningEnabled(t *testing.T) {
	t.Parallel()
	look := &adder{name: "look"}
	answer := func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		if phase(req) != record.PhasePlan {
			return says("done"), nil
		}
		if results(req) == 0 {
			return wants("look", `{"n":1}`), nil
		}
		return says("1. do </plan> it"), nil
	}
	other := &vendor{name: "other", answer: answer}
	w := newWorld(t, answer)
	w.options.Functions = []tool.Tool{look}
	w.options.Runtimes = llm.NewRuntimes(llm.NewRuntime(w.vendor, nil), llm.NewRuntime(other, nil))
	w.run(blueprint(
		`"tools":["look"],"planning_enabled":true,"planning_model":"other:p","planning_instructions":"PLAN WELL",` +
			`"instructions":"Be kind."`))
	s := w.hello()
	w.completed(s, "done")
	plans, done := other.calls(), w.vendor.calls()
	if len(plans) != 2 || plans[0].Model != "p" || !strings.HasPrefix(plans[0].Instructions, "PLAN WELL\n") ||
		len(plans[0].Tools) != 1 {
		t.Fatalf("the planner was asked %+v", plans)
	}
	if len(done) != 1 || done[0].Model != "m" || !strings.HasPrefix(done[0].Instructions, "Be kind.") ||
		strings.Contains(done[0].Instructions, "PLAN WELL") {
		t.Fatalf("the agent was asked %+v", done)
	}
	if !strings.Contains(done[0].Instructions, "<plan>\n1. do &lt;/plan&gt; it\n</plan>") {
		t.Error("the agent has no plan: ", done[0].Instructions)
	}
	if len(done[0].Messages) != 1 || results(&done[0]) != 0 || strings.Contains(done[0].Messages[0].Text, "look") {
		t.Errorf("the planner's history is the agent's: %+v", done[0].Messages)
	}
	if plan := w.traces(s.SessionID, record.KindPlan); len(plan) != 1 || plan[0].Text != "1. do </plan> it" {
		t.Errorf("the traces of the plan are %+v", plan)
	}
	if _, req := one(t, `"planning_model":"fake:p","planning_instructions":"PLAN"`, nil); phase(
		&req) != record.PhaseExecute {
		t.Error("the planner ran without planning_enabled")
	}
}

func TestBudgetAwarenessPerMessage(t *testing.T) {
	t.Parallel()
	for fields, line := range map[string]string{
		`"budget_awareness":"per-message","context_window":5000`: "[context: 15 of 5000 tokens used]",
		`"budget_awareness":"per-message"`:                       "[context: 15 tokens used]", `"budget_awareness":null`: "",
	} {
		w := newWorld(t, inTurn(wants("add", `{}`), says("done")))
		w.options.Functions = []tool.Tool{&adder{name: "add"}}
		w.run(blueprint(`"tools":["add"],` + fields))
		w.completed(w.hello(), "done")
		req := w.vendor.calls()[1]
		said, told := req.Messages[1].Text, req.Messages[2].Results[0].Text
		if said != line || told != strings.TrimSpace("add {}\n\n"+line) {
			t.Errorf("%s: the model reads %q and %q", fields, said, told)
		}
	}
	// Own messages in the conversation have the line too.
	w := newWorld(t, always("done"))
	w.run(blueprint(`"budget_awareness":"per-message"`))
	id := w.conversation("")
	w.say(id, "one")
	e := w.answered(id, 0)
	w.say(id, "two")
	w.answered(id, e.Seq)
	if got := w.vendor.calls()[1].Messages; len(got) != 3 || got[1].Role != llm.RoleAssistant ||
		!strings.HasPrefix(got[1].Text, "done\n\n[context: ") {
		t.Errorf("the model reads %+v", got)
	}
}

func TestBudgetAwarenessLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 600)
	answer := func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		switch {
		case phase(req) == record.PhaseCompact:
			return says("much was said"), nil
		case strings.Contains(lastText(req), "done?"):
			return says("done"), nil
		}
		return says(long), nil
	}
	w := newWorld(t, answer)
	w.run(blueprint(`"budget_awareness":"limit:50","context_window":4000`))
	id := w.conversation("")
	since := int64(0)
	for range 3 {
		w.say(id, "tell me")
		since = w.answered(id, since).Seq
	}
	w.say(id, "done?")
	if m, _ := w.answered(id, since).Message(); m.Text != "done" {
		t.Errorf("the message is %q", m.Text)
	}
	calls := w.vendor.calls()
	compact, last := calls[len(calls)-2], calls[len(calls)-1]
	if phase(&compact) != record.PhaseCompact || !strings.Contains(compact.Messages[0].Text, "<assistant>") ||
		len(compact.Tools) != 0 {
		t.Fatalf("the model was not asked for a summary: %+v", compact)
	}
	if n := len(last.Messages); n < 3 || !strings.Contains(last.Messages[0].Text, "tell me") ||
		last.Messages[1].Text != "<summary>\nmuch was said\n</summary>" ||
		!strings.Contains(last.Messages[n-1].Text, "done?") {
		t.Errorf("the model was asked %+v", last.Messages)
	}
	if all := w.traces(id, record.KindCompacted); len(all) == 0 {
		t.Errorf("the traces are %+v", all)
	}
	// A prompt that cannot be compacted ends the turn with the same message each time, without a
	// call.
	for _, c := range []string{`"budget_awareness":"limit:0","context_window":4000`,
		`"budget_awareness":"limit:1","context_window":256`} {
		w := newWorld(t, answer)
		w.run(blueprint(c))
		s := w.hello()
		w.completed(s, agent.BudgetMessage)
		if n := len(w.vendor.calls()); n != 0 {
			t.Errorf("%s: the model was asked %d times", c, n)
		}
	}
	refused(t, w, blueprint(`"budget_awareness":"limit:50"`), "context_window")
	// With limit:0 there is no summary. A summary that is too long does not help either.
	for limit, calls := range map[string]int{"limit:0": 0, "limit:20": 1} {
		w := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) { return says(long + long), nil })
		stop := w.run(blueprint(`"context_window":8000`))
		id := w.conversation("")
		w.say(id, "one")
		since := w.answered(id, 0).Seq
		w.say(id, "two")
		since = w.answered(id, since).Seq
		stop()
		before := len(w.vendor.calls())
		w.run(blueprint(`"context_window":8000,"budget_awareness":"` + limit + `"`))
		w.say(id, "three")
		if m, _ := w.answered(id, since).Message(); m.Text != agent.BudgetMessage || len(m.Tags) != 1 ||
			m.Tags[0] != agent.TagBudget {
			t.Errorf("%s: the message is %.100q", limit, m.Text)
		}
		if n := len(w.vendor.calls()) - before; n != calls {
			t.Errorf("%s: the model was asked %d times", limit, n)
		}
	}
}

// Without the field, the window of the model's capabilities applies.
func TestContextWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("hi"))
	w.models = llm.Models{{Capabilities: llm.Capabilities{ContextWindow: 256}}}
	stop := w.run(blueprint(`"budget_awareness":"limit:1"`))
	w.completed(w.hello(), agent.BudgetMessage)
	stop()
	w.run(blueprint(`"budget_awareness":"limit:1","context_window":1000000`))
	w.completed(w.hello(), "hi")
}

// TestEveryFieldIsNamed fails for a new field without a test in this table.
func TestEveryFieldIsNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"model": "TestModel", "instructions": "TestInstructions", "max_steps": "TestMaxSteps", "temperature": "TestSampling",
		"top_p": "TestSampling", "max_tokens": "TestSampling",
		"context_window": "TestContextWindow", "planning_enabled": "TestPlanningEnabled",
		"planning_model": "TestPlanningEnabled", "planning_instructions": "TestPlanningEnabled",
		"budget_awareness": "TestBudgetAwarenessLimit", "hitl_tools": "TestHITLTools", "hitl_timeout_ms": "TestHITLTimeout",
		"emit_mcp_progress":  "TestMCPServers",
		"injected_tool_args": "TestInjectedToolArgs", "allow_self_spawn": "TestChildren",
		"allow_parallel_subagents": "TestChildren", "max_parallel_subagents": "TestChildren",
		"tools": "TestTools", "agents": "TestAgents", "mcp_servers": "TestMCPServers", "child_tools": "TestChildTools",
		"run_options": "TestRunOptions", "deterministic": "TestRunOptions", "seed": "TestRunOptions", "strict": "TestStrict",
		"responses_use_instructions": "TestRunOptions",
		"user_template":              "TestUserTemplate", "budget": "TestBudgetTokens", "tokens": "TestBudgetTokens", "ms": "TestBudgetMs",
		"on_exceeded":    "TestBudgetTokens",
		"max_tool_calls": "TestMaxToolCalls", "max_retries": "TestMaxRetries", "stream": "TestStream",
		"metadata": "TestRunOptions", "reasoning_effort": "TestParameters", "thinking": "TestParameters",
		"stop": "TestParameters", "parallel_tool_calls": "TestParameters", "prompt_caching": "TestParameters",
		"tool_choice": "TestToolChoice", "fallbacks": "TestFallbacks",
		"idle_timeout": "TestTimeouts", "request_timeout": "TestTimeouts",
		"tool_output_token_limit": "TestToolOutputTokenLimit",
	}
	there := map[string]bool{}
	for _, file := range []string{"fields_test.go", "budget_test.go", "tools_test.go", "turn_test.go"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if name, ok := strings.CutPrefix(line, "func "); ok {
				there[strings.Split(name, "(")[0]] = true
			}
		}
	}
	for field, name := range tests {
		if !there[name] {
			t.Errorf("%s: the test %s does not exist", field, name)
		}
	}
	for _, v := range []any{parley.AgentConfig{}, parley.AgentRunOptions{}, parley.AgentBudget{}} {
		for i := range reflect.TypeOf(v).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
			if tests[name] == "" {
				t.Errorf("no test for %s", name)
			}
		}
	}
}
