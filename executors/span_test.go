package executors_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// asker is the parent span of all agents in these tests.
const asker = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// shown are the attributes that the tests compare.
var shown = []string{
	spannames.AttrGenAIOperationName, spannames.AttrGenAIAgentID, spannames.AttrTurnNumber, spannames.AttrAttemptNumber,
	spannames.AttrAttemptOutcome, "test",
}

// traced adds a span to the claims of a client.
func traced(c parley.Client) *broken {
	b := &broken{Client: c}
	b.claim = func(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
		r, err := c.ClaimTurn(ctx, p)
		if err == nil {
			r.Traceparent = asker
		}
		return r, err
	}
	return b
}

// runTraced runs an agent and records its spans.
func (w *world) runTraced(r *spantest.Recorder, c parley.Client, agent parley.Agent, o *executors.Options) *running {
	return w.begin(func(ctx context.Context) error { return executors.Run(parley.WithTracer(ctx, r), c, agent, o) })
}

// Each attempt is one span that ends, a child of the span of its claim.
func TestSpanEnds(t *testing.T) {
	posts := func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		_, span := parley.StartSpan(ctx, parley.SpanStart{Name: "inside"})
		span.End()
		return parley.TurnPosted, say(ctx, turn, parley.FinalityTurn, "one")
	}
	for name, c := range map[string]struct {
		do   parley.AgentFunc
		o    executors.Options
		want string
	}{
		"said": {posts, executors.Options{}, "final\n  inside\n"},
		"yielded": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) { return parley.TurnYield, nil },
			executors.Options{}, "yielded\n"},
		"silent": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) { return parley.TurnPosted, nil },
			executors.Options{}, "silent !silent\n"},
		"failed": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) { return "", errors.New("a secret") },
			executors.Options{}, "failed !error\n"},
		"named": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return "", fmt.Errorf("ask: %w", parley.ErrForbidden)
		}, executors.Options{}, "failed !forbidden\n"},
		"panic": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) { panic("a secret") }, executors.Options{},
			"failed !panic\n"},
		"too long": {func(ctx context.Context, _ *parley.Turn) (parley.TurnOutcome, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, executors.Options{TurnTimeout: time.Second}, "failed !deadline\n"},
		"closed as failed": {func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			_, err := turn.Complete(ctx, parley.Message{Text: "no"},
				parley.Outcome{Status: parley.OutcomeFailed, Reason: "a secret"})
			return parley.TurnComplete, err
		}, executors.Options{}, "final !failed\n"},
		"last words": {func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			return "", errors.Join(say(ctx, turn, parley.FinalityTurn, "one"), errors.New("too late"))
		}, executors.Options{}, "final\n"},
	} {
		t.Run(name, func(t *testing.T) {
			eachMode(t, func(w *world, mode parley.ExecutorMode) {
				r, p := &spantest.Recorder{}, agents("a", "b")
				p.Limits = &parley.Limits{MaxAttempts: 1, OnTurnTimeout: parley.TurnSkip}
				id := w.create(p)
				c.o.Mode = mode
				done := w.runTraced(r, traced(w.client("a")), c.do, &c.o)
				w.await(id, func(e *parley.Event) bool {
					return e.Type == parley.TypeMessage || e.Type == parley.TypeSystem && systemOf(e).Kind == parley.KindTurnEnded
				})
				w.stopped(done)
				if got, want := r.Tree(asker, shown...), "invoke_agent a invoke_agent a 1 1 "+c.want; got != want {
					w.Errorf("the spans are\n%sexpected\n%s", got, want)
				}
				if n := len(r.Named("invoke_agent a")); n != 1 {
					w.Errorf("%d attempts were told", n)
				}
			})
		})
	}
}

// The span of an attempt ends when its claim is lost, even if the agent does not return.
func TestSpanOfLostClaim(t *testing.T) {
	for name, returns := range map[string]bool{"returns": true, "astray": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				r, id := &spantest.Recorder{}, w.create(agents("a", "b"))
				called, back := make(chan struct{}, 1), make(chan struct{})
				done := w.runTraced(r, traced(w.client("a")),
					parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
						called <- struct{}{}
						<-ctx.Done()
						if !returns {
							<-back
						}
						return parley.TurnPosted, nil
					}), &executors.Options{Grace: time.Second})
				<-called
				if _, err := w.admin.CancelTurn(w.Context(), &parley.CancelTurnParams{ConversationID: id, Turn: 1}); err != nil {
					w.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				if got, want := r.Tree(asker, shown...), "invoke_agent a invoke_agent a 1 1 lost !claim_lost\n"; got != want {
					w.Errorf("the spans are\n%sexpected\n%s", got, want)
				}
				close(back)
				synctest.Wait()
				w.stopped(done)
			})
		})
	}
}

