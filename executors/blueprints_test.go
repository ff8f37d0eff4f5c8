package executors_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// blueprints returns blueprints that accept any parameters.
func blueprints(names ...string) []parley.Blueprint {
	var all []parley.Blueprint
	for _, name := range names {
		all = append(
			all, parley.Blueprint{Name: name, ParametersSchema: json.RawMessage(`{"type":"object"}`), TimeoutMs: 3_600_000})
	}
	return all
}

// listed returns the names of the registered agents, online or not.
func listed(t *testing.T, c parley.Client) (names []string) {
	t.Helper()
	list, err := c.ListAgents(t.Context(), &parley.ListAgentsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list.Agents {
		if a.Type == parley.AgentTypeDeterministic {
			names = append(names, a.Name)
		}
	}
	return names
}

// Blueprints are registered with the labels of the executor, and Run reports their names. Their
// sessions run, and they are removed at the end of Run.
func TestBlueprints(t *testing.T) {
	inWorld(t, func(w *world) {
		run := func(id string, o executors.Options) (*running, []string) {
			told := make(chan []string, 1)
			o.ExecutorID = id
			o.Registered = func(r *parley.RegisterBlueprintsResult) {
				var names []string
				for _, a := range r.Agents {
					names = append(names, a.Name+" "+a.AgentName)
				}
				told <- names
			}
			r := w.run(w.client("runner"), answers("by "+id), &o)
			return r, <-told
		}
		first, names := run(
			"one", executors.Options{Blueprints: blueprints("crawl", "sum"), Labels: map[string]string{"gpu": "yes"}})
		if want := []string{"crawl crawl", "sum sum"}; !slices.Equal(names, want) {
			w.Errorf("registered as %q, expected %q", names, want)
		}
		second, names := run("two", executors.Options{Blueprints: blueprints("sum")})
		if want := []string{"sum sum@two"}; !slices.Equal(names, want) {
			w.Errorf("registered as %q, expected %q", names, want)
		}
		boss := w.client("boss")
		s, err := boss.StartSession(w.Context(),
			&parley.StartSessionParams{AgentName: "sum", Demands: map[string]string{"gpu": "yes"}})
		if err != nil || s.Status != parley.SessionCompleted || *s.Result.ResultText != "by one" {
			w.Errorf("the session: %+v, %v", s, err)
		}
		if s := startSession(w.T, boss, "sum@two", ""); s.Status != parley.SessionCompleted ||
			*s.Result.ResultText != "by two" {
			w.Errorf("the session: %+v", s)
		}
		w.stopped(first)
		if got, want := listed(w.T, w.admin), []string{"sum"}; !slices.Equal(got, want) {
			w.Errorf("there are %q when the first has left, expected %q", got, want)
		}
		w.stopped(second)
		if got := listed(w.T, w.admin); len(got) != 0 {
			w.Errorf("there are %q when both have left", got)
		}
	})
}

// An executor with blueprints serves no other agent unless that is configured, and its claims last
// longer without contact.
func TestNoAgents(t *testing.T) {
	for name, c := range map[string]struct {
		o     executors.Options
		want  []string
		grace int64
	}{
		"blueprints": {executors.Options{Blueprints: blueprints("sum")}, []string{}, 180_000},
		"blueprints and agents": {executors.Options{Blueprints: blueprints("sum"), Agents: []string{"a"}, GraceMs: 500},
			[]string{"a"}, 500},
		"none":         {executors.Options{Agents: []string{}, GraceMs: 600}, []string{}, 600},
		"nothing said": {executors.Options{}, []string{"a"}, 5_000},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				c.o.Labels = map[string]string{"k": "v"}
				asked := make(chan *parley.RegisterExecutorParams, 2)
				r := w.run(&asking{w.client("a"), asked}, talk(0), &c.o)
				q := <-asked
				if q.Agents == nil || !slices.Equal(q.Agents, c.want) || q.Labels["k"] != "v" || q.GraceMs != c.grace {
					w.Errorf("registered as %+v, expected the agents %q and graceMs %d", q, c.want, c.grace)
				}
				w.stopped(r)
			})
		})
	}
}

// asking is a client that records registrations.
type asking struct {
	parley.Client
	asked chan<- *parley.RegisterExecutorParams
}

func (a *asking) RegisterExecutor(
	ctx context.Context, p *parley.RegisterExecutorParams, holding func() []string,
) iter.Seq2[parley.ExecutorNotification, error] {
	a.asked <- p
	return a.Client.RegisterExecutor(ctx, p, holding)
}

