package executors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// Running turns are finished, and no other is started.
func TestDrainFinishes(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(agents("a"))
		r := w.run(w.client("a"), parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			time.Sleep(8 * time.Second)
			return talk(0)(ctx, turn)
		}), &executors.Options{Mode: mode})
		w.await(id, kind(parley.KindTurnClaimed))
		time.Sleep(time.Second)
		start := time.Now()
		w.stopped(r)
		if took := time.Since(start); took != 7*time.Second {
			w.Errorf("the drain took %v, expected 7s", took)
		}
		w.expect(id, "1 a claimed, attempt 1", "1 a turn: a 1")
	})
}

// A turn that takes too long is released, and another executor gets it at once.
func TestDrainReleases(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(agents("a"))
		why := make(chan error, 1)
		r := w.run(w.client("a"), parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			if err := say(ctx, turn, parley.FinalityNone, "half"); err != nil {
				return "", err
			}
			return untilEnd(why)(ctx, turn)
		}), &executors.Options{Mode: mode, Drain: 3 * time.Second})
		w.await(id, func(e *parley.Event) bool { return e.Type == parley.TypeMessage })
		start := time.Now()
		w.stopped(r)
		if took := time.Since(start); took != 3*time.Second {
			w.Errorf("the drain took %v, expected 3s", took)
		}
		if err := <-why; errors.Is(err, parley.ErrClaimLost) || errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("the agent was told to stop by %v", err)
		}
		other := w.run(w.client("a"), talk(1), &executors.Options{Mode: mode})
		w.closed(id)
		if took := time.Since(start); took > 6*time.Second {
			w.Errorf("the turn was taken up again after %v", took)
		}
		w.stopped(other)
		w.expect(id, "1 a claimed, attempt 1", "1 a none: half", "1 ended declined stopping", "1 a claimed, attempt 2",
			"1 a conversation: a 1")
	})
}

// A drain without time releases everything at once.
func TestDrainWithoutTime(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(agents("a"))
		r := w.run(w.client("a"), untilEnd(make(chan error, 1)), &executors.Options{Drain: -1})
		w.await(id, kind(parley.KindTurnClaimed))
		start := time.Now()
		w.stopped(r)
		if took := time.Since(start); took != 0 {
			w.Errorf("the drain took %v", took)
		}
		w.expect(id, "1 a claimed, attempt 1", "1 ended declined stopping")
	})
}

// A claim whose answer arrives after the end of the drain is released without calling the agent.
func TestDrainWhileClaiming(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(agents("a"))
		c := &broken{Client: w.client("a")}
		claimed := make(chan struct{})
		c.claim = func(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
			r, err := c.Client.ClaimTurn(ctx, p)
			close(claimed)
			time.Sleep(time.Second)
			if ctx.Err() != nil {
				return nil, parley.Refuse(parley.ErrOutcomeUnknown, "the call ended before its answer", "")
			}
			return r, err
		}
		r := w.run(c, parley.AgentFunc(func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			t.Error("the agent is called in a drain without time")
			return parley.TurnPosted, nil
		}), &executors.Options{Mode: mode, Drain: -1})
		<-claimed
		w.stopped(r)
		w.expect(id, "1 a claimed, attempt 1", "1 ended declined stopping")
	})
}

// While it drains, an executor gets no offers.
func TestDrainStopsOffers(t *testing.T) {
	inWorld(t, func(w *world) {
		slow := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			time.Sleep(9 * time.Second)
			return talk(1)(ctx, turn)
		})
		first := w.create(agents("a"))
		r := w.run(w.client("a"), slow, nil)
		w.await(first, kind(parley.KindTurnClaimed))
		r.cancel()
		time.Sleep(time.Second)
		other := w.run(w.client("a"), slow, nil)
		time.Sleep(time.Second)
		start := time.Now()
		for range 4 { // some of them would go to the least busy executor
			w.await(w.create(limited(parley.Limits{ClaimWindowMs: 60_000}, "a")), kind(parley.KindTurnClaimed))
		}
		if took := time.Since(start); took > time.Second {
			w.Errorf("turns waited %v for an executor that drains", took)
		}
		w.stopped(r, other)
		w.closed(first)
	})
}

