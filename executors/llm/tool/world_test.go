package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// patience is how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// world is a real hub with a conversation. The agent bot has the floor, and the human ann may
// resolve approvals.
type world struct {
	*testing.T
	hub     *sdktest.Hub
	id      string
	ann     parley.Client
	between func(parley.Client) parley.Client // wraps the client of bot; may be nil
	dial    func() parley.Client              // returns the client of bot; nil for one inside the hub
	steps   int                               // earlier steps of the turn
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, hub: sdktest.NewHub(t)}
	w.ann = w.hub.InProcess(t, "ann", append([]parley.Scope{parley.ScopeApprove}, parley.DefaultScopes...)...)
	s, err := w.hub.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "bot", Kind: parley.KindAgent}, {ID: "ann", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.id = s.ConversationID
	return w
}

// attempts runs attempts of bot's turn. Each except the last ends like a killed process, when it
// returns or the test cancels its ctx.
func (w *world) attempts(each ...func(ctx context.Context, turn *parley.Turn)) {
	w.Helper()
	for i, do := range each {
		w.attempt(i == len(each)-1, do)
	}
}

func (w *world) attempt(last bool, do func(ctx context.Context, turn *parley.Turn)) {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	done, ended := make(chan struct{}), make(chan error, 1)
	agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		defer close(done)
		if w.between != nil {
			turn.Client = w.between(turn.Client)
		}
		do(ctx, turn)
		if !last {
			return "", errors.New("killed")
		}
		_, err := turn.Post(ctx, parley.Message{Text: "done"}, parley.FinalityTurn)
		return parley.TurnPosted, err
	})
	dial := w.dial
	if dial == nil {
		dial = func() parley.Client { return w.hub.InProcess(w.T, "bot") }
	}
	client := dial()
	go func() { ended <- executors.Run(ctx, client, agent, &executors.Options{Drain: -1}) }()
	select {
	case <-done:
	case <-time.After(patience):
		w.Fatal("the turn does not start or end")
	}
	stop()
	<-ended
	client.Close()
}

// serve runs an agent of sessions under a name until the test ends. It returns when the hub has
// registered it.
func (w *world) serve(b parley.Blueprint, runner string,
	do func(ctx context.Context, turn *parley.Turn, parameters json.RawMessage) *parley.SessionResult) {
	w.Helper()
	if len(b.ParametersSchema) == 0 {
		b.ParametersSchema = json.RawMessage(`{}`)
	}
	b.ParamsVia = parley.ParamsStdin // accepts any parameters
	registered := make(chan struct{}, 10)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		u, err := turn.Updates(ctx)
		if err != nil {
			return "", err
		}
		m, err := u.Messages[len(u.Messages)-1].Message()
		if err != nil {
			return "", err
		}
		r := do(ctx, turn, m.Parameters)
		o := parley.Outcome{Status: parley.OutcomeCompleted}
		if r.Error != "" {
			o = parley.Outcome{Status: parley.OutcomeFailed, Reason: "error"}
		}
		_, err = turn.Complete(ctx, parley.Message{Result: r}, o)
		return parley.TurnComplete, err
	})
	client := w.hub.InProcess(w.T, "runner-"+runner)
	go func() {
		ended <- executors.Run(ctx, client, agent, &executors.Options{
			Blueprints: []parley.Blueprint{b}, ExecutorID: runner, Drain: -1,
			Registered: func(*parley.RegisterBlueprintsResult) { registered <- struct{}{} },
		})
	}()
	w.Cleanup(func() {
		stop()
		<-ended
	})
	select {
	case <-registered:
	case err := <-ended:
		w.Fatalf("the runner has ended: %v", err)
	case <-time.After(patience):
		w.Fatal("the hub does not know the agent")
	}
}

// textResult returns a result with a text.
func textResult(s string) *parley.SessionResult {
	return &parley.SessionResult{ResultType: parley.AgentTypeDeterministic, ResultText: &s}
}

// box returns a Box with a config.
func (w *world) box(o tool.Options) *tool.Box {
	w.Helper()
	if o.Name == "" {
		o.Name = "bot"
	}
	b, err := tool.New(&o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = b.Close() })
	return b
}

// run runs the calls of a step.
func (w *world) run(ctx context.Context, turn *parley.Turn, b *tool.Box, calls ...llm.ToolCall) []llm.ToolResult {
	w.Helper()
	results, err := w.try(ctx, turn, b, calls...)
	if err != nil {
		w.Errorf("the turn cannot go on: %v", err)
		return make([]llm.ToolResult, len(calls))
	}
	return results
}

