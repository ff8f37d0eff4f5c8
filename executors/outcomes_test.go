package executors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

// TestOutcomes has the log for each way in which an agent can return.
func TestOutcomes(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for name, c := range map[string]struct {
		do   parley.AgentFunc
		want []string // between the first claim and the next step
	}{
		"nothing": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return parley.TurnPosted, nil
		}, []string{"1 ended silent"}},
		"progress": {func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			return parley.TurnPosted, say(ctx, turn, parley.FinalityNone, "half")
		}, []string{"1 a none: half", "1 ended silent"}},
		"no outcome": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return "", nil
		}, []string{"1 ended silent"}},
		"complete without a close": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return parley.TurnComplete, nil
		}, []string{"1 ended silent"}},
		"yield": {func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			return parley.TurnYield, say(ctx, turn, parley.FinalityNone, "this much")
		}, []string{"1 a none: this much", "1 ended yielded", "1 a yielded"}},
		"no action": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return parley.TurnNoAction, nil
		}, []string{"1 ended yielded", "1 a yielded"}},
		"no action after words": {func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			return parley.TurnNoAction, say(ctx, turn, parley.FinalityNone, "hm")
		}, []string{"1 a none: hm", "1 ended silent"}},
		"error": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return parley.TurnPosted, errors.New("my secret is out")
		}, []string{`1 a trace {"kind":"error","text":"my secret is out"}`, "1 ended failed error"}},
		"long error": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return "", errors.New(long)
		}, []string{`1 a trace {"kind":"error","text":"` + long[:4096] + `"}`, "1 ended failed error"}},
		"panic": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			panic("oh")
		}, []string{`1 a trace {"kind":"error","text":"panic: oh"}`, "1 ended failed panic"}},
		"nil panic": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			panic(nil)
		}, []string{`1 a trace {"kind":"error","text":"panic: panic called with nil argument"}`, "1 ended failed panic"}},
		"error after the last word": {func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			return "", errors.Join(say(ctx, turn, parley.FinalityTurn, "one"), errors.New("too late"))
		}, []string{"1 a turn: one"}},
		"last word past the turn": {func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			_, err := turn.Client.SendMessage(ctx, &parley.SendMessageParams{
				ConversationID: turn.ConversationID, Payload: []byte(`{"text":"one"}`), Finality: parley.FinalityTurn,
				ClaimID: turn.ClaimID,
			})
			return parley.TurnPosted, err
		}, []string{"1 a turn: one"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				id := w.create(agents("a", "b"))
				r, b := w.run(w.client("a"), script(c.do), nil), w.run(w.client("b"), talk(0), nil)
				w.closed(id)
				w.stopped(r, b)
				want := append([]string{"1 a claimed, attempt 1"}, c.want...)
				if last := c.want[len(c.want)-1]; strings.HasSuffix(last, "yielded") || strings.Contains(last, " turn: ") {
					want = append(want, "2 b claimed, attempt 1", "2 b turn: b 2", "3 a claimed, attempt 1", "3 a conversation: done")
				} else {
					want = append(want, "1 a claimed, attempt 2", "1 a conversation: done")
				}
				w.expect(id, want...)
			})
		})
	}
}

// An agent that returned after part of its messages may post the rest from a goroutine, for a short
// time.
func TestGraceToFinalize(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		ends  string
	}{"in time": {time.Second, "1 a turn: the rest"}, "too late": {3 * time.Second, "1 ended silent"}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				id := w.create(agents("a"))
				said := make(chan struct{})
				r := w.run(w.client("a"), script(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
					go func() {
						defer close(said)
						time.Sleep(c.after)
						_ = say(ctx, turn, parley.FinalityTurn, "the rest")
					}()
					return parley.TurnPosted, say(ctx, turn, parley.FinalityNone, "half")
				}), nil)
				w.closed(id)
				<-said
				w.stopped(r)
				if got := w.log(id); len(got) < 3 || got[2] != c.ends {
					w.Errorf("the log is\n%s", strings.Join(got, "\n"))
				}
			})
		})
	}
}

// The next attempt has other keys, so the same message is posted again, and sees the events of the
// earlier attempt.
func TestNextAttempt(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(agents("a"))
		var keys []string
		r := w.run(w.client("a"), parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			keys = append(keys, turn.Key)
			if err := say(ctx, turn, parley.FinalityNone, "the same"); err != nil {
				return "", err
			}
			if turn.Attempt == 1 {
				return "", errors.New("not today")
			}
			left, err := turn.Earlier(ctx)
			if err != nil || len(left) != 2 || left[0].Type != parley.TypeMessage || left[1].Type != parley.TypeTrace {
				t.Errorf("the first attempt has left %+v, %v", left, err)
			}
			return talk(1)(ctx, turn)
		}), &executors.Options{Mode: mode})
		w.closed(id)
		w.stopped(r)
		if got := w.texts(id); len(got) != 2 || got[0] != "the same" || got[1] != "a 1" {
			w.Errorf("said %q", got)
		}
		if len(keys) != 2 || keys[0] == keys[1] {
			w.Errorf("the keys of two attempts begin with %q", keys)
		}
	})
}
