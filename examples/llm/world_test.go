// Package llm_test runs the LLM agents of this directory through a hub. Their models are scripts,
// so it needs no network.
package llm_test

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/scripted"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/toolnames"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// patience bounds one demo: the first one compiles a program.
const patience = 2 * time.Minute

// clinicURL is set in the process that is the clinic.
const clinicURL, clinicToken = "PARLEY_EXAMPLE_URL", "PARLEY_EXAMPLE_TOKEN"

// clinicStuck has the model of that process never answer.
const clinicStuck = "PARLEY_EXAMPLE_STUCK"

// stuck is a model that never answers.
type stuck struct{ llm.Provider }

func (stuck) Call(ctx context.Context, _ *llm.Request, _ func(llm.Chunk) error) (*llm.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// logger is for what goes wrong; go test -v shows it.
var logger = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) {
	if url := os.Getenv(clinicURL); url != "" {
		beClinic(url, os.Getenv(clinicToken))
	}
	if flag.Parse(); testing.Verbose() {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	process.Supervise()
	os.Exit(m.Run())
}

// beClinic runs a clinic in this process, until it is killed.
func beClinic(url, token string) {
	logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx := context.Background()
	hands, err := load("clinic", nil, func(p llm.Provider) llm.Provider {
		if os.Getenv(clinicStuck) != "" {
			return stuck{p}
		}
		return p
	})
	if err == nil {
		var c *sdk.Client
		if c, err = sdk.Dial(ctx, url, &sdk.Options{Token: token}); err == nil {
			err = executors.External(c, hands, &executors.Options{Agents: []string{"clinic"}, GraceMs: 300, Logger: logger}).Run(ctx)
		}
	}
	logger.Error("the clinic has ended", "error", err)
	os.Exit(1)
}

// hands are the agents of a directory, each found by its name.
type hands struct {
	agents     map[string]*agent.Agent
	commands   *blueprint.Agent
	pool       *process.Pool
	blueprints []parley.Blueprint
}

const runnerID = "run-examples"

// load creates the agents of a directory, whose scripts are below it. change may modify their
// configs first and wrap the provider. It may be nil.
func load(dir string, change func(*parley.AgentConfig), wrap ...func(llm.Provider) llm.Provider) (*hands, error) {
	set, faults := blueprint.Load(dir)
	for _, f := range faults {
		return nil, parley.Refuse(parley.ErrValidationFailed, f.String(), "a blueprint")
	}
	scripts, err := scripted.New(&scripted.Options{Dir: filepath.Join(dir, "scripts")})
	if err != nil {
		return nil, err
	}
	var p llm.Provider = scripts
	for _, w := range wrap {
		p = w(p)
	}
	pool := &process.Pool{}
	h := &hands{agents: map[string]*agent.Agent{}, commands: blueprint.New(set, &blueprint.Options{Processes: pool}),
		pool: pool}
	for _, f := range set.Files {
		b := f.Blueprint()
		if !f.IsAgent() {
			h.blueprints = append(h.blueprints, b)
			continue
		}
		if change != nil {
			change(f.Config)
			if b.AgentConfig, err = json.Marshal(f.Config); err != nil {
				return nil, err
			}
		}
		a, err := agent.New(&b, &agent.Options{Runtimes: llm.NewRuntimes(llm.NewRuntime(p, nil)), RunnerID: runnerID,
			Logger: logger})
		if err != nil {
			return nil, err
		}
		h.agents[b.Name] = a
		h.blueprints = append(h.blueprints, a.Blueprints()...)
	}
	return h, nil
}

// HandleTurn passes a turn to its agent, or to the agent whose child has it.
func (h *hands) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	name, _, _ := strings.Cut(turn.Agent, "@")
	if a := h.agents[strings.TrimSuffix(name, toolnames.ChildSuffix)]; a != nil {
		return a.HandleTurn(ctx, turn)
	}
	return h.commands.HandleTurn(ctx, turn)
}

// mustLoad is load for a test.
func mustLoad(t *testing.T, dir string, change func(*parley.AgentConfig),
	wrap ...func(llm.Provider) llm.Provider) *hands {
	t.Helper()
	h, err := load(dir, change, wrap...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.pool.Close()
		for _, a := range h.agents {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

// serve runs the agents of a directory as sessions, until the test ends.
func serve(t *testing.T, h *sdktest.Hub, of *hands) {
	t.Helper()
	registered := make(chan struct{}, 1)
	runner := h.Client(t, "runner")
	start(t, func(ctx context.Context) error {
		return executors.Run(ctx, runner, of, &executors.Options{
			ExecutorID: runnerID, Blueprints: of.blueprints,
			Registered: func(*parley.RegisterBlueprintsResult) {
				select {
				case registered <- struct{}{}:
				default:
				}
			},
		})
	})
	select {
	case <-registered:
	case <-time.After(patience):
		t.Fatal("the blueprints are not registered")
	}
}

// start runs something until the test ends, and waits for it.
func start(t *testing.T, run func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it has ended: %v", err)
		}
	})
}

// session starts an agent without waiting for it.
func session(t *testing.T, c parley.Client, name, parameters string) string {
	t.Helper()
	s, err := c.StartSession(t.Context(), &parley.StartSessionParams{AgentName: name, Parameters: json.RawMessage(parameters), Mode: parley.ModeAsyncPoll})
	if err != nil {
		t.Fatal(err)
	}
	return s.SessionID
}

// ended waits for the end of a session.
func ended(t *testing.T, c parley.Client, id string) *parley.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		s, err := c.GetSession(ctx, &parley.GetSessionParams{SessionID: id, TimeoutMs: parley.MaxWaitMs})
		if err != nil {
			t.Fatal(err)
		}
		if s.Status.Ended() {
			return s
		}
	}
}

// result is the words of a session that has completed.
func result(t *testing.T, s *parley.Session) string {
	t.Helper()
	if s.Status != parley.SessionCompleted || s.Result == nil || s.Result.ResultText == nil {
		t.Fatalf("the session is %s (%s): %+v", s.Status, s.Reason, s.Result)
	}
	return *s.Result.ResultText
}

// below returns how the child sessions of a session ended, failed ones last.
func below(t *testing.T, c parley.Client, id string) (all []parley.SessionStatus) {
	t.Helper()
	page, err := c.Tail(t.Context(), &parley.TailParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	started := 0
	for _, e := range page.Events {
		s, err := e.System()
		if e.Type != parley.TypeSystem || err != nil {
			continue
		}
		switch s.Kind {
		case parley.KindSessionStarted:
			started++
		case parley.KindSessionEnded:
			all = append(all, s.Status)
		}
	}
	if started != len(all) {
		t.Errorf("%d sessions were started, and %d have ended", started, len(all))
	}
	slices.Sort(all)
	return all
}