func (w *world) try(ctx context.Context, turn *parley.Turn, b *tool.Box, calls ...llm.ToolCall) ([]llm.ToolResult,
	error) {
	l, err := record.Open(ctx, turn)
	if err != nil {
		return nil, err
	}
	if _, _, err := b.Specs(ctx, turn.Client); err != nil {
		return nil, err
	}
	return b.Run(ctx, &tool.Round{Turn: turn, Record: l, Phase: record.PhaseExecute, Step: 1 + w.steps, Calls: calls})
}

// once runs calls in a turn of a new world.
func (w *world) once(b *tool.Box, calls ...llm.ToolCall) (results []llm.ToolResult) {
	w.Helper()
	w.attempts(func(ctx context.Context, turn *parley.Turn) { results = w.run(ctx, turn, b, calls...) })
	return results
}

func call(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// function returns a tool with the string parameter x.
func function(t testing.TB, name string, f func(ctx context.Context, c *tool.Call) (*tool.Result, error)) tool.Tool {
	t.Helper()
	made, err := tool.NewFunc(name, "Does "+name+".",
		json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}`), f)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// echo returns a tool that returns its arguments.
func echo(t testing.TB, name string) tool.Tool {
	t.Helper()
	return function(t, name, func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		return &tool.Result{Text: string(c.Arguments)}, nil
	})
}

// trace is a trace of the conversation.
type trace struct {
	Kind string
	Data map[string]any
}

// traces returns the traces of a kind.
func (w *world) traces(kind string) (all []trace) {
	w.Helper()
	for _, e := range w.events() {
		var t struct {
			Kind string          `json:"kind"`
			Data json.RawMessage `json:"data"`
		}
		if e.Type != parley.TypeTrace {
			continue
		}
		if err := json.Unmarshal(e.Payload, &t); err != nil || t.Kind != kind {
			continue
		}
		var data map[string]any
		if err := json.Unmarshal(t.Data, &data); err != nil {
			w.Fatal(err)
		}
		all = append(all, trace{t.Kind, data})
	}
	return all
}

func (w *world) events() []parley.Event {
	w.Helper()
	var all []parley.Event
	for since := int64(0); ; {
		page, err := w.hub.Admin(w.T).Tail(w.Context(),
			&parley.TailParams{ConversationID: w.id, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			w.Fatal(err)
		}
		if all = append(all, page.Events...); page.NextSeq >= page.LatestSeq {
			return all
		}
		since = page.NextSeq
	}
}

// system counts the system events of a kind.
func (w *world) system(kind string) (n int) {
	for _, e := range w.events() {
		if s, err := e.System(); e.Type == parley.TypeSystem && err == nil && s.Kind == kind {
			n++
		}
	}
	return n
}

// pending waits until n approvals are pending.
func (w *world) pending(n int) []parley.Approval {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		page, err := w.ann.ListApprovals(w.Context(), &parley.ListApprovalsParams{ConversationID: w.id})
		if err != nil {
			w.Error(err)
			return nil
		}
		if len(page.Approvals) >= n {
			return page.Approvals
		}
	}
	w.Errorf("%d approvals are not pending", n)
	return nil
}

// later runs f concurrently. The test waits for it.
func (w *world) later(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	w.Cleanup(func() { <-done })
}

// answer resolves an approval as ann.
func (w *world) answer(p parley.ResolveApprovalParams) {
	if _, err := w.ann.ResolveApproval(context.WithoutCancel(w.Context()), &p); err != nil {
		w.Errorf("answer %s: %v", p.ApprovalID, err)
	}
}

// want compares texts.
func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, want)
	}
}

func contains(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s is\n%s\nwant in it\n%s", what, got, p)
		}
	}
}

// spec returns the spec of a tool.
func spec(t testing.TB, all []llm.ToolSpec, name string) llm.ToolSpec {
	t.Helper()
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no %s in %v", name, specNames(all))
	return llm.ToolSpec{}
}

func specNames(all []llm.ToolSpec) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return fmt.Sprint(names)
}

// asks runs an agent that asks a question.
func (w *world) asks(name string) {
	w.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	client := w.hub.InProcess(w.T, name)
	go func() {
		ended <- executors.Run(ctx, client,
			parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				_, err := turn.Post(ctx, parley.Message{Text: "For how many?"}, parley.FinalityTurn)
				return parley.TurnPosted, err
			}), &executors.Options{Drain: -1})
	}()
	w.Cleanup(func() {
		stop()
		<-ended
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if r, err := w.ann.ListAgents(w.Context(), &parley.ListAgentsParams{}); err == nil && len(r.Agents) > 0 {
			return
		}
	}
	w.Fatal("the hub does not know the agent")
}
