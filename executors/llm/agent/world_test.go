package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// patience is how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// vendor is a provider whose answers a test defines. It is used like a real one.
type vendor struct {
	name   string
	answer func(ctx context.Context, req *llm.Request) (*llm.Response, error)
	// pieces splits a text into chunks. nil means one chunk.
	pieces func(text string) []string

	mu    sync.Mutex // guards the field below
	asked []llm.Request
}

func (v *vendor) Name() string {
	if v.name == "" {
		return "fake"
	}
	return v.name
}

func (v *vendor) Close() error { return nil }

func (v *vendor) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	v.mu.Lock()
	own := *req
	own.Messages = slices.Clone(req.Messages)
	v.asked = append(v.asked, own)
	v.mu.Unlock()
	resp, err := v.answer(ctx, req)
	if err != nil || emit == nil {
		return resp, err
	}
	all := []string{resp.Text}
	if v.pieces != nil {
		all = v.pieces(resp.Text)
	}
	for _, p := range all {
		if p == "" {
			continue
		}
		if err := emit(llm.Chunk{Text: p}); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// calls returns the requests.
func (v *vendor) calls() []llm.Request {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.asked)
}

// says returns an answer with a text, of 10 prompt and 5 completion tokens.
func says(text string) *llm.Response {
	return &llm.Response{Text: text, Finish: llm.FinishStop,
		Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15}}
}

// wants returns an answer that calls tools: name, arguments, name, arguments...
func wants(calls ...string) *llm.Response {
	r := says("")
	r.Finish = llm.FinishToolCalls
	for i := 0; i < len(calls); i += 2 {
		r.ToolCalls = append(r.ToolCalls, llm.ToolCall{ID: fmt.Sprintf("c%d", i/2), Name: calls[i], Arguments: calls[i+1]})
	}
	return r
}

// phase returns the phase of a request, which it derives from the instructions.
func phase(req *llm.Request) record.Phase {
	switch {
	case req.Instructions == agent.CompactInstructions:
		return record.PhaseCompact
	case strings.HasPrefix(req.Instructions, agent.PlanInstructions), strings.HasPrefix(req.Instructions, "PLAN"):
		return record.PhasePlan
	case strings.Contains(lastText(req), agent.RepairText):
		return record.PhaseRepair
	}
	return record.PhaseExecute
}

func lastText(req *llm.Request) string { return req.Messages[len(req.Messages)-1].Text }

// results counts the tool results in a request.
func results(req *llm.Request) (n int) {
	for _, m := range req.Messages {
		n += len(m.Results)
	}
	return n
}

// inTurn returns one answer after the other. The number of tool results in the request selects it.
func inTurn(all ...*llm.Response) func(context.Context, *llm.Request) (*llm.Response, error) {
	return func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		n := 0
		for _, m := range req.Messages {
			if m.Role == llm.RoleTool {
				n++
			}
		}
		return all[min(n, len(all)-1)], nil
	}
}

func always(text string) func(context.Context, *llm.Request) (*llm.Response, error) {
	return func(context.Context, *llm.Request) (*llm.Response, error) { return says(text), nil }
}

// adder is a tool that counts its runs.
type adder struct {
	name string
	do   func(ctx context.Context, c *tool.Call) (*tool.Result, error)

	mu   sync.Mutex // guards the field below
	runs []string
}

func (a *adder) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: a.name, Description: "adds",
		Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
}

func (a *adder) Run(ctx context.Context, c *tool.Call) (*tool.Result, error) {
	a.mu.Lock()
	a.runs = append(a.runs, string(c.Arguments))
	a.mu.Unlock()
	if a.do != nil {
		return a.do(ctx, c)
	}
	return &tool.Result{Text: a.name + " " + string(c.Arguments)}, nil
}

func (a *adder) ran() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.runs)
}

// world is a hub, and an agent bot that runs beside it.
type world struct {
	*testing.T
	hub     *sdktest.Hub
	vendor  *vendor
	options agent.Options
	models  llm.Models
	tracer  parley.Tracer // of later runners; may be nil
	person  parley.Client // a human named ann
}

func newWorld(t *testing.T, answer func(context.Context, *llm.Request) (*llm.Response, error)) *world {
	t.Helper()
	w := &world{T: t, hub: sdktest.NewHub(t), vendor: &vendor{answer: answer}}
	w.options.Meter = &llm.Meter{}
	w.person = w.hub.Client(t, "ann")
	return w
}