// An attempt whose final message is in the log ended its turn, even if a new registration reports a
// lost claim before the answer arrives. A message that was too late does not end it.
func TestSpanOfALateAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		taken bool
		want  string
	}{"taken": {true, "final\n"}, "too late": {false, "lost !claim_lost\n"}} {
		t.Run(name, func(t *testing.T) {
			eachMode(t, func(w *world, mode parley.ExecutorMode) {
				r, id, again := &spantest.Recorder{}, w.create(agents("a", "b")), make(chan []string)
				b := &broken{Client: traced(w.client("a")), again: again}
				calls := 0
				b.send = func(p *parley.SendMessageParams) (*parley.SendResult, error) {
					if calls++; calls > 1 {
						return b.Client.SendMessage(w.Context(), p)
					}
					var err error
					if c.taken {
						_, err = b.Client.SendMessage(w.Context(), p)
					} else {
						_, err = w.admin.CancelTurn(w.Context(), &parley.CancelTurnParams{ConversationID: id, Turn: 1})
					}
					if err != nil {
						w.Error(err)
					}
					again <- nil
					return nil, parley.Refuse(parley.ErrOutcomeUnknown, "the call ended before its answer", "")
				}
				w.stopped(w.afterCall(b, r, mode))
				if got, want := r.Tree(asker, shown...), "invoke_agent a invoke_agent a 1 1 "+c.want; got != want {
					w.Errorf("the spans are\n%sexpected\n%s", got, want)
				}
				if n := w.count(id, "1 a turn: one"); c.taken && n != 1 || !c.taken && n != 0 {
					w.Errorf("the log is %q", w.log(id))
				}
			})
		})
	}
}

// afterCall runs an agent that posts one message, and returns after the turn.
func (w *world) afterCall(c parley.Client, r *spantest.Recorder, mode parley.ExecutorMode) *running {
	called := make(chan struct{})
	done := w.runTraced(r, c, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		defer close(called)
		return parley.TurnPosted, say(ctx, turn, parley.FinalityTurn, "one")
	}), &executors.Options{Mode: mode})
	<-called
	synctest.Wait()
	return done
}

// If a claim has no span, the span of the offer is the parent.
func TestSpanOfTheOffer(t *testing.T) {
	inWorld(t, func(w *world) {
		p := agents("a")
		p.Traceparent = asker
		id, r := w.create(p), &spantest.Recorder{}
		c := &broken{Client: w.client("a")}
		c.claim = func(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
			got, err := c.Client.ClaimTurn(ctx, p)
			if err == nil {
				got.Traceparent = ""
			}
			return got, err
		}
		done := w.runTraced(r, c, talk(1), &executors.Options{Mode: parley.ModePush})
		w.closed(id)
		w.stopped(done)
		if got, want := r.Tree(asker, shown...), "invoke_agent a invoke_agent a 1 1 final\n"; got != want {
			w.Errorf("the spans are\n%sexpected\n%s", got, want)
		}
	})
}

// An agent has the same spans inside and outside of the hub, below the span of the request. Its
// messages have its span.
func TestSpansInsideAndOutside(t *testing.T) {
	for name, client := range map[string]func(h *sdktest.Hub) parley.Client{
		"inside":  func(h *sdktest.Hub) parley.Client { return h.InProcess(t, "a") },
		"outside": func(h *sdktest.Hub) parley.Client { return h.Client(t, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			h, r := sdktest.NewHub(t), &spantest.Recorder{}
			ctx, stop := context.WithCancel(parley.WithTracer(t.Context(), r))
			ended := make(chan error, 1)
			go func() {
				ended <- executors.Run(ctx, client(h),
					parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
						if turn.Attempt == 1 {
							return "", errors.New("not yet")
						}
						_, err := turn.Complete(ctx, parley.Message{Text: "done"}, parley.Outcome{Status: parley.OutcomeCompleted})
						return parley.TurnComplete, err
					}), nil)
			}()
			admin := h.Admin(t)
			p := agents("a")
			p.Traceparent = asker
			s, err := admin.CreateConversation(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			u, err := admin.GetUpdates(
				ctx, &parley.GetUpdatesParams{ConversationID: s.ConversationID, Until: parley.UntilClosed, TimeoutMs: 20_000})
			if err != nil || len(u.Messages) != 1 {
				t.Fatalf("the conversation: %+v, %v", u, err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			want := "invoke_agent a invoke_agent a 1 1 failed !error\ninvoke_agent a invoke_agent a 1 2 final\n"
			if got := r.Tree(asker, shown...); got != want {
				t.Errorf("the spans are\n%sexpected\n%s", got, want)
			}
			if all := r.Named("invoke_agent a"); len(all) == 2 && u.Messages[0].Traceparent != all[1].Traceparent {
				t.Errorf("the message was said in %q, expected %q", u.Messages[0].Traceparent, all[1].Traceparent)
			}
		})
	}
}

// Without a tracer, the work of an agent still belongs to the span of the request.
func TestWithoutATracer(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(agents("a"))
		done := w.run(traced(w.client("a")),
			parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				if got := parley.TraceparentOf(ctx); got != asker {
					w.Errorf("the agent works under %q", got)
				}
				return talk(1)(ctx, turn)
			}), nil)
		w.closed(id)
		w.stopped(done)
	})
}
