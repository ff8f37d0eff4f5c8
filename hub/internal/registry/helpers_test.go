package registry

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/hubtest"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// noSessions is a hub without agent sessions.
type noSessions struct{}

func (noSessions) MayRun(string) bool { return true }
func (noSessions) FinishRecovery()    {}

// recorder records the notifications of a registry.
type recorder struct {
	mu      sync.Mutex         // guards the fields below
	changed []parley.RunnerRef // in the order of the notifications
	first   map[string]string  // by agent, the id of the first runner with subscriptions
}

func (o *recorder) RunnersChanged(runners []parley.RunnerRef, _ bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed = append(o.changed, runners...)
}

// takeChanged returns the runners of the notifications since the last call.
func (o *recorder) takeChanged() []parley.RunnerRef {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.changed
	o.changed = nil
	return changed
}

func (o *recorder) SubscriptionsChanged(agent string, blueprints []*Blueprint) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = make(map[string]string)
	}
	delete(o.first, agent)
	for _, b := range blueprints {
		if b.Selectors != nil {
			o.first[agent] = b.Runner.RunnerID
			return
		}
	}
}

// newJournal returns a journal that ends with the test.
func newJournal(t *testing.T) *memory.Journal {
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// newRegistry returns a registry that has read the log of j, on an engine that ends with the test.
func newRegistry(t *testing.T, j *memory.Journal, observer Observer) *Registry {
	t.Helper()
	e := hubtest.NewEngine(t, j)
	a := auth.New(e, auth.Options{})
	d := turns.New(turns.Options{Engine: e, Auth: a, StartedAt: time.Now()})
	r := New(e, a, d)
	alone := cluster.NewPresence(e, nil, nil)
	r.Connect(alone, observer)
	d.Connect(alone, noSessions{}, r)
	e.Connect(hubtest.Parts(d))
	if err := r.Load(); err != nil {
		t.Fatal(err)
	}
	e.Start()
	e.Go(r.Run)
	e.Go(d.Recover)
	return r
}

// connect registers an executor of a participant and returns its caller.
func connect(t *testing.T, r *Registry, participant, executorID string) (*auth.Principal, *turns.Connection) {
	t.Helper()
	c := r.turns.NewConnection(false, nil, nil)
	p := auth.Local(participant).On(c)
	q := &parley.RegisterExecutorParams{ExecutorID: executorID, Mode: parley.ModePush}
	_, err := wait(func(done func(parley.RegisterExecutorResult, error)) { r.turns.RegisterExecutor(p, q, done) })
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

// register registers blueprints and returns the names of their agents.
func register(t *testing.T, r *Registry, p *auth.Principal, blueprints ...parley.Blueprint) (names []string) {
	t.Helper()
	result, err := wait(func(done func(parley.RegisterBlueprintsResult, error)) {
		r.RegisterBlueprints(p, &parley.RegisterBlueprintsParams{Blueprints: blueprints}, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range result.Agents {
		names = append(names, a.AgentName)
	}
	return names
}

// wait waits for the answer of a call.
func wait[T any](call func(done func(T, error))) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	call(func(v T, err error) { answers <- answer{v, err} })
	a := <-answers
	return a.value, a.err
}

// command is a blueprint of a command without parameters.
func command(name string) parley.Blueprint {
	return parley.Blueprint{Name: name, ParametersSchema: json.RawMessage(`{"type":"object"}`)}
}