// receive waits for a value.
func receive(t *testing.T, told <-chan struct{}) {
	t.Helper()
	select {
	case <-told:
	case <-time.After(3 * time.Minute):
		t.Fatal("nothing is told")
	}
}

// The blueprints are registered again after closed connections and a killed hub.
func TestBlueprintsAfterAll(t *testing.T) {
	h := sdktest.NewHub(t)
	told := make(chan struct{}, 100)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	client := h.Client(t, "runner")
	go func() {
		ran <- executors.External(client, answers("well"), &executors.Options{
			Blueprints: blueprints("sum"), Registered: func(*parley.RegisterBlueprintsResult) { told <- struct{}{} },
		}).Run(ctx)
	}()
	receive(t, told)
	boss := h.Client(t, "boss")
	for _, disturb := range []func(){h.CutConnections, func() { h.Restart(t) }, h.CutConnections} {
		disturb()
		receive(t, told)
		if s := startSession(t, boss, "sum", ""); s.Status != parley.SessionCompleted {
			t.Errorf("the session: %+v", s)
		}
	}
	stop()
	if err := <-ran; err != nil {
		t.Errorf("Run ended with %v", err)
	}
	if got := listed(t, boss); len(got) != 0 {
		t.Errorf("%q remain after the end of the runner", got)
	}
}

// The blueprints stay registered during a drain, and are removed after it. Results in a drain are
// valid.
func TestBlueprintsInADrain(t *testing.T) {
	inWorld(t, func(w *world) {
		begun := make(chan struct{}, 1)
		r := w.run(w.client("runner"),
			parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				begun <- struct{}{}
				time.Sleep(8 * time.Second)
				return answer(ctx, turn, "in time")
			}), &executors.Options{Blueprints: blueprints("sum")})
		synctest.Wait()
		boss := w.client("boss")
		s := startSession(w.T, boss, "sum", parley.ModeAsyncPoll)
		<-begun
		r.cancel()
		time.Sleep(4 * time.Second)
		if got := listed(w.T, w.admin); len(got) != 1 {
			w.Errorf("there are %q while the runner drains", got)
		}
		w.stopped(r)
		if s = ended(w.T, boss, s.SessionID); s.Status != parley.SessionCompleted {
			w.Errorf("the session: %+v", s)
		}
		if got := listed(w.T, w.admin); len(got) != 0 {
			w.Errorf("there are %q when the runner has left", got)
		}
	})
}

// A temporary failure is retried, and a permanent one ends Run.
func TestBlueprintsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		errs []error
		o    executors.Options
		want error
	}{
		"mended": {[]error{parley.ErrInternal, parley.ErrStorageFull, parley.ErrOutcomeUnknown, parley.ErrUnavailable},
			executors.Options{Blueprints: blueprints("sum")}, nil},
		"refused": {[]error{parley.ErrInternal, parley.ErrForbidden}, executors.Options{Blueprints: blueprints("sum")},
			parley.ErrForbidden},
		"bad": {nil, executors.Options{Blueprints: blueprints("sum", "no name")}, parley.ErrValidationFailed},
		"pull": {nil, executors.Options{Blueprints: blueprints("sum"), Mode: parley.ModePull},
			parley.ErrValidationFailed},
		"bad label": {nil, executors.Options{Blueprints: blueprints("sum"), Labels: map[string]string{"": "v"}},
			parley.ErrValidationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				client := &broken{Client: w.client("runner")}
				var calls atomic.Int64
				client.present = func(ctx context.Context, p *parley.RegisterBlueprintsParams) (*parley.RegisterBlueprintsResult,
					error) {
					if n := int(calls.Add(1)); n <= len(c.errs) {
						return nil, c.errs[n-1]
					}
					return client.Client.RegisterBlueprints(ctx, p)
				}
				told := make(chan struct{}, 1)
				c.o.Registered = func(*parley.RegisterBlueprintsResult) { told <- struct{}{} }
				r := w.run(client, answers("well"), &c.o)
				select {
				case <-told:
					if c.want != nil {
						w.Error("registered")
					}
					w.stopped(r)
				case <-r.ended:
					if c.want == nil || !errors.Is(r.err, c.want) {
						w.Errorf("Run ended with %v, expected %v", r.err, c.want)
					}
				case <-time.After(time.Hour):
					w.Error("nothing happens")
				}
				if got := listed(w.T, w.admin); len(got) != 0 {
					w.Errorf("there are %q at the end", got)
				}
			})
		})
	}
}

