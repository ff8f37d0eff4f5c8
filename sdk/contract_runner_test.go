package sdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
)

// echo is a blueprint with any parameters, which its agent returns.
var echo = parley.Blueprint{
	Name: "echo", Description: "gives back what it takes", ParamsVia: parley.ParamsStdin, TimeoutMs: 60_000,
	ParametersSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","default":7}}}`),
}

// runner is an executor of blueprints. It claims each offered turn, and ends the session with the
// result of run.
type runner struct {
	t      *testing.T
	client parley.Client
	run    func(parameters json.RawMessage) *parley.SessionResult
	ready  chan struct{} // closed when its agents are registered
	wg     sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	holding map[string]bool
	runs    int
	names   []parley.RegisteredBlueprint
}

// startRunner registers blueprints, and serves them until the test ends.
func startRunner(
	t *testing.T,
	client parley.Client,
	run func(json.RawMessage) *parley.SessionResult,
	blueprints ...parley.Blueprint,
) *runner {
	t.Helper()
	r := &runner{t: t, client: client, run: run, ready: make(chan struct{}), holding: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	r.wg.Go(func() { r.serve(ctx, blueprints) })
	t.Cleanup(func() {
		cancel()
		r.wg.Wait()
	})
	select {
	case <-r.ready:
	case <-time.After(patience):
		t.Fatal("the runner does not register")
	}
	return r
}

func (r *runner) serve(ctx context.Context, blueprints []parley.Blueprint) {
	p := &parley.RegisterExecutorParams{
		ExecutorID: r.client.AgentID() + "-1",
		Agents:     []string{},
		Mode:       parley.ModePush,
		Capacity:   100,
		GraceMs:    60_000,
		Labels:     map[string]string{"region": "eu"},
	}
	first := sync.OnceFunc(func() { close(r.ready) })
	for n, err := range r.client.RegisterExecutor(ctx, p, r.held) {
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.t.Errorf("the registration: %v", err)
			return
		case n.Registered != nil:
			names, err := r.client.RegisterBlueprints(ctx, &parley.RegisterBlueprintsParams{Blueprints: blueprints})
			if err != nil {
				if !errors.Is(err, parley.ErrOutcomeUnknown) && !errors.Is(err, parley.ErrUnavailable) &&
					ctx.Err() == nil { // the next connection repeats it
					r.t.Errorf("the blueprints: %v", err)
				}
				continue
			}
			r.locked(func() { r.names = names.Agents })
			first()
		case n.RequestTurn != nil:
			r.wg.Go(func() { r.turn(ctx, n.RequestTurn) })
		}
	}
}

func (r *runner) turn(ctx context.Context, offer *parley.RequestTurn) {
	id, claim := offer.ConversationID, offer.ClaimID
	if _, err := r.client.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: id, ClaimID: claim}); err != nil {
		return // another offer of the turn was faster, or the session ended
	}
	r.locked(func() { r.holding[claim] = true; r.runs++ })
	defer r.locked(func() { delete(r.holding, claim) })
	page, err := r.client.Tail(ctx, &parley.TailParams{ConversationID: id, SinceSeq: 1, Limit: 1})
	if ctx.Err() != nil {
		return
	}
	if err != nil || len(page.Events) != 1 {
		r.t.Errorf("what to do: %+v, %v", page, err)
		return
	}
	m, err := page.Events[0].Message()
	if err != nil {
		r.t.Error(err)
		return
	}
	result := r.run(m.Parameters)
	var payload bytes.Buffer
	enc := json.NewEncoder(&payload)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(parley.Message{Result: result}); err != nil {
		r.t.Error(err)
		return
	}
	last := &parley.SendMessageParams{
		ConversationID: id,
		Payload:        payload.Bytes(),
		Finality:       parley.FinalityConversation,
		ClaimID:        claim,
	}
	if result.Error != "" {
		last.Outcome = &parley.Outcome{Status: parley.OutcomeFailed}
	}
	if _, err := r.client.SendMessage(ctx, last); err != nil && !errors.Is(err, parley.ErrConversationClosed) &&
		ctx.Err() == nil {
		r.t.Errorf("the result: %v", err)
	}
}

func (r *runner) held() []string {
	var all []string
	r.locked(func() {
		for id := range r.holding {
			all = append(all, id)
		}
	})
	return all
}

func (r *runner) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *runner) counted() (n int) {
	r.locked(func() { n = r.runs })
	return n
}

// echoed returns the parameters as the result.
func echoed(parameters json.RawMessage) *parley.SessionResult {
	text, zero := string(parameters), 0
	return &parley.SessionResult{
		ResultType: parley.AgentTypeDeterministic,
		ResultText: &text,
		ResultData: parameters,
		ExitCode:   &zero,
	}
}

// when returns a function that calls run after gate is closed or the test ends.
func when(
	t *testing.T,
	gate <-chan struct{},
	run func(json.RawMessage) *parley.SessionResult,
) func(json.RawMessage) *parley.SessionResult {
	ctx := t.Context()
	return func(parameters json.RawMessage) *parley.SessionResult {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return run(parameters)
	}
}

// runner runs echo, at the scene's door, as host.
func (s *scene) runner(run func(json.RawMessage) *parley.SessionResult) *runner {
	s.Helper()
	return startRunner(s.T, s.door.client(s.T, s.hub, "host"), run, echo)
}

// start begins a session.
func (s *scene) start(c parley.Client, p parley.StartSessionParams) *parley.Session {
	s.Helper()
	got, err := c.StartSession(s.Context(), &p)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

// standing waits until a session has a status.
func (s *scene) standing(c parley.Client, id string, want parley.SessionStatus) *parley.Session {
	s.Helper()
	deadline := time.Now().Add(patience)
	for {
		got, err := c.GetSession(s.Context(), &parley.GetSessionParams{SessionID: id})
		switch {
		case err != nil:
			s.Fatal(err)
		case got.Status == want:
			return got
		case time.Now().After(deadline):
			s.Fatalf("it is %s, and not %s", got.Status, want)
		}
		time.Sleep(time.Millisecond)
	}
}
