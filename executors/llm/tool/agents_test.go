package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/toolnames"
)

// An agent of the hub is a tool, and a call of it is a session.
func TestAgents(t *testing.T) {
	w := newWorld(t)
	schema := json.RawMessage(
		`{"type":"object","properties":{"n":{"type":"integer","default":1}},"required":["n"],"additionalProperties":false}`)
	w.serve(parley.Blueprint{Name: "count.er", Description: "Counts.", ParametersSchema: schema}, "run-1",
		func(_ context.Context, _ *parley.Turn, p json.RawMessage) *parley.SessionResult {
			var q struct{ N int }
			if err := json.Unmarshal(p, &q); err != nil {
				t.Error(err)
			}
			switch q.N {
			case 2:
				r := textResult("text")
				r.ResultData = json.RawMessage(`{"n":2}`)
				return r
			case 3:
				r := textResult("")
				r.Error, r.ResultText, r.ValidationErrors = "no", nil, []parley.ValidationError{
					{Path: "$.a", Message: "odd", SchemaPath: "type"}}
				return r
			}
			return textResult("one")
		})
	config := &parley.AgentConfig{Agents: []string{"count.er@run-1"}}
	b := w.box(tool.Options{Config: config})
	name := toolnames.ForAgent(config.Agents[0])
	var texts []string
	w.attempts(func(ctx context.Context, turn *parley.Turn) {
		specs, _, err := b.Specs(ctx, turn.Client)
		if err != nil {
			t.Error(err)
			return
		}
		s := spec(t, specs, name)
		want(t, "the description", s.Description, "Counts.")
		contains(t, "the parameters", string(s.Parameters), `"default":1`)
		for _, r := range w.run(ctx, turn, b, call("a", name, `{}`), call("b", name, `{"n":2}`), call("c", name, `{"n":3}`),
			call("d", name, `{"n":"x"}`)) {
			texts = append(texts, r.Text)
		}
	})
	want(t, "a text", texts[0], "one")
	want(t, "data", texts[1], `{"n":2}`)
	contains(t, "a failure", texts[2], `"error":"failed"`, `(error): no`, `"validation_errors":[{"path":"$.a"`)
	contains(t, "bad arguments", texts[3], `"error":"invalid_arguments"`, `$.n`)
	if n := w.system(parley.KindSessionStarted); n != 3 {
		t.Errorf("%d sessions were started", n)
	}
}

// The config names an agent that is not registered. The error names it, and the next attempt can
// succeed.
func TestAbsentAgent(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.box(tool.Options{Config: &parley.AgentConfig{Agents: []string{"nobody"}}}).Specs(t.Context(), w.ann)
	if !errors.Is(err, parley.ErrUnavailable) || !parley.ErrorRowOf(err).Retryable {
		t.Fatal(err)
	}
	contains(t, "the error", err.Error(), "nobody", "start the executor")
}

// stale is a client that lists agents without parameter schemas.
type stale struct{ parley.Client }

func (s stale) ListAgents(ctx context.Context, p *parley.ListAgentsParams) (*parley.ListAgentsResult, error) {
	r, err := s.Client.ListAgents(ctx, p)
	for i := range r.Agents {
		r.Agents[i].ParametersSchema = json.RawMessage(`{}`)
	}
	return r, err
}

// If the hub refuses the parameters, the model reads the errors and the schema.
func TestCorrected(t *testing.T) {
	w := newWorld(t)
	w.serve(parley.Blueprint{Name: "strict",
		ParametersSchema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`)},
		"run-1",
		func(context.Context, *parley.Turn, json.RawMessage) *parley.SessionResult { return textResult("ok") })
	w.between = func(c parley.Client) parley.Client { return stale{c} }
	r := w.once(w.box(tool.Options{Config: &parley.AgentConfig{Agents: []string{"strict"}}}),
		call("a", "strict", `{"uri":"x"}`))
	contains(t, "what the model reads", r[0].Text, `"error":"parameter_validation_failed"`,
		`"validation_errors":[{"path":"$`, `"parameters_schema":{"type":"object"`, `"hint":`)
}

// An attempt that passes other parameters to an agent or child starts other sessions. With equal
// parameters it finds the existing ones.
func TestOtherSession(t *testing.T) {
	w := newWorld(t)
	begun := make(chan struct{}, 10)
	does := func(_ context.Context, _ *parley.Turn, p json.RawMessage) *parley.SessionResult {
		begun <- struct{}{}
		return textResult("did " + string(p))
	}
	w.serve(parley.Blueprint{Name: "helper"}, "run-1", does)
	w.serve(parley.Blueprint{Name: "bot.child"}, "run-2", does)
	b := w.box(tool.Options{
		Config: &parley.AgentConfig{Agents: []string{"helper"}, AllowSelfSpawn: true, AllowParallelSubagents: true}})
	calls := func(x string) []llm.ToolCall {
		return []llm.ToolCall{
			call("a", "helper", `{"x":"`+x+`"}`), call("b", toolnames.SpawnSelf, `{"task":"`+x+`"}`),
			call("c", toolnames.Parallel, `{"jobs":[{"task":"same"},{"task":"`+x+`"}]}`),
		}
	}
	w.attempt(false, func(ctx context.Context, turn *parley.Turn) {
		ctx, kill := context.WithCancel(ctx)
		turn.Client = &unheard{turn.Client} // so that no call has a recorded end
		w.later(func() {
			for range 4 {
				<-begun
			}
			kill()
		})
		if _, err := w.try(ctx, turn, b, calls("1")...); !errors.Is(err, context.Canceled) {
			t.Errorf("the first attempt: %v", err)
		}
	})
	w.attempt(true, func(ctx context.Context, turn *parley.Turn) {
		for i, r := range w.run(ctx, turn, b, calls("2")...) {
			if strings.Contains(r.Text, "conflict") || r.IsError {
				t.Errorf("call %d: the model reads %s", i, r.Text)
			}
			contains(t, "what the model reads", r.Text, `"2`)
		}
	})
	if n := w.system(parley.KindSessionStarted); n != 7 {
		t.Errorf("%d sessions were started", n)
	}
}

// unheard is a client that never reports the end of a session.
type unheard struct{ parley.Client }

func (u *unheard) StartSession(ctx context.Context, p *parley.StartSessionParams) (*parley.Session, error) {
	if _, err := u.Client.StartSession(ctx, p); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}
