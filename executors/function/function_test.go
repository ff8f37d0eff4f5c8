package function_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/internal/worktest"
)

// serve runs functions at a separate hub.
func serve(t *testing.T, all function.Set, adjust func(*parley.Blueprint)) *worktest.World {
	t.Helper()
	w, agents, blueprints := worktest.New(t), worktest.Mux{}, []parley.Blueprint{}
	for _, name := range all.Names() {
		b := parley.Blueprint{Name: name, Type: parley.AgentTypeWorkflow,
			ParametersSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","default":7}}}`)}
		if adjust != nil {
			adjust(&b)
		}
		a, err := function.Agent(b, all[name])
		if err != nil {
			t.Fatal(err)
		}
		if a.Blueprint().Type != parley.AgentTypeFunction {
			t.Errorf("the type of %s is %s", name, a.Blueprint().Type)
		}
		agents[name], blueprints = a, append(blueprints, a.Blueprint())
	}
	w.Serve(agents, blueprints...)
	return w
}

// returning returns a function that returns a value.
func returning(v any) function.Func {
	return func(context.Context, *work.Job) (any, error) { return v, nil }
}

// The value of a function is the result: a string as it is, other values as JSON. Its parameters
// have the defaults.
func TestResults(t *testing.T) {
	all := function.Set{
		"text":    returning("as <it> is\n"),
		"number":  returning(1.5),
		"list":    returning([]string{"a", "b"}),
		"nothing": returning(nil),
		"json":    returning(json.RawMessage(`{"a": [1, 2]}`)),
		"echo":    func(_ context.Context, j *work.Job) (any, error) { return j.Parameters, nil },
	}
	w := serve(t, all, nil)
	for agent, want := range map[string]string{"text": "as <it> is\n", "number": "1.5", "list": `["a","b"]`,
		"nothing": "null", "json": `{"a":[1,2]}`, "echo": `{"n":7}`} {
		s := w.Start(agent, `{}`)
		if s.Status != parley.SessionCompleted || s.Result.ResultText == nil || *s.Result.ResultText != want ||
			s.Result.ResultType != parley.AgentTypeFunction {
			t.Errorf("%s: %s", agent, worktest.Indent(s))
		}
	}
}

// attempts records the calls of a function.
type attempts struct {
	mu   sync.Mutex // guards the fields below
	keys []string
	nums []int
}

func (a *attempts) note(j *work.Job) (nth int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys, a.nums = append(a.keys, j.Key()), append(a.nums, j.Turn.Attempt)
	return len(a.nums)
}

// An Error, wrapped or not, is the answer of the first attempt. Any other error, a panic and a
// value that cannot be encoded are failed attempts. There are three with the same key.
func TestAttempts(t *testing.T) {
	final := &function.Error{Reason: "too_hard", Text: "I cannot",
		Faults: []parley.ValidationError{{Path: "$.n", Message: "is too large"}}}
	for name, c := range map[string]struct {
		f        function.Func
		attempts int
		status   parley.SessionStatus
		text     string // of the result, or of the error
	}{
		"final": {func(context.Context, *work.Job) (any, error) { return nil, final }, 1, parley.SessionFailed,
			"I cannot"},
		"final-wrapped": {func(context.Context, *work.Job) (any, error) { return "lost", fmt.Errorf("calc: %w", final) }, 1,
			parley.SessionFailed, "I cannot"},
		"error": {func(context.Context, *work.Job) (any, error) { return nil, errors.New("no line") }, 3,
			parley.SessionFailed, ""},
		"panic":   {func(context.Context, *work.Job) (any, error) { panic("no line") }, 3, parley.SessionFailed, ""},
		"no-json": {returning(func() {}), 3, parley.SessionFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // pauses follow failed attempts
			var a attempts
			w := serve(t, function.Set{"calc": func(ctx context.Context, j *work.Job) (any, error) {
				a.note(j)
				return c.f(ctx, j)
			}}, nil)
			s := w.Start("calc", `{"n":1}`)
			if s.Status != c.status || !strings.HasPrefix(s.Result.Error, c.text) || s.Result.Error == "" {
				t.Errorf("%s", worktest.Indent(s))
			}
			if c.text != "" && (len(s.Result.ValidationErrors) != 1 || s.Result.ValidationErrors[0] != final.Faults[0]) {
				t.Errorf("faults %+v", s.Result.ValidationErrors)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if want := []int{1, 2, 3}[:c.attempts]; !slices.Equal(a.nums, want) {
				t.Errorf("attempts %v, expected %v", a.nums, want)
			}
			if len(slices.Compact(slices.Clone(a.keys))) != 1 || a.keys[0] != s.SessionID {
				t.Errorf("keys %v, expected %s each time", a.keys, s.SessionID)
			}
		})
	}
}

// A second attempt that succeeds is the answer.
func TestSecondAttempt(t *testing.T) {
	var a attempts
	w := serve(t, function.Set{"calc": func(_ context.Context, j *work.Job) (any, error) {
		if a.note(j) == 1 {
			return nil, errors.New("no line")
		}
		return "at last", nil
	}}, nil)
	s := w.Start("calc", `{}`)
	if s.Status != parley.SessionCompleted || *s.Result.ResultText != "at last" || len(a.nums) != 2 {
		t.Errorf("after %v: %s", a.nums, worktest.Indent(s))
	}
}

// The ctx of a function ends at the timeout of its agent, which is the answer.
func TestTimeout(t *testing.T) {
	ended := make(chan error, 1)
	w := serve(t, function.Set{"calc": func(ctx context.Context, _ *work.Job) (any, error) {
		select {
		case <-ctx.Done():
			ended <- context.Cause(ctx)
		case <-time.After(worktest.Patience):
			ended <- nil
		}
		return nil, ctx.Err()
	}}, func(b *parley.Blueprint) { b.TimeoutMs = 1000 })
	s := w.Start("calc", `{}`)
	if err := <-ended; err == nil || s.Status != parley.SessionFailed || s.Reason != work.ReasonTimeout {
		t.Errorf("ctx ended with %v: %s", err, worktest.Indent(s))
	}
}

// The names of a set are sorted. An invalid schema is an error of Agent.
func TestNames(t *testing.T) {
	if got := (function.Set{"b": nil, "c": nil, "a": nil}).Names(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("names %v", got)
	}
	_, err := function.Agent(parley.Blueprint{Name: "x", ParametersSchema: json.RawMessage(`{"type":7}`)}, returning(nil))
	if err == nil || !strings.Contains(err.Error(), "agent x: parameters_schema") {
		t.Errorf("an invalid schema: %v", err)
	}
}
