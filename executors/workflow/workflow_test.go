package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/executors/workflow"
	"github.com/parleyhub/parley/internal/worktest"
)

const anything = `{"type":"object"}`

// flow returns the agent of a workflow.
func flow(t *testing.T, name, steps, output string) (*work.Agent, parley.Blueprint) {
	t.Helper()
	plan, faults := workflow.Parse(json.RawMessage(steps), json.RawMessage(output))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	b := parley.Blueprint{Name: name, Type: parley.AgentTypeWorkflow, ParametersSchema: json.RawMessage(anything)}
	a, err := work.New(&b, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a, a.Blueprint()
}

// do returns the agent of a function.
func do(t *testing.T, name string, f function.Func) (*work.Agent, parley.Blueprint) {
	t.Helper()
	a, err := function.Agent(parley.Blueprint{Name: name, ParametersSchema: json.RawMessage(anything)}, f)
	if err != nil {
		t.Fatal(err)
	}
	return a, a.Blueprint()
}

// cast is a set of agents with their blueprints.
type cast struct {
	t          *testing.T
	all        worktest.Mux
	blueprints []parley.Blueprint
}

func (c *cast) flow(name, steps, output string) {
	a, b := flow(c.t, name, steps, output)
	c.all[name], c.blueprints = a, append(c.blueprints, b)
}

func (c *cast) do(name string, f function.Func) {
	a, b := do(c.t, name, f)
	c.all[name], c.blueprints = a, append(c.blueprints, b)
}

func newCast(t *testing.T) *cast { return &cast{t: t, all: worktest.Mux{}} }

func echo(_ context.Context, j *work.Job) (any, error) { return j.Parameters, nil }

// TestResults tests the inputs and results of steps, and the outcomes of workflows.
func TestResults(t *testing.T) {
	w, c := worktest.New(t), newCast(t)
	c.do("echo", echo)
	c.do("fails", func(context.Context, *work.Job) (any, error) {
		return nil, &function.Error{Reason: "no_luck", Text: "not today"}
	})
	var tries atomic.Int32
	c.do("third", func(context.Context, *work.Job) (any, error) {
		if n := tries.Add(1); n < 3 {
			return nil, &function.Error{Text: fmt.Sprint("try ", n)}
		}
		return "at last", nil
	})
	c.do("large", func(context.Context, *work.Job) (any, error) { return strings.Repeat("x", 300<<10), nil })
	same := func(part string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(part+",", n), ",") + "]"
	}
	manySteps := "$" + same("'parameters'", 20) + same("'l'", 60) + same("0", 100)
	step := func(rest string) string { return `{"name":"a","agent":"echo","input":` + rest + `}` }
	failing := `{"name":"f","agent":"fails"`
	table := map[string]struct{ steps, output, want, fails string }{
		"literals": {step(`{"n":1.50,"s":"$$x","l":[null,"<&>"]}`), ``, `{"l":[null,"<&>"],"n":1.50,"s":"$x"}`, ""},
		"paths": {step(`{"q":"$.parameters.q","all":"$.parameters.l[*]","deep":[{"x":"$.parameters.l[-1]"}]}`), ``,
			`{"all":[1,2],"deep":[{"x":2}],"q":"hello"}`, ""},
		"after": {step(`{"q":"$.parameters.q"}`) +
			`,{"name":"b","agent":"echo","input":{"x":"$.steps.a.output.q","s":"$.steps.a.status"}}`,
			`{"b":"$.steps.b.output","fix":7}`, `{"b":{"s":"completed","x":"hello"},"fix":7}`, ""},
		"output":  {step(`{"q":1}`), `"$.steps.a.output.q"`, `1`, ""},
		"nothing": {step(`{"q":"$.parameters.nope"}`), ``, "", "step a: input.q: $.parameters.nope: no match"},
		"optional": {`{"name":"a","agent":"echo","optional":true,"input":{"q":"$.parameters.nope","r":[1,"$.context.x"]}}`,
			``, `{"r":[1]}`, ""},
		"no output": {step(`{}`), `"$.steps.a.output.none"`, "", "output: $.steps.a.output.none: no match"},
		"unknown":   {`{"name":"a","agent":"nobody"}`, ``, "", "step a: the agent nobody was not started: "},
		"fails":     {failing + `}`, ``, "", "step f: the agent fails failed (no_luck): not today"},
		"goes on": {failing + `,"on_error":"continue"},` + step(`{"why":"$.steps.f.error","s":"$.steps.f.status"}`), ``,
			`{"s":"failed","why":"the agent fails failed (no_luck): not today"}`, ""},
		"no result": {failing + `,"on_error":"continue"},` + step(`{"why":"$.steps.f.output"}`), ``, "",
			"step a: input.why: $.steps.f.output: no match"},
		"retries": {`{"name":"t","agent":"third","on_error":"retry(2)"}`, ``, `"at last"`, ""},
		"gives up": {`{"name":"f","agent":"fails","on_error":"retry(1)"}`, ``, "",
			"step f: the agent fails failed (no_luck): not today"},
		"group": {`{"parallel":[` + step(`{"x":1}`) +
			`,{"steps":[{"name":"b","agent":"echo"},{"name":"c","agent":"echo","input":{"b":"$.steps.b.output"}}]}]}`, ``,
			`[{"x":1},{"b":{}}]`, ""},
		"in group": {`{"parallel":[` + failing + `},` + step(`{}`) + `]}`, ``, "", "step f: the agent fails failed"},
		"members": {step(`{"o":{"z":[1],"b":[2],"m":[3],"a":[4]}}`) +
			`,{"name":"b","agent":"echo","input":{"x":"$.steps.a.output.o.*[*]"}}`, ``, `{"x":[4,2,3,1]}`, ""},
		"exact": {step(`{"n":[9007199254740993]}`), `["$.steps.a.output.n[?@ == 9007199254740992]"]`, "",
			"output[0]: $.steps.a.output.n[?@ == 9007199254740992]: no match"},
		"digits": {step(`{"n":[9007199254740993]}`), `"$.steps.a.output.n[?@ == 9007199254740993.0]"`,
			`[9007199254740993]`, ""},
		"steps": {step(`{"x":"` + manySteps + `"}`), ``, "", "step a: input.x: " + manySteps +
			": the path takes more than 20000 steps"},
		"too large": {`{"name":"l","agent":"large"},` + step(`{"x":"$.steps.l.output"}`), ``, "",
			"step a: input.x: $.steps.l.output: no match"},
	}
	for name, f := range table {
		c.flow("flow-"+strings.ReplaceAll(name, " ", "-"), "["+f.steps+"]", f.output)
	}
	w.Serve(c.all, c.blueprints...)
	for name, f := range table {
		s := w.Start("flow-"+strings.ReplaceAll(name, " ", "-"), `{"q":"hello","l":[1,2]}`)
		if f.fails != "" {
			if s.Status != parley.SessionFailed || s.Result.ResultType != parley.AgentTypeWorkflow ||
				!strings.HasPrefix(s.Result.Error, f.fails) {
				t.Errorf("%s: %s", name, worktest.Indent(s))
			}
			continue
		}
		if s.Status != parley.SessionCompleted || s.Result.ResultText == nil ||
			string(unescaped(t, s.Result.ResultData)) != f.want {
			t.Errorf("%s: %s", name, worktest.Indent(s))
		}
	}
	if n := tries.Load(); n != 3 {
		t.Errorf("%d attempts", n)
	}
}

