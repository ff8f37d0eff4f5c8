package triggers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/sdk"
	exports "github.com/parleyhub/parley/torture/ledger" // ledger is a type here
)

// The participants: feeder says what wakes the others. A work note wakes counter by a session; its
// answer wakes echo, where it says so; a message wakes turner and second by a turn each.
const (
	feeder  = "feeder"
	counter = "counter"
	echo    = "echo"
	turner  = "turner"
	second  = "second"
	runner  = "runner" // whose token the commands run with
)

// The schemas of what is said.
const (
	workSchema    = "work.v1"
	countedSchema = "counted.v1"
	echoedSchema  = "echoed.v1"
	askSchema     = "ask.v1"
	saidSchema    = "said.v1"
)

const maxBackoff = 300 * time.Millisecond

// The commands note that they run, by the id of their session. They are not idempotent: once begun,
// a run is never begun again.
const (
	counterFile = `name: counter
argv: [sh, counter.sh]
params_via: env
env: ["RUNS=%s"]
timeout: 1m
parameters_schema: {type: object, required: [n, again], properties: {n: {type: integer}, again: {type: boolean}}}
subscriptions:
  answer_schema: counted.v1
  selectors:
    - schema_name: work.v1
      context_match: [{path: $.input.n, op: gte, value: 0}]
`
	counterProgram = `echo "$PARLEY_SESSION" >> "$RUNS"
printf '{"n":%s,"again":%s}' "$PARAM_N" "$PARAM_AGAIN"
`
	echoFile = `name: echo
argv: [sh, echo.sh]
params_via: env
env: ["RUNS=%s"]
timeout: 1m
parameters_schema: {type: object}
subscriptions:
  answer_schema: echoed.v1
  selectors:
    - {schema_name: counted.v1, role: context, key: counted}
    - schema_name: counted.v1
      context_match: [{path: $.output.again, op: eq, value: true}]
`
	echoProgram = `echo "$PARLEY_SESSION" >> "$RUNS"
echo '{"echo":true}'
`
)

// world is a hub, a runner of commands, two agents that take turns, and who feeds them.
type world struct {
	t      *testing.T
	dir    string
	addr   string
	hub    *hubproc.Hub
	runner *hubproc.Runner
	token  string // of the runner
	feeder *sdk.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), addr: hubproc.LowAddress(t)}
	for name, text := range map[string]string{
		"counter.yaml": fmt.Sprintf(counterFile, w.runs()), "counter.sh": counterProgram,
		"echo.yaml": fmt.Sprintf(echoFile, w.runs()), "echo.sh": echoProgram,
	} {
		w.write(name, text)
	}
	w.startHub()
	w.feeder = w.dial(hubproc.Token, feeder)
	w.token = w.tokenFor(runner, runner, counter, echo)
	w.startRunner()
	w.startTurners()
	for _, name := range []string{counter, echo, turner, second} {
		w.awaitAgent(name)
	}
	return w
}

// startHub starts the hub; it may be busy with the files of the one that was killed.
func (w *world) startHub() {
	w.t.Helper()
	w.hub = program.Start(w.t, filepath.Join(w.dir, "data"), "--listen", w.addr)
}

func (w *world) startRunner() {
	w.t.Helper()
	w.runner = program.Runner(w.t, w.hub, w.token, "--blueprints", filepath.Join(w.dir, "blueprints"))
}

func (w *world) tokenFor(agents ...string) string {
	w.t.Helper()
	made, err := w.feeder.CreateToken(w.t.Context(), &parley.CreateTokenParams{AgentID: agents[0], Agents: agents, Scopes: parley.DefaultScopes})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.Token
}

func (w *world) dial(token, as string) *sdk.Client {
	w.t.Helper()
	c, err := sdk.Dial(w.t.Context(), "ws://"+w.addr+"/rpc", &sdk.Options{Token: token, AgentID: as, MaxBackoff: maxBackoff})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// startTurners runs the agents that take turns, in this process, until the test ends.
func (w *world) startTurners() {
	w.t.Helper()
	c := w.dial(w.tokenFor(turner, second), turner)
	var both []parley.Blueprint
	for _, name := range []string{turner, second} {
		both = append(both, parley.Blueprint{
			Name: name, Type: parley.AgentTypeFunction, ParametersSchema: json.RawMessage(`{"type":"object"}`),
			Subscriptions: json.RawMessage(`{"selectors":[{"schema_name":"` + askSchema + `"},{"schema_name":"` +
				countedSchema + `","role":"context","fetch":{"method":"recent","limit":3}}]}`),
		})
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.External(c, &answering{}, &executors.Options{
			ExecutorID: turner, Agents: []string{turner, second}, MaxBackoff: maxBackoff, Blueprints: both,
		}).Run(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the agents that take turns have ended: %v", err)
		}
	})
}

// answering are the agents that take turns: they say which matches they were given. A third of
// their turns fail the first time, with something said.
type answering struct{}

var errFirst = errors.New("fails the first time")

func (*answering) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	given, err := turn.Context(ctx)
	if err != nil {
		return "", err
	}
	if turn.Attempt == 1 && turn.Number%3 == 0 {
		if _, err := turn.Post(ctx, parley.Message{Text: "one moment"}, parley.FinalityNone); err != nil {
			return "", err
		}
		return "", errFirst
	}
	data, err := json.Marshal(given.Triggers)
	if err != nil {
		return "", err
	}
	if _, err := turn.Post(ctx, parley.Message{Schema: saidSchema, Data: data}, parley.FinalityTurn); err != nil {
		return "", err
	}
	return parley.TurnComplete, nil
}

// awaitAgent waits until an agent is there.
func (w *world) awaitAgent(name string) {
	w.t.Helper()
	for until := time.Now().Add(slowest); time.Now().Before(until); pause(w.t.Context()) {
		r, err := w.feeder.ListAgents(w.t.Context(), &parley.ListAgentsParams{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, a := range r.Agents {
			if a.Name == name && a.Online {
				return
			}
		}
	}
	w.t.Fatalf("there is no agent %s", name)
}

func pause(ctx context.Context) {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "blueprints", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// runs is the file that each run of a command adds a line to: the id of its session.
func (w *world) runs() string { return filepath.Join(w.dir, "runs") }

// ran counts the runs of each session.
func (w *world) ran() map[string]int {
	w.t.Helper()
	text, err := os.ReadFile(w.runs())
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		n[strings.TrimSuffix(line, "\n")]++
	}
	return n
}

// exported returns all conversations of a hub that ended.
func (w *world) exported() map[string][]parley.Event {
	w.t.Helper()
	return exports.Export(w.t, program, filepath.Join(w.dir, "data"))
}
