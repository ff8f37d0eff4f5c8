package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/sdk"
)

// The tools of the agent: gated needs an approval.
const (
	plain = "note_down"
	gated = "refund"
)

const (
	agentName = "clerk"
	runnerID  = "office"
	// retryPause is how long who finds no one waits before the next attempt.
	retryPause = 20 * time.Millisecond
)

// workerEnv holds the orders of a worker process.
const workerEnv = "PARLEY_TORTURE_LLM"

func isWorker() bool { return os.Getenv(workerEnv) != "" }

// orders are the instructions for a worker.
type orders struct {
	URL    string `json:"url"`
	Token  string `json:"token"`
	Ledger string `json:"ledger"`
	Point  point  `json:"point"`
	Victim string `json:"victim"`
	Burnt  string `json:"burnt"`
}

// work runs the agent until someone kills it.
func work() int {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run() error {
	var o orders
	if err := json.Unmarshal([]byte(os.Getenv(workerEnv)), &o); err != nil {
		return err
	}
	f := &fuse{at: o.Point, victim: o.Victim, burnt: o.Burnt, in: bufio.NewReader(os.Stdin), out: os.Stdout}
	l := &ledger{o.Ledger}
	functions, err := tools(l)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := agent.New(blueprint(), &agent.Options{
		Runtimes: llm.NewRuntimes(llm.NewRuntime(&model{l, f}, nil)), Functions: functions, RunnerID: runnerID, Logger: log,
	})
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := sdk.Dial(ctx, o.URL, &sdk.Options{
		Token: o.Token, AgentID: runnerID, MinBackoff: retryPause, MaxBackoff: 5 * retryPause, Logger: log,
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if err != nil {
		return err
	}
	return executors.External(&fusedClient{c, f}, a, &executors.Options{
		ExecutorID: runnerID, Blueprints: a.Blueprints(), MinBackoff: retryPause, MaxBackoff: 5 * retryPause, Logger: log,
	}).Run(ctx)
}

func blueprint() *parley.Blueprint {
	return &parley.Blueprint{
		Name: agentName, Type: parley.AgentTypeAgent, ParametersSchema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`),
		AgentConfig: json.RawMessage(`{"model":"test:clerk","instructions":"Note it down, then refund.","tools":["` + plain +
			`","` + gated + `"],"hitl_tools":["` + gated + `"]}`),
	}
}

// ledger is a file of what was done in the world, a line each.
type ledger struct{ path string }

func (l *ledger) add(line string) error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

// tools note in the ledger that they have run, and by which key.
func tools(l *ledger) ([]tool.Tool, error) {
	var all []tool.Tool
	for _, name := range []string{plain, gated} {
		t, err := tool.NewFunc(name, "does "+name, json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			func(_ context.Context, c *tool.Call) (*tool.Result, error) {
				return &tool.Result{Text: name + " done"}, l.add(name + " " + c.Key)
			})
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// model asks for the two tools, one after the other, and then says what came of them.
type model struct {
	ledger *ledger
	fuse   *fuse
}

func (m *model) Name() string { return "test" }
func (m *model) Close() error { return nil }

func (m *model) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	if err := m.ledger.add("model"); err != nil {
		return nil, err
	}
	m.fuse.blow(modelAsked)
	var given []string
	for _, msg := range req.Messages {
		for _, r := range msg.Results {
			given = append(given, r.Text)
		}
	}
	r := &llm.Response{Finish: llm.FinishToolCalls, Usage: &llm.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5}, Model: "clerk"}
	switch len(given) {
	case 0:
		r.ToolCalls = []llm.ToolCall{{ID: "one", Name: plain, Arguments: `{"n":1}`}}
	case 1:
		r.ToolCalls = []llm.ToolCall{{ID: "two", Name: gated, Arguments: `{"n":2}`}}
	default:
		r.Finish, r.Text = llm.FinishStop, strings.Join(given, "; ")
	}
	if emit != nil && r.Text != "" {
		if err := emit(llm.Chunk{Text: r.Text}); err != nil {
			return nil, err
		}
	}
	return r, ctx.Err()
}
