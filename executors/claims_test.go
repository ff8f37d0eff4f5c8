package executors_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

// short are claims that last for a second without renewal.
var short = parley.Limits{TurnTimeoutMs: 1000}

// untilEnd works until its ctx ends, and records the cause and the time.
func untilEnd(why chan<- error) parley.AgentFunc {
	return func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		<-ctx.Done()
		why <- context.Cause(ctx)
		return "", ctx.Err()
	}
}

// Work that takes longer than a claim lasts is one claim.
func TestRenewal(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(limited(short, "a"))
		r := w.run(w.client("a"), parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			time.Sleep(5 * time.Second)
			return talk(1)(ctx, turn)
		}), &executors.Options{Mode: mode})
		w.closed(id)
		w.stopped(r)
		if n := w.count(id, "claimed"); n != 1 {
			w.Errorf("%d claims, expected 1", n)
		}
		if n := w.count(id, parley.KindClaimRenewed); n < 4 || n > 12 {
			w.Errorf("%d renewals in the log for 5 times the claim", n)
		}
	})
}

// The agent's ctx ends at once when its turn is canceled, when the conversation is closed, and when
// the claim expires because it could not be renewed. Later posts are refused.
func TestClaimLossCancels(t *testing.T) {
	for name, c := range map[string]struct {
		lose   func(w *world, id string)
		within time.Duration
	}{
		"canceled": {func(w *world, id string) {
			if _, err := w.admin.CancelTurn(w.Context(), &parley.CancelTurnParams{ConversationID: id, Turn: 1}); err != nil {
				w.Error(err)
			}
		}, 0},
		"closed": {func(w *world, id string) {
			if _, err := w.admin.CloseConversation(w.Context(),
				&parley.CloseConversationParams{ConversationID: id}); err != nil {
				w.Error(err)
			}
		}, 0},
		"lapsed": {nil, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				id := w.create(limited(short, "a", "b"))
				called, why, late := make(chan struct{}, 1), make(chan error, 1), make(chan error, 1)
				stuck := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
					if turn.Attempt > 1 {
						return parley.TurnPosted, say(ctx, turn, parley.FinalityTurn, "second")
					}
					called <- struct{}{}
					<-ctx.Done()
					why <- context.Cause(ctx)
					late <- say(context.WithoutCancel(ctx), turn, parley.FinalityTurn, "late")
					return "", ctx.Err()
				})
				c1 := &broken{Client: w.client("a")}
				if c.lose == nil {
					c1.renew = func(*parley.RenewClaimParams) (*parley.RenewClaimResult, error) { return nil, parley.ErrInternal }
				}
				r := w.run(c1, stuck, nil)
				<-called
				start := time.Now()
				if c.lose != nil {
					c.lose(w, id)
				}
				if err := <-why; !errors.Is(err, parley.ErrClaimLost) {
					w.Errorf("the agent's ctx has ended with %v", err)
				}
				if took := time.Since(start); took > c.within {
					w.Errorf("the agent was told after %v, expected %v", took, c.within)
				}
				if err := <-late; err == nil {
					w.Error("a word after the end was taken")
				}
				time.Sleep(10 * time.Second)
				w.stopped(r)
				if slices.Contains(w.texts(id), "late") {
					w.Error("a word after the end is in the log")
				}
			})
		})
	}
}

// The ctx of a turn ends at TurnTimeout or at the limit of the claim, and the attempt failed.
func TestDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		limits parley.Limits
		o      *executors.Options
		least  time.Duration
		most   time.Duration
	}{
		"TurnTimeout": {short, &executors.Options{TurnTimeout: 3 * time.Second}, 3 * time.Second, 3 * time.Second},
		"maxClaimMs":  {parley.Limits{TurnTimeoutMs: 1000, MaxClaimMs: 5000}, nil, 4500 * time.Millisecond, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				id := w.create(limited(c.limits, "a"))
				start := time.Now()
				var took time.Duration
				why := make(chan error, 1)
				r := w.run(w.client("a"), script(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
					if d, ok := ctx.Deadline(); !ok || !d.Equal(turn.Deadline) {
						t.Errorf("the deadline of ctx is %v, and of the turn %v", d, turn.Deadline)
					}
					outcome, err := untilEnd(why)(ctx, turn)
					took = time.Since(start)
					return outcome, err
				}), c.o)
				w.closed(id)
				w.stopped(r)
				if err := <-why; !errors.Is(err, context.DeadlineExceeded) {
					w.Errorf("the agent's ctx has ended with %v", err)
				}
				if took < c.least || took > c.most {
					w.Errorf("the agent had %v, expected %v to %v", took, c.least, c.most)
				}
				if n := w.count(id, "1 ended failed deadline"); n != 1 {
					w.Errorf("the log is\n%s", strings.Join(w.log(id), "\n"))
				}
			})
		})
	}
}