// A permanent failure ends Run.
func TestFatal(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		w.create(agents("a"))
		expect := func(what string, r *running, want error) {
			w.Helper()
			select {
			case <-r.ended:
			case <-time.After(time.Minute):
				w.Errorf("%s: Run goes on", what)
				return
			}
			if !errors.Is(r.err, want) {
				w.Errorf("%s: Run ended with %v, expected %v", what, r.err, want)
			}
		}
		o := &executors.Options{Mode: mode}
		expect("without the scope claim", w.run(w.client("a", parley.ScopeRead, parley.ScopeWrite), talk(0), o),
			parley.ErrForbidden)
		expect("as another's agent", w.run(w.client("a"), talk(0), &executors.Options{Mode: mode, Agents: []string{"b"}}),
			parley.ErrForbidden)
		expect("with a bad id", w.run(w.client("a"), talk(0), &executors.Options{Mode: mode, ExecutorID: "~"}),
			parley.ErrValidationFailed)
		c := w.client("a")
		called, why := make(chan struct{}), make(chan error, 1)
		r := w.run(c, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			close(called)
			return untilEnd(why)(ctx, turn)
		}), o)
		<-called
		if err := c.Close(); err != nil {
			w.Fatal(err)
		}
		expect("over a closed client", r, parley.ErrUnavailable)
		if err := <-why; !errors.Is(err, parley.ErrUnavailable) {
			w.Errorf("the agent's ctx has ended with %v", err)
		}
	})
}

// The second executor replaces the first, whose turns end.
func TestSameExecutorTwice(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(agents("a"))
		first := w.run(w.client("a"), untilEnd(make(chan error, 1)), &executors.Options{ExecutorID: "one"})
		w.await(id, kind(parley.KindTurnClaimed))
		second := w.run(w.client("a"), talk(1), &executors.Options{ExecutorID: "one"})
		<-first.ended
		if !errors.Is(first.err, parley.ErrAlreadyExists) {
			w.Errorf("the first has ended with %v", first.err)
		}
		w.closed(id)
		w.stopped(second)
	})
}

// The seat of a person is not served.
func TestNoAgentSitsThere(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		p := agents("a")
		p.Participants[0].Kind = parley.KindHuman
		id := w.create(p)
		r := w.run(w.client("a"), talk(1), &executors.Options{Mode: mode})
		time.Sleep(time.Minute)
		w.stopped(r)
		w.expect(id)
	})
}

// Over a real socket, a claim continues in the same attempt when the connection is closed and when
// the hub restarts.
func TestReconnect(t *testing.T) {
	for name, disturb := range map[string]func(*sdktest.Hub){
		"cut":     func(h *sdktest.Hub) { h.CutConnections() },
		"restart": func(h *sdktest.Hub) { h.Restart(t) },
	} {
		for _, mode := range modes {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				h := sdktest.NewHub(t)
				id := h.Create(t, "a", "b")
				at, goOn := make(chan struct{}, 9), make(chan struct{})
				agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
					if err := say(ctx, turn, parley.FinalityNone, "half"); err != nil {
						return "", err
					}
					at <- struct{}{}
					<-goOn
					return talk(1)(ctx, turn)
				})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				c := h.Client(t, "a")
				ended := make(chan error, 1)
				go func() {
					ended <- executors.Run(ctx, c, agent,
						&executors.Options{Mode: mode, PollEvery: 10 * time.Millisecond, GraceMs: 60_000})
				}()
				<-at
				disturb(h)
				if _, err := c.Now(ctx); err != nil { // it is back
					t.Fatal(err)
				}
				close(goOn)
				admin := h.Admin(t)
				u, err := admin.GetUpdates(
					ctx, &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 20_000})
				if err != nil || u.Status != parley.StatusClosed || len(u.Withdrawn) != 0 {
					t.Fatalf("the conversation: %+v, %v", u, err)
				}
				stop()
				if err := <-ended; err != nil {
					t.Errorf("Run ended with %v", err)
				}
				page, err := admin.Tail(t.Context(), &parley.TailParams{ConversationID: id, SinceSeq: 1})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i := range page.Events {
					got = append(got, line(&page.Events[i]))
				}
				if want := "1 a claimed, attempt 1|1 a none: half|1 a conversation: a 1"; strings.Join(got, "|") != want {
					t.Errorf("the log is\n%s", strings.Join(got, "\n"))
				}
			})
		}
	}
}
