package record_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// attempts runs functions as the attempts of one turn at a real hub. If restart is true, the hub
// restarts between them, so the claim ends without counting as an attempt.
func attempts(t *testing.T, restart bool, each ...func(ctx context.Context, turn *parley.Turn) error) {
	t.Helper()
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	for i, do := range each {
		last := i == len(each)-1
		ctx, stop := context.WithCancel(t.Context())
		done, ended := make(chan error, 1), make(chan error, 1)
		agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			err := do(ctx, turn)
			if err == nil && last {
				_, err = turn.Post(ctx, parley.Message{Text: "done"}, parley.FinalityTurn)
			}
			done <- err
			if !last {
				<-ctx.Done()
				return "", errors.New("killed")
			}
			return parley.TurnPosted, err
		})
		client := parley.Client(nil)
		if restart {
			client = h.InProcess(t, "a")
		} else {
			client = h.Client(t, "a")
		}
		go func() { ended <- executors.Run(ctx, client, agent, &executors.Options{Drain: -1, Logger: nil}) }()
		if err := <-done; err != nil {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
		if restart && !last {
			h.Restart(t)
		}
		stop()
		<-ended
	}
	page, err := h.Admin(t).Tail(t.Context(), &parley.TailParams{ConversationID: id})
	if err != nil || page.LatestSeq == 0 {
		t.Fatal(err)
	}
}

func step(number int, hash, text string) *record.Step {
	return &record.Step{Phase: record.PhaseExecute, Number: number, InputHash: hash,
		Message: llm.Message{Role: llm.RoleAssistant, Text: text}}
}

// The next attempt reads the steps and tools of the earlier one, also after a restart of the hub.
func TestNextAttempt(t *testing.T) {
	for name, restart := range map[string]bool{"failed": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			attempts(t, restart, func(ctx context.Context, turn *parley.Turn) error {
				l, err := record.Open(ctx, turn)
				if err != nil {
					return err
				}
				if _, ok := l.Step(record.PhaseExecute, 1, "h"); ok {
					t.Error("a step before any")
				}
				if s, e := l.Tool("execute.1.0"); s != nil || e != nil {
					t.Error("a tool before any")
				}
				return errors.Join(
					l.AddStep(ctx, step(1, "h", "hello")),
					l.Start(ctx, &record.ToolStarted{Key: "execute.1.0", Tool: "one", Arguments: json.RawMessage(`{"x":1}`)}),
					l.End(ctx, &record.ToolEnded{Key: "execute.1.0", Tool: "one", Text: "1"}),
					l.Start(ctx, &record.ToolStarted{Key: "execute.1.1", Tool: "two", Arguments: json.RawMessage(`{}`)}),
					l.AddTrace(ctx, record.KindCompacted, "made short", map[string]int{"messages": 2}),
				)
			}, func(ctx context.Context, turn *parley.Turn) error {
				if restart != (turn.Attempt == 1) {
					t.Errorf("attempt %d", turn.Attempt)
				}
				l, err := record.Open(ctx, turn)
				if err != nil {
					return err
				}
				if s, ok := l.Step(record.PhaseExecute, 1, "h"); !ok || s.Message.Text != "hello" {
					t.Errorf("step 1 is %+v, %v", s, ok)
				}
				for _, c := range []struct {
					phase  record.Phase
					number int
					hash   string
				}{{record.PhasePlan, 1, "h"}, {record.PhaseExecute, 2, "h"}} {
					if _, ok := l.Step(c.phase, c.number, c.hash); ok {
						t.Errorf("an answer to another question: %+v", c)
					}
				}
				if s, e := l.Tool("execute.1.0"); s == nil || e == nil || string(s.Arguments) != `{"x":1}` || e.Text != "1" {
					t.Errorf("tool one: %+v %+v", s, e)
				}
				if s, e := l.Tool("execute.1.1"); s == nil || e != nil {
					t.Errorf("tool two: %+v %+v", s, e)
				}
				if all := l.Ended(); len(all) != 1 || all[0].Tool != "one" {
					t.Errorf("ended: %+v", all)
				}
				if said := l.Traces(record.KindCompacted); len(said) != 1 || string(said[0]) != `{"messages":2}` {
					t.Errorf("said: %s", said)
				}
				if left, err := turn.Earlier(ctx); err != nil || len(left) < 5 {
					t.Errorf("Earlier returned %d events, %v", len(left), err)
				}
				return nil
			})
		})
	}
}

