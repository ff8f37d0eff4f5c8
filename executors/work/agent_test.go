package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/internal/worktest"
)

const onAsk = `[{"schema_name":"ask.v1"}]`

// world is a worktest.World whose agents may be functions.
type world struct{ *worktest.World }

func newWorld(t *testing.T) *world { return &world{worktest.New(t)} }

// functions runs functions that subscribe to ask.v1.
func (w *world) functions(schema, output string, o *work.Options, all function.Set) {
	w.Helper()
	agents, blueprints := worktest.Mux{}, []parley.Blueprint{}
	for _, name := range all.Names() {
		b := parley.Blueprint{
			Name: name, Type: parley.AgentTypeFunction, ParametersSchema: json.RawMessage(schema),
			OutputSchema: json.RawMessage(output), Subscriptions: json.RawMessage(onAsk),
		}
		a, err := work.New(&b, all[name], o)
		if err != nil {
			w.Fatal(err)
		}
		agents[name], blueprints = a, append(blueprints, a.Blueprint())
	}
	w.Serve(agents, blueprints...)
}

// ask sends a message that triggers the tool, and returns its answer.
func (w *world) ask(conversation, text, data string) parley.Message {
	w.Helper()
	seq := w.Say(conversation, parley.Message{Text: text, Schema: "ask.v1", Data: json.RawMessage(data)})
	return w.Answers(conversation, seq, 1)[0]
}

// Parameters from a message get defaults and are validated. The answer, also of a failure, is one
// message.
func TestSeat(t *testing.T) {
	w := newWorld(t)
	w.functions(
		`{"type":"object","properties":{"n":{"type":"integer"},"depth":{"type":"integer","default":2}},"required":["n"]}`,
		`{"type":"object"}`, nil, function.Set{
			"calc": func(_ context.Context, j *work.Job) (any, error) {
				var p struct{ N, Depth int }
				if err := json.Unmarshal(j.Parameters, &p); err != nil {
					return nil, err
				}
				switch p.N {
				case 1:
					return map[string]int{"sum": p.N + p.Depth}, nil
				case 2:
					return nil, &function.Error{Reason: "too_hard", Text: "I cannot"}
				case 3:
					return "no object", nil
				}
				return map[string]string{"much": strings.Repeat("<", 100<<10)}, nil
			},
		})
	id := w.Create("calc")
	if m := w.ask(id, "", `{"input":{"n":1,"depth":null}}`); string(m.Data) != `{"sum":3}` || m.Text != `{"sum":3}` ||
		m.Schema != parley.ToolResponseSchema || len(m.Tags) > 0 {
		t.Errorf("%s", worktest.Indent(m))
	}
	for data, want := range map[string]work.Failure{
		`{"input":{"n":2}}`: {Reason: "too_hard", Error: "I cannot"},
		`{"input":{"n":3}}`: {Reason: work.ReasonSchema, Error: "The result does not match the agent's output_schema"},
		`{"input":{"n":"x"}}`: {Reason: work.ReasonParameters,
			Error: "The parameters do not match the agent's parameters_schema"},
		`{"input":7}`: {Reason: work.ReasonParameters,
			Error: "The parameters do not match the agent's parameters_schema"},
		`{}`: {Reason: work.ReasonParameters,
			Error: "The parameters do not match the agent's parameters_schema"},
	} {
		m := w.ask(id, "", data)
		var got work.Failure
		if err := json.Unmarshal(m.Data, &got); err != nil || got.Reason != want.Reason || got.Error != want.Error ||
			m.Text != want.Error || got.Status != parley.SessionFailed ||
			(len(got.ValidationErrors) > 0) != (want.Reason != "too_hard") {
			t.Errorf("%s: %s %v", data, worktest.Indent(m), err)
		}
	}
	m := w.ask(id, "", `{"input":{"n":4}}`)
	if len(m.Attachments) != 1 || m.Data != nil || len(m.Text) != work.HeadBytes {
		t.Fatalf("%.500s", worktest.Indent(m))
	}
	a, err := w.Ann.GetAttachment(t.Context(),
		&parley.GetAttachmentParams{ConversationID: id, SHA256: m.Attachments[0].SHA256})
	if err != nil || string(a.Data) != `{"much":"`+strings.Repeat("<", 100<<10)+`"}` {
		t.Errorf("%v %.100s", err, a.Data)
	}
}

