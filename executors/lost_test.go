package executors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

// After a new registration, the work continues if the hub knows the claim, and ends at once
// otherwise.
func TestRegisteredAgain(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		w.create(agents("a"))
		again := make(chan []string)
		c := &broken{Client: w.client("a"), again: again}
		claimed, why := make(chan string, 1), make(chan error, 1)
		r := w.run(c, script(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			claimed <- turn.ClaimID
			return untilEnd(why)(ctx, turn)
		}), &executors.Options{Mode: mode})
		claim := <-claimed
		again <- []string{"clm_1_other", claim}
		time.Sleep(5 * time.Second)
		select {
		case err := <-why:
			w.Fatalf("the agent's ctx has ended with %v though its claim stands", err)
		default:
		}
		again <- []string{"clm_1_other"}
		synctest.Wait()
		select {
		case err := <-why:
			if !errors.Is(err, parley.ErrClaimLost) {
				w.Errorf("the agent's ctx has ended with %v", err)
			}
		default:
			w.Error("the agent works on though the hub does not know its claim")
		}
		w.stopped(r)
	})
}

// During Grace, the claim of an agent whose ctx ended is kept, so its final message counts.
func TestLastMoments(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(limited(short, "a"))
		begun, said := make(chan struct{}, 1), make(chan error, 1)
		r := w.run(w.client("a"), parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			begun <- struct{}{}
			<-ctx.Done()
			time.Sleep(4 * time.Second) // four times the duration of the claim
			err := say(context.WithoutCancel(ctx), turn, parley.FinalityTurn, "at last")
			said <- err
			return parley.TurnPosted, err
		}), &executors.Options{Mode: mode, Drain: -1, Grace: 5 * time.Second})
		<-begun
		w.stopped(r)
		if err := <-said; err != nil {
			w.Errorf("the last word was refused: %v", err)
		}
		if n := w.count(id, "1 a turn: at last"); n != 1 {
			w.Errorf("the log is %q", w.log(id))
		}
	})
}

// The time of a claim whose answer was lost counts from the first request.
func TestDeadlineOfALostAnswer(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(agents("a"))
		c := &broken{Client: w.client("a")}
		var first time.Time
		c.claim = func(_ context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
			r, err := c.Client.ClaimTurn(context.Background(), p)
			if err == nil && first.IsZero() {
				first = time.Now()
				time.Sleep(3 * time.Second)
				return nil, parley.Refuse(parley.ErrOutcomeUnknown, "the answer was lost", "")
			}
			return r, err
		}
		r := w.run(c, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			if has := turn.Deadline.Sub(first); has != 10*time.Second {
				w.Errorf("the deadline is %v after the claim, expected 10s", has)
			}
			return talk(1)(ctx, turn)
		}), &executors.Options{Mode: mode, TurnTimeout: 10 * time.Second})
		w.closed(id)
		w.stopped(r)
		w.expect(id, "1 a claimed, attempt 1", "1 a conversation: a 1")
	})
}