// The answer to another question does not count, unless a tool started after it.
func TestOtherQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(ctx context.Context, turn *parley.Turn, l *record.Log) error
		binds bool
	}{
		"nothing": {func(context.Context, *parley.Turn, *record.Log) error { return nil }, false},
		"began": {func(ctx context.Context, _ *parley.Turn, l *record.Log) error {
			return l.Start(ctx, &record.ToolStarted{Key: "execute.1.0"})
		}, true},
		"ended": {func(ctx context.Context, _ *parley.Turn, l *record.Log) error {
			return l.End(ctx, &record.ToolEnded{Key: "execute.1.0"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			attempts(t, false, func(ctx context.Context, turn *parley.Turn) error {
				l, err := record.Open(ctx, turn)
				compact := step(1, "h", "short")
				compact.Phase = record.PhaseCompact
				return errors.Join(err, l.AddStep(ctx, compact), l.AddStep(ctx, step(1, "h", "hello")), c.do(ctx, turn, l),
					l.AddStep(ctx, step(2, "h", "last")))
			}, func(ctx context.Context, turn *parley.Turn) error {
				l, err := record.Open(ctx, turn)
				if s, ok := l.Step(record.PhaseExecute, 1, "new"); ok != c.binds || ok && s.Message.Text != "hello" {
					t.Errorf("step 1 is %+v, %v", s, ok)
				}
				if _, ok := l.Step(record.PhaseExecute, 2, "new"); ok {
					t.Error("a step without a later tool call is used")
				}
				if _, ok := l.Step(record.PhaseCompact, 1, "new"); ok {
					t.Error("the summary of other messages is used")
				}
				return errors.Join(err, l.AddStep(ctx, step(1, "new", "bye")))
			}, func(ctx context.Context, turn *parley.Turn) error {
				l, err := record.Open(ctx, turn)
				if s, ok := l.Step(record.PhaseExecute, 1, "new"); !ok || (s.Message.Text == "bye") == c.binds {
					t.Errorf("step 1 is %+v, %v", s, ok)
				}
				if s, e := l.Tool("execute.1.0"); (s != nil || e != nil) != (name == "began" || name == "ended") {
					t.Errorf("the tool is %+v %+v", s, e)
				}
				return err
			})
		})
	}
}

// Data that is too large or cannot be stored as JSON is recorded all the same. The writer continues
// with the same data as a reader.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	large := strings.Repeat("<é\x00", 1<<17)
	wrote := map[string]*record.Step{}
	for name, s := range map[string]*record.Step{
		"text": step(1, "h", large),
		"opaque": {
			Message: llm.Message{Text: "x",
				Opaque: &llm.Opaque{Provider: "p", Data: json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)}}},
		"arguments": {
			Message: llm.Message{
				ToolCalls: []llm.ToolCall{{ID: "1", Name: "t", Arguments: large}, {ID: "2", Name: "t", Arguments: "{}"}}}},
		"deep":      {Message: llm.Message{Opaque: &llm.Opaque{Provider: "p", Data: json.RawMessage(deep)}}},
		"twice":     {Message: llm.Message{Opaque: &llm.Opaque{Provider: "p", Data: json.RawMessage(`{"a":1,"a":2}`)}}},
		"surrogate": {Message: llm.Message{Opaque: &llm.Opaque{Provider: "p", Data: json.RawMessage(`"\ud800"`)}}},
	} {
		s.Phase, s.Number, s.InputHash = record.PhaseExecute, len(wrote)+1, name
		wrote[name] = s
	}
	attempts(t, false, func(ctx context.Context, turn *parley.Turn) error {
		l, err := record.Open(ctx, turn)
		for _, s := range wrote {
			err = errors.Join(err, l.AddStep(ctx, s))
		}
		return errors.Join(err,
			l.Start(ctx,
				&record.ToolStarted{Key: "k", Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`)}),
			l.End(ctx, &record.ToolEnded{Key: "k", Text: large}),
			l.AddTrace(ctx, record.KindProgress, large, strings.Repeat("x", 2<<20)),
		)
	}, func(ctx context.Context, turn *parley.Turn) error {
		l, err := record.Open(ctx, turn)
		for name, want := range wrote {
			got, ok := l.Step(record.PhaseExecute, want.Number, name)
			a, _ := json.Marshal(want)
			b, _ := json.Marshal(got)
			if !ok || !slices.Equal(a, b) {
				t.Errorf("%s: read %.200s, wrote %.200s", name, b, a)
			}
		}
		if s := wrote["text"]; !strings.HasSuffix(s.Message.Text, record.CutMark) {
			t.Error("a text that was cut has no mark")
		}
		s, e := l.Tool("k")
		if s == nil || e == nil || !strings.HasSuffix(e.Text, record.CutMark) || !json.Valid(s.Arguments) {
			t.Errorf("the tool is %.100v %.100v", s, e)
		}
		return err
	})
}
