package executors_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

// answer ends a session with a text.
func answer(ctx context.Context, turn *parley.Turn, text string) (parley.TurnOutcome, error) {
	result := &parley.SessionResult{ResultType: parley.AgentTypeDeterministic, ResultText: &text}
	_, err := turn.Complete(ctx, parley.Message{Text: text, Result: result},
		parley.Outcome{Status: parley.OutcomeCompleted})
	return parley.TurnComplete, err
}

// answers ends every session with a text.
func answers(text string) parley.AgentFunc {
	return func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		return answer(ctx, turn, text)
	}
}

// startSession starts a session as a caller that is independent of the runner.
func startSession(t *testing.T, c parley.Client, agent string, mode parley.SessionMode) *parley.Session {
	t.Helper()
	s, err := c.StartSession(t.Context(), &parley.StartSessionParams{AgentName: agent, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ended waits for the end of a session.
func ended(t *testing.T, c parley.Client, id string) *parley.Session {
	t.Helper()
	for range 100 {
		s, err := c.GetSession(t.Context(), &parley.GetSessionParams{SessionID: id, TimeoutMs: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		if s.Status.Ended() {
			return s
		}
	}
	t.Fatalf("the session %s did not end", id)
	return nil
}

// The caller of a session gets the text of the agent's error, on one line and with limited length.
func TestSessionError(t *testing.T) {
	for name, c := range map[string]struct {
		do   parley.AgentFunc
		o    executors.Options
		want string
	}{
		"error": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return "", errors.New("no such\nfile\x00 \xff")
		}, executors.Options{}, "no such file  ?"},
		"long": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
			return "", errors.New("a" + strings.Repeat("é", parley.MaxReasonBytes))
		}, executors.Options{}, "a" + strings.Repeat("é", parley.MaxReasonBytes/2-1)},
		"panic": {func(context.Context, *parley.Turn) (parley.TurnOutcome, error) { panic("oh") }, executors.Options{},
			"panic: oh"},
		"deadline": {func(ctx context.Context, _ *parley.Turn) (parley.TurnOutcome, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, executors.Options{TurnTimeout: time.Minute}, "The time for this turn is over"},
		"its own word at the deadline": {func(ctx context.Context, _ *parley.Turn) (parley.TurnOutcome, error) {
			<-ctx.Done()
			return "", errors.New("half of it was done")
		}, executors.Options{TurnTimeout: time.Minute}, "half of it was done"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				c.o.Blueprints = blueprints("sum")
				r := w.run(w.client("runner"), c.do, &c.o)
				synctest.Wait()
				boss := w.client("boss")
				s := ended(w.T, boss, startSession(w.T, boss, "sum", parley.ModeAsyncPoll).SessionID)
				if s.Status != parley.SessionFailed || s.Result == nil || s.Result.Error != c.want {
					w.Errorf("the session: %+v, result %+v", s, s.Result)
				}
				w.stopped(r)
			})
		})
	}
}

// A session that is released fails at once, with a reason.
func TestSessionInADrainWithoutTime(t *testing.T) {
	inWorld(t, func(w *world) {
		why := make(chan error, 1)
		r := w.run(w.client("runner"), untilEnd(why), &executors.Options{Blueprints: blueprints("sum"), Drain: -1})
		synctest.Wait()
		boss := w.client("boss")
		s := startSession(w.T, boss, "sum", parley.ModeAsyncPoll)
		synctest.Wait()
		start := time.Now()
		w.stopped(r)
		s = ended(w.T, boss, s.SessionID)
		if took := time.Since(start); took != 0 {
			w.Errorf("it took %v", took)
		}
		if s.Status != parley.SessionFailed || s.Result.Error != "The executor is stopping" {
			w.Errorf("the session: %+v, result %+v", s, s.Result)
		}
	})
}

// The ctx of a stopped session ends at once, without a warning in the log.
func TestStoppedSession(t *testing.T) {
	inWorld(t, func(w *world) {
		var logged syncBuffer
		why := make(chan error, 1)
		r := w.run(w.client("runner"), untilEnd(why), &executors.Options{
			Blueprints: blueprints("sum"),
			Logger:     slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		synctest.Wait()
		boss := w.client("boss")
		s := startSession(w.T, boss, "sum", parley.ModeAsyncPoll)
		synctest.Wait()
		if _, err := boss.StopSession(w.Context(), &parley.StopSessionParams{SessionID: s.SessionID}); err != nil {
			w.Fatal(err)
		}
		start := time.Now()
		if err := <-why; !errors.Is(err, parley.ErrClaimLost) {
			w.Errorf("the agent's ctx has ended with %v", err)
		}
		if took := time.Since(start); took != 0 {
			w.Errorf("the agent was told after %v", took)
		}
		w.stopped(r)
		if s = ended(w.T, boss, s.SessionID); s.Status != parley.SessionStopped {
			w.Errorf("the session: %+v", s)
		}
		if text := logged.String(); text != "" {
			w.Errorf("logged %s", text)
		}
	})
}

// syncBuffer is a buffer for several writing goroutines.
type syncBuffer struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A session that an agent starts belongs to its conversation. A repeated call finds it, and the
// values of the caller are kept.
func TestTurnStartsSessions(t *testing.T) {
	inWorld(t, func(w *world) {
		own := w.create(agents("a"))
		said := make(chan []*parley.StartSessionParams, 1)
		client := &starts{Client: w.client("a")}
		r := w.run(client, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			p := &parley.StartSessionParams{AgentName: "sum"}
			for range 2 {
				if _, err := turn.StartSession(ctx, p); err != nil {
					return "", err
				}
			}
			if p.ParentConversationID != "" || p.ClientRequestID != "" {
				w.Errorf("the caller's params are %+v now", p)
			}
			for _, p := range []parley.StartSessionParams{
				{AgentName: "sum", ParentConversationID: "other", ClientRequestID: "mine"}, {AgentName: "sum", Resume: "ses_1"},
			} {
				if _, err := turn.StartSession(ctx, &p); err != nil {
					return "", err
				}
			}
			said <- client.said
			return talk(1)(ctx, turn)
		}), nil)
		got := <-said
		if len(got) != 4 {
			w.Fatalf("%d calls", len(got))
		}
		if got[0].ParentConversationID != own || got[1].ParentConversationID != own || got[0].ClientRequestID == "" ||
			got[0].ClientRequestID == got[1].ClientRequestID {
			w.Errorf("started %+v, then %+v", got[0], got[1])
		}
		if got[2].ParentConversationID != "other" || got[2].ClientRequestID != "mine" {
			w.Errorf("started %+v", got[2])
		}
		if got[3].ParentConversationID != "" || got[3].ClientRequestID == "" {
			w.Errorf("resumed with %+v", got[3])
		}
		w.closed(own)
		w.stopped(r)
	})
}

// starts records started sessions without starting them.
type starts struct {
	parley.Client
	said []*parley.StartSessionParams
}

func (s *starts) StartSession(_ context.Context, p *parley.StartSessionParams) (*parley.Session, error) {
	s.said = append(s.said, p)
	return &parley.Session{}, nil
}