// blueprint returns a blueprint of bot with a config: JSON members without braces.
func blueprint(fields string) *parley.Blueprint {
	config := `{"model":"fake:m"}`
	if fields != "" {
		config = `{"model":"fake:m",` + fields + `}`
	}
	return &parley.Blueprint{Name: "bot", Type: parley.AgentTypeAgent, AgentConfig: json.RawMessage(config)}
}

func (w *world) make(b *parley.Blueprint) (*agent.Agent, error) {
	o := w.options
	if o.Runtimes == nil {
		o.Runtimes = llm.NewRuntimes(llm.NewRuntime(w.vendor, w.models))
	}
	return agent.New(b, &o)
}

// run runs the agent of a blueprint until the test ends or stop is called.
func (w *world) run(b *parley.Blueprint) (stop func()) {
	w.Helper()
	a, err := w.make(b)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = a.Close() })
	return w.serve(a, w.hub.Client(w.T, "bot"))
}

// serve runs an agent with a client.
func (w *world) serve(a parley.Agent, c parley.Client) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = executors.Run(ctx, c, a, &executors.Options{Agents: []string{"bot"}, Drain: -1, MinBackoff: time.Millisecond})
	}()
	stop = func() {
		cancel()
		<-ended
	}
	w.Cleanup(stop)
	w.served("bot")
	return stop
}

// served waits until the hub has a runner for an agent.
func (w *world) served(name string) {
	w.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		list, err := w.person.ListAgents(w.Context(), &parley.ListAgentsParams{})
		if err == nil &&
			slices.ContainsFunc(list.Agents, func(a parley.AgentInfo) bool { return a.Name == name && a.Online }) {
			return
		}
	}
	w.Fatalf("nobody runs %s", name)
}

// session starts a session of the agent, and returns it after its end.
func (w *world) session(parameters string) *parley.Session {
	w.Helper()
	s, err := w.person.StartSession(w.Context(), &parley.StartSessionParams{
		AgentName: "bot", Parameters: json.RawMessage(parameters), TimeoutMs: patience.Milliseconds(),
		Metadata: json.RawMessage(`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`),
	})
	if err != nil {
		w.Fatal(err)
	}
	if !s.Status.Ended() {
		w.Fatalf("the session has not ended: %+v", s)
	}
	return s
}

// hello runs a session with a prompt.
func (w *world) hello() *parley.Session {
	w.Helper()
	return w.session(`{"prompt":"hello"}`)
}

// completed checks the text of a completed session.
func (w *world) completed(s *parley.Session, text string) {
	w.Helper()
	if s.Status != parley.SessionCompleted || s.Result == nil || s.Result.ResultText == nil ||
		*s.Result.ResultText != text || s.Result.Error != "" {
		w.Fatalf("the session is %s, expected the text %q", indent(s), text)
	}
}

// failed checks the reason of a failed session.
func (w *world) failed(s *parley.Session, reason string) {
	w.Helper()
	if s.Status != parley.SessionFailed || s.Reason != reason || s.Result == nil || s.Result.Error == "" ||
		s.Result.ResultType != parley.AgentTypeAgent {
		w.Fatalf("the session is %s, expected the reason %q", indent(s), reason)
	}
}

func indent(v any) string {
	b, _ := json.MarshalIndent(v, "", "  ")
	return string(b)
}

// traces returns the traces of a kind.
func (w *world) traces(conversation, kind string) (all []parley.Trace) {
	w.Helper()
	for since := int64(0); ; {
		page, err := w.hub.Admin(w.T).Tail(w.Context(), &parley.TailParams{ConversationID: conversation, SinceSeq: since})
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range page.Events {
			var t parley.Trace
			if e.Type == parley.TypeTrace && json.Unmarshal(e.Payload, &t) == nil && t.Kind == kind {
				all = append(all, t)
			}
		}
		if since = page.NextSeq; since >= page.LatestSeq {
			return all
		}
	}
}

// refused checks that New fails with a text.
func refused(t *testing.T, w *world, b *parley.Blueprint, text string) {
	t.Helper()
	a, err := w.make(b)
	if err == nil {
		_ = a.Close()
		t.Fatalf("New accepted %s", b.AgentConfig)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("New returned %q, expected %q", err, text)
	}
}

var errKilled = fmt.Errorf("killed: %w", parley.ErrUnavailable)