// An agent that is slow to end its lost turn is not called concurrently for the same seat.
func TestOneAtATime(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(limited(short, "a"))
		var at, calls atomic.Int64
		slow := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			if at.Add(1) != 1 {
				t.Error("the agent works on two turns of one seat")
			}
			defer at.Add(-1)
			if calls.Add(1) < 3 {
				<-ctx.Done()
				time.Sleep(1900 * time.Millisecond)
				return "", ctx.Err()
			}
			return talk(turn.Number)(ctx, turn)
		})
		c := &broken{Client: w.client("a")}
		c.renew = func(p *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
			if calls.Load() < 3 {
				return nil, parley.ErrInternal
			}
			return c.Client.RenewClaim(context.Background(), p)
		}
		r := w.run(c, slow, &executors.Options{Mode: mode})
		w.closed(id)
		w.stopped(r)
		if n := w.count(id, "claimed"); n != 3 {
			w.Errorf("%d claims, expected 3", n)
		}
	})
}

// An agent that does not return blocks only its seat: its claim is released, its capacity is freed,
// and Run reports it at the end.
func TestStubborn(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		first := w.create(limited(parley.Limits{TurnTimeoutMs: 1000, OnTurnTimeout: parley.TurnReoffer}, "a"))
		let := make(chan struct{})
		refused := make(chan error, 1)
		agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			if turn.ConversationID != first {
				return talk(1)(ctx, turn)
			}
			<-let
			refused <- say(context.WithoutCancel(ctx), turn, parley.FinalityTurn, "at last")
			return parley.TurnPosted, nil
		})
		r := w.run(w.client("a"), agent, &executors.Options{Mode: mode, Capacity: 1, TurnTimeout: 2 * time.Second})
		w.await(first, kind(parley.KindTurnClaimed))
		second := w.create(agents("a"))
		w.closed(second)
		time.Sleep(30 * time.Second)
		if n := w.count(first, "1 ended failed deadline"); n != 1 {
			w.Errorf("the log is\n%s", strings.Join(w.log(first), "\n"))
		}
		if err := r.stop(); err == nil || !strings.Contains(err.Error(), "did not return") {
			w.Errorf("Run ended with %v", err)
		}
		if n := w.count(first, "claimed"); n != 1 {
			w.Errorf("%d claims for a seat whose agent has not returned", n)
		}
		close(let)
		if err := <-refused; err == nil {
			w.Error("what it says later was taken")
		}
	})
}

// The final message is in the log, although its author got no answer. The turn is over, without a
// failed attempt.
func TestUnknownOutcomeOfFinalMessage(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(agents("a"))
		c := &broken{Client: w.client("a")}
		c.send = func(p *parley.SendMessageParams) (*parley.SendResult, error) {
			if _, err := c.Client.SendMessage(context.Background(), p); err != nil {
				return nil, err
			}
			return nil, parley.Refuse(parley.ErrOutcomeUnknown, "the answer was lost", "")
		}
		c.release = func(p *parley.ReleaseClaimParams) error {
			t.Errorf("released %+v", p)
			return c.Client.ReleaseClaim(context.Background(), p)
		}
		r := w.run(c, talk(1), nil)
		w.closed(id)
		w.stopped(r)
		w.expect(id, "1 a claimed, attempt 1", "1 a conversation: a 1")
	})
}

// A claim whose answer was lost is requested again, and is the same claim.
func TestLostAnswerOfAClaim(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(agents("a"))
		c := &broken{Client: w.client("a")}
		var calls atomic.Int64
		c.claim = func(_ context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
			r, err := c.Client.ClaimTurn(context.Background(), p)
			if err == nil && calls.Add(1) == 1 {
				return nil, parley.Refuse(parley.ErrOutcomeUnknown, "the answer was lost", "")
			}
			return r, err
		}
		r := w.run(c, talk(1), &executors.Options{Mode: mode})
		w.closed(id)
		w.stopped(r)
		w.expect(id, "1 a claimed, attempt 1", "1 a conversation: a 1")
	})
}