// unescaped returns JSON as the workflow wrote it, because < and > are escaped on the way.
func unescaped(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw)))
}

// A workflow whose runner dies between or in steps continues. Completed steps are not started
// again, running sessions are found again, and each step gets the same input as before.
func TestRestart(t *testing.T) {
	w, c := worktest.New(t), newCast(t)
	var mu sync.Mutex
	ran := map[string][]string{}
	reached, goOn := make(chan struct{}, 10), make(chan struct{})
	for _, name := range []string{"one", "two", "three"} {
		c.do(name, func(ctx context.Context, j *work.Job) (any, error) {
			mu.Lock()
			ran[name] = append(ran[name], string(j.Parameters)+" "+j.Key())
			mu.Unlock()
			return map[string]any{"from": name}, nil
		})
	}
	c.do("gate", func(ctx context.Context, j *work.Job) (any, error) {
		reached <- struct{}{}
		select {
		case <-goOn:
			return "open", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	c.flow("flow", `[{"name":"a","agent":"one","input":{"x":"$.parameters.x"}},{"name":"b","agent":"two","input":{"x":"$.steps.a.output.from"}},{"name":"g","agent":"gate"},
		{"name":"c","agent":"three","input":{"x":"$.steps.b.output.from"}}]`, `["$.steps.a.session_id","$.steps.b.session_id","$.steps.c.output.from"]`)
	w.Serve(c.all, c.blueprints...)
	s, err := w.Ann.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "flow", Parameters: json.RawMessage(`{"x":1}`), Mode: parley.ModeAsyncPoll})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 { // both the workflow and the step run
		<-reached
		_ = w.Client.(interface{ Close() error }).Close() // without releasing its claims
		w.Stop()
		if round == 1 {
			close(goOn)
		}
		w.Serve(c.all, c.blueprints...)
	}
	got, err := w.Ann.GetSession(t.Context(),
		&parley.GetSessionParams{SessionID: s.SessionID, TimeoutMs: worktest.Patience.Milliseconds()})
	if err != nil || got.Status != parley.SessionCompleted {
		t.Fatalf("%s %v", worktest.Indent(got), err)
	}
	mu.Lock()
	defer mu.Unlock()
	for name, want := range map[string]string{"one": `{"x":1} `, "two": `{"x":"one"} `, "three": `{"x":"two"} `} {
		if len(ran[name]) != 1 || !strings.HasPrefix(ran[name][0], want) {
			t.Errorf("%s got the input %q", name, ran[name])
		}
	}
	children := map[string]int{}
	for _, e := range w.Until(s.SessionID, 0, 4, func(e *parley.Event) bool {
		p, err := e.System()
		return e.Type == parley.TypeSystem && err == nil && p.Kind == parley.KindSessionStarted
	}) {
		p, _ := e.System()
		children[p.Agent]++
	}
	if len(children) != 4 {
		t.Errorf("the sessions of the steps: %v", children)
	}
}

// Stopping a workflow stops its steps.
func TestStop(t *testing.T) {
	w, c := worktest.New(t), newCast(t)
	reached, ended := make(chan string, 10), make(chan error, 10)
	c.do("waits", func(ctx context.Context, j *work.Job) (any, error) {
		reached <- j.Turn.ConversationID
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	c.flow("flow",
		`[{"parallel":[{"name":"a","agent":"waits"},{"name":"b","agent":"waits"}]},{"name":"c","agent":"waits"}]`, "")
	w.Serve(c.all, c.blueprints...)
	s, err := w.Ann.StartSession(t.Context(), &parley.StartSessionParams{AgentName: "flow", Mode: parley.ModeAsyncPoll})
	if err != nil {
		t.Fatal(err)
	}
	children := []string{<-reached, <-reached}
	if _, err := w.Ann.StopSession(t.Context(), &parley.StopSessionParams{SessionID: s.SessionID}); err != nil {
		t.Fatal(err)
	}
	for _, id := range children {
		if err := <-ended; !errors.Is(err, parley.ErrClaimLost) {
			t.Errorf("the step ended with %v", err)
		}
		got, err := w.Hub.Admin(t).GetSession(t.Context(),
			&parley.GetSessionParams{SessionID: id, TimeoutMs: worktest.Patience.Milliseconds()})
		if err != nil || got.Status != parley.SessionStopped {
			t.Errorf("%s %v", worktest.Indent(got), err)
		}
	}
	select {
	case id := <-reached:
		t.Errorf("%s was started after the stop", id)
	case <-time.After(50 * time.Millisecond):
	}
}

// After a restart, a started step is found again although the context changed.
func TestSameInput(t *testing.T) {
	w, c := worktest.New(t), newCast(t)
	reached, goOn := make(chan string, 10), make(chan struct{})
	c.do("gate", func(ctx context.Context, j *work.Job) (any, error) {
		reached <- string(j.Parameters)
		select {
		case <-goOn:
			return j.Parameters, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	plan, faults := workflow.Parse(json.RawMessage(`[{"name":"g","agent":"gate","input":{"n":"$.context.page.n"}}]`), nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	b := parley.Blueprint{
		Name: "flow", Type: parley.AgentTypeWorkflow, ParametersSchema: json.RawMessage(anything),
		Subscriptions: json.RawMessage(`[{"schema_name":"ask.v1"},{"schema_name":"page.v1","role":"context"}]`),
	}
	a, err := work.New(&b, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.all["flow"], c.blueprints = a, append(c.blueprints, b)
	w.Serve(c.all, c.blueprints...)
	id := w.Create("flow")
	w.Note(id, "page.v1", `{"n":1}`)
	seq := w.Note(id, "ask.v1", `{}`)
	<-reached
	w.Note(id, "page.v1", `{"n":2}`)
	_ = w.Client.(interface{ Close() error }).Close()
	w.Stop()
	close(goOn)
	w.Serve(c.all, c.blueprints...)
	for _, e := range w.Until(id, seq+2, 1, func(e *parley.Event) bool {
		s, err := e.System()
		return e.Type == parley.TypeSystem && err == nil && s.Schema == parley.ToolResponseSchema
	}) {
		s, _ := e.System()
		var answer parley.Answer
		if err := json.Unmarshal(s.Data, &answer); err != nil || answer.Status != parley.SessionCompleted ||
			string(answer.Output) != `{"n":1}` {
			t.Errorf("%s %v", s.Data, err)
		}
	}
}

// A workflow that waits for its steps does not use their capacity, in a session and in a seat.
func TestWaitingWorkflowFreesCapacity(t *testing.T) {
	w, c := worktest.New(t), newCast(t)
	w.Room = 1
	c.do("echo", echo)
	plan, faults := workflow.Parse(
		json.RawMessage(
			`[{"parallel":[{"name":"a","agent":"echo","input":{"x":1}},{"name":"b","agent":"echo","input":{"x":2}}]},`+
				`{"name":"c","agent":"echo","input":{"x":"$.steps.b.output.x"}}]`), nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	b := parley.Blueprint{Name: "flow", Type: parley.AgentTypeWorkflow, ParametersSchema: json.RawMessage(anything),
		Subscriptions: json.RawMessage(`[{"schema_name":"ask.v1"}]`)}
	a, err := work.New(&b, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.all["flow"], c.blueprints = a, append(c.blueprints, b)
	w.Serve(c.all, c.blueprints...)
	if s := w.Start("flow", `{}`); s.Status != parley.SessionCompleted || string(s.Result.ResultData) != `{"x":2}` {
		t.Errorf("%s", worktest.Indent(s))
	}
	id := w.Create("flow")
	for range 2 { // the second turn has its own sessions
		seq := w.Say(id, parley.Message{Schema: "ask.v1", Data: json.RawMessage(`{}`)})
		if m := w.Answers(id, seq, 1)[0]; string(m.Data) != `{"x":2}` || m.Schema != parley.ToolResponseSchema {
			t.Errorf("%s", worktest.Indent(m))
		}
	}
	started := w.Until(id, 0, 6, func(e *parley.Event) bool {
		p, err := e.System()
		return e.Type == parley.TypeSystem && err == nil && p.Kind == parley.KindSessionStarted
	})
	if len(started) != 6 {
		t.Errorf("%d sessions", len(started))
	}
}

// Too many steps and too deeply nested groups are refused. The limits themselves are accepted.
func TestBounds(t *testing.T) {
	steps := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"name":"s%d","agent":"a"}`, i)
		}
		return strings.Join(all, ",")
	}
	deep := func(n int) string { return strings.Repeat(`{"parallel":[`, n) + steps(1) + strings.Repeat("]}", n) }
	for text, want := range map[string]string{
		steps(workflow.MaxSteps):                            "",
		steps(workflow.MaxSteps + 1):                        "steps: expected at most 64 steps",
		`{"parallel":[` + steps(workflow.MaxSteps+1) + `]}`: "steps: expected at most 64 steps",
		deep(workflow.MaxNesting):                           "",
		deep(workflow.MaxNesting +
			1): "steps[0].parallel[0].parallel[0].parallel[0].parallel[0].parallel: expected at " +
			"most 4 nested groups",
	} {
		plan, faults := workflow.Parse(json.RawMessage("["+text+"]"), nil)
		if (plan == nil) != (want != "") ||
			want != "" && (len(faults) != 1 || faults[0].Path+": "+faults[0].Message != want) {
			t.Errorf("%.60s: %v", text, faults)
		}
	}
}
