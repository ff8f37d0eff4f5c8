package executors_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// An agent in the process of the hub continues its turn at once after a kill and restart, without a
// failed attempt.
func TestInsideTheHub(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(agents("a"))
		first := executors.Internal(w.client("a"),
			parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				if err := say(ctx, turn, parley.FinalityNone, "half"); err != nil {
					return "", err
				}
				<-ctx.Done()
				return "", ctx.Err()
			}), nil)
		r := w.begin(first.Run)
		w.await(id, func(e *parley.Event) bool { return e.Type == parley.TypeMessage })
		w.restart(r)
		start := time.Now()
		second := executors.Internal(w.client("a"), talk(1), nil)
		if first.ID() != second.ID() {
			w.Errorf("the executor was %s and is %s", first.ID(), second.ID())
		}
		r = w.begin(second.Run)
		w.closed(id)
		if took := time.Since(start); took > time.Second {
			w.Errorf("the turn was taken up again after %v", took)
		}
		w.stopped(r)
		w.expect(id, "1 a claimed, attempt 1", "1 a none: half", "1 ended restarted", "1 a claimed, attempt 1",
			"1 a conversation: a 1")
	})
}

// An internal seat is served only in the process of the hub, and an external one only from outside.
func TestPlaces(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			h := sdktest.NewHub(t)
			admin := h.Admin(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			where := func(place string) parley.AgentFunc {
				return func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
					_, err := turn.Complete(ctx, parley.Message{Text: place}, parley.Outcome{Status: parley.OutcomeCompleted})
					return parley.TurnComplete, err
				}
			}
			o := &executors.Options{Mode: mode, PollEvery: 10 * time.Millisecond}
			ended := make(chan error, 2)
			inside, outside := h.InProcess(t, "a"), h.Client(t, "a")
			go func() { ended <- executors.Internal(inside, where("internal"), o).Run(ctx) }()
			go func() { ended <- executors.External(outside, where("external"), o).Run(ctx) }()
			for range 5 {
				for _, place := range []parley.ExecutorPlace{parley.ExecutorInternal, parley.ExecutorExternal} {
					p := agents("a")
					p.Participants[0].Executor = place
					s, err := admin.CreateConversation(ctx, p)
					if err != nil {
						t.Fatal(err)
					}
					u, err := admin.GetUpdates(
						ctx, &parley.GetUpdatesParams{ConversationID: s.ConversationID, Until: parley.UntilClosed, TimeoutMs: 20_000})
					if err != nil || len(u.Messages) != 1 {
						t.Fatalf("the conversation: %+v, %v", u, err)
					}
					if m, err := u.Messages[0].Message(); err != nil || m.Text != string(place) {
						t.Errorf("a seat that is %s is served by one that is %s, %v", place, m.Text, err)
					}
				}
			}
			stop()
			for range 2 {
				if err := <-ended; err != nil {
					t.Errorf("Run ended with %v", err)
				}
			}
		})
	}
}

// One token, one socket and one process serve the seats of several agents, in conversations without
// the token's own id.
func TestRunnerOfMany(t *testing.T) {
	h := sdktest.NewHub(t)
	admin := h.Admin(t)
	token, err := admin.CreateToken(t.Context(), &parley.CreateTokenParams{
		AgentID: "runner", Agents: []string{"triage", "advice"},
		Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeWrite, parley.ScopeClaim},
	})
	if err != nil {
		t.Fatal(err)
	}
	agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		u, err := turn.Updates(ctx)
		if err != nil {
			return "", err
		}
		if _, err := turn.Trace(ctx, parley.Trace{Kind: "thought"}); err != nil {
			return "", err
		}
		if _, err := turn.WaitForChange(ctx, u.LatestSeq, time.Second); err != nil {
			return "", err
		}
		if _, err := turn.Messages(ctx); err != nil {
			return "", err
		}
		return talk(4)(ctx, turn)
	})
	c := h.Dial(t, &sdk.Options{Token: token.Token})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- executors.Run(ctx, c, agent, &executors.Options{Agents: []string{"triage", "advice"}})
	}()
	for range 3 {
		p := agents("nurse", "doctor")
		p.Participants[0].Agent, p.Participants[1].Agent = "triage", "advice"
		s, err := admin.CreateConversation(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := admin.GetUpdates(
			ctx, &parley.GetUpdatesParams{ConversationID: s.ConversationID, Until: parley.UntilClosed,
				TimeoutMs: 20_000}); err != nil || u.Status != parley.StatusClosed {
			t.Fatalf("the conversation: %+v, %v", u, err)
		}
		turn := parley.Turn{ConversationID: s.ConversationID, Client: admin}
		events, err := turn.Messages(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var from []string
		for _, e := range events {
			from = append(from, e.From)
		}
		if want := []string{"nurse", "doctor", "nurse", "doctor"}; !slices.Equal(from, want) {
			t.Errorf("%v posted, expected %v", from, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}