// An agent with a prompt gets the text or the data of the message. Without a trigger it gets the
// last message of another participant.
func TestPrompt(t *testing.T) {
	w := newWorld(t)
	w.functions("", "", nil,
		function.Set{"says": func(_ context.Context, j *work.Job) (any, error) { return j.Parameters, nil }})
	id := w.Create("says")
	for data, want := range map[string]string{`{"input":"go <on>"}`: `{"prompt":"go <on>"}`,
		`{"x":1}`: `{"prompt":"words"}`, `[1]`: `{"prompt":"words"}`} {
		if m := w.ask(id, "words", data); m.Text != want {
			t.Errorf("%s: %s", data, worktest.Indent(m))
		}
	}
	if m := w.ask(id, "", `{"x":1}`); m.Text != `{"prompt":"{\"x\":1}"}` {
		t.Errorf("%s", worktest.Indent(m))
	}
	s, err := w.Ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, {ID: "says", Kind: parley.KindTool}},
	})
	if err != nil {
		t.Fatal(err)
	}
	seq := w.Say(s.ConversationID, parley.Message{Text: "by turns"})
	if m := w.Answers(s.ConversationID, seq, 1)[0]; m.Text != `{"prompt":"by turns"}` {
		t.Errorf("%s", worktest.Indent(m))
	}
}

// An error and a panic are failed attempts of the same job. The third attempt is the last.
func TestAttempts(t *testing.T) {
	w := newWorld(t)
	var calls atomic.Int32
	keys := make(chan string, 10)
	w.functions(`{"type":"object"}`, "", nil, function.Set{
		"shaky": func(_ context.Context, j *work.Job) (any, error) {
			keys <- j.Key()
			switch calls.Add(1) {
			case 1:
				panic("planned")
			case 2:
				return nil, errors.New("not yet")
			}
			return j.Turn.Attempt, nil
		},
		"never": func(_ context.Context, j *work.Job) (any, error) {
			keys <- j.Key()
			return nil, errors.New("never")
		},
	})
	if s := w.Start("shaky", `{}`); s.Status != parley.SessionCompleted || string(s.Result.ResultData) != "3" {
		t.Errorf("%s", worktest.Indent(s))
	}
	if a, b, c := <-keys, <-keys, <-keys; a != b || b != c {
		t.Errorf("%s %s %s", a, b, c)
	}
	if s := w.Start("never", `{}`); s.Status != parley.SessionFailed || s.Result.Error == "" || len(keys) != 3 {
		t.Errorf("%d calls, %s", len(keys), worktest.Indent(s))
	}
}

// Work with Once is not started again in a seat, even if the runner ended. A later attempt answers
// that it was interrupted.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	began := make(chan struct{}, 10)
	job := func(ctx context.Context, j *work.Job) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	once := &work.Options{Once: errors.New("it was interrupted")}
	w.functions(`{"type":"object"}`, "", once, function.Set{"pays": job})
	id := w.Create("pays")
	seq := w.Say(id, parley.Message{Schema: "ask.v1", Data: json.RawMessage(`{}`)})
	<-began
	_ = w.Client.(interface{ Close() error }).Close()
	w.Stop()
	w.functions(`{"type":"object"}`, "", once, function.Set{"pays": job})
	m := w.Answers(id, seq, 1)[0]
	var f work.Failure
	if err := json.Unmarshal(m.Data, &f); err != nil || f.Reason != work.ReasonInterrupted ||
		m.Text != "it was interrupted" || len(began) != 0 {
		t.Errorf("%s %v, started %d more times", worktest.Indent(m), err, len(began))
	}
}

// A timeout is a failure without another attempt.
func TestTimeout(t *testing.T) {
	w := newWorld(t)
	var calls atomic.Int32
	b := parley.Blueprint{Name: "slow", Type: parley.AgentTypeFunction, TimeoutMs: 100}
	a, err := work.New(&b, work.Func(func(ctx context.Context, _ *work.Job) (*work.Output, error) {
		calls.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Serve(worktest.Mux{"slow": a}, a.Blueprint())
	s := w.Start("slow", `{"prompt":"x"}`)
	if s.Status != parley.SessionFailed || s.Reason != work.ReasonTimeout ||
		s.Result.ResultType != parley.AgentTypeFunction || calls.Load() != 1 {
		t.Errorf("%d calls, %s", calls.Load(), worktest.Indent(s))
	}
}