// Blueprints are removed even if there is no registration at that moment, for example while a
// client moves to the next one.
func TestLeavesInTheEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		client := &broken{Client: w.client("runner")}
		errs := []error{parley.ErrValidationFailed, parley.ErrOutcomeUnknown, parley.ErrValidationFailed}
		client.present = func(ctx context.Context, p *parley.RegisterBlueprintsParams) (*parley.RegisterBlueprintsResult,
			error) {
			if len(p.Blueprints) == 0 && len(errs) > 0 {
				err := errs[0]
				errs = errs[1:]
				return nil, err
			}
			return client.Client.RegisterBlueprints(ctx, p)
		}
		r := w.run(client, answers("well"), &executors.Options{Blueprints: blueprints("sum"), MinBackoff: 100 * time.Millisecond}) // three pauses are within the time that it has
		synctest.Wait()
		if got := listed(w.T, w.admin); len(got) != 1 {
			w.Errorf("there are %q", got)
		}
		w.stopped(r)
		if got := listed(w.T, w.admin); len(got) != 0 {
			w.Errorf("there are %q when the runner has left", got)
		}
	})
}

// A hub that does not answer delays the end of Run only for a limited time.
func TestLeavesInTime(t *testing.T) {
	inWorld(t, func(w *world) {
		client := &broken{Client: w.client("runner")}
		client.present = func(ctx context.Context, p *parley.RegisterBlueprintsParams) (*parley.RegisterBlueprintsResult,
			error) {
			if len(p.Blueprints) == 0 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return client.Client.RegisterBlueprints(ctx, p)
		}
		r := w.run(client, answers("well"), &executors.Options{Blueprints: blueprints("sum")})
		synctest.Wait()
		start := time.Now()
		w.stopped(r)
		if took := time.Since(start); took != 2*time.Second {
			w.Errorf("Run took %v to end, expected 2s", took)
		}
	})
}

// A refusal that belongs to an earlier registration is ignored.
func TestRegisteredAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		again := make(chan []string)
		client := &broken{Client: w.client("runner"), again: again}
		var calls atomic.Int64
		under, answered := make(chan struct{}), make(chan struct{})
		client.present = func(ctx context.Context, p *parley.RegisterBlueprintsParams) (*parley.RegisterBlueprintsResult,
			error) {
			if calls.Add(1) == 1 {
				close(under)
				<-answered
				return nil, parley.ErrValidationFailed
			}
			return client.Client.RegisterBlueprints(ctx, p)
		}
		told := make(chan struct{}, 9)
		r := w.run(client, answers("well"), &executors.Options{
			Blueprints: blueprints("sum"), Registered: func(*parley.RegisterBlueprintsResult) { told <- struct{}{} },
		})
		<-under
		again <- nil
		synctest.Wait()
		close(answered)
		select {
		case <-told:
		case <-r.ended:
			w.Fatalf("Run ended with %v", r.err)
		}
		w.stopped(r)
	})
}

// A replaced runner does not remove the blueprints of its successor.
func TestReplacedKeepsTheBlueprints(t *testing.T) {
	inWorld(t, func(w *world) {
		o := &executors.Options{ExecutorID: "one", Blueprints: blueprints("sum")}
		client := &broken{Client: w.client("runner")}
		var left atomic.Int64
		client.present = func(ctx context.Context, p *parley.RegisterBlueprintsParams) (*parley.RegisterBlueprintsResult,
			error) {
			if len(p.Blueprints) == 0 {
				left.Add(1)
			}
			return client.Client.RegisterBlueprints(ctx, p)
		}
		first := w.run(client, answers("first"), o)
		synctest.Wait()
		second := w.run(w.client("runner"), answers("second"), o)
		<-first.ended
		if !errors.Is(first.err, parley.ErrAlreadyExists) {
			w.Errorf("the first has ended with %v", first.err)
		}
		if n := left.Load(); n != 0 {
			w.Errorf("the first has taken the blueprints back, %d times", n)
		}
		time.Sleep(time.Minute)
		if s := startSession(w.T, w.client("boss"), "sum", ""); s.Status != parley.SessionCompleted ||
			*s.Result.ResultText != "second" {
			w.Errorf("the session: %+v", s)
		}
		w.stopped(second)
	})
}
