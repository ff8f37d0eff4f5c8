package executors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/cenkalti/backoff/v5"
	"github.com/parleyhub/parley"
)

// Loop lets agent take its turns in one conversation until that is closed (nil), ctx ends (its error), or nothing can be done any more:
// ErrNotFound, ErrForbidden, ErrUnauthenticated, or ErrUnavailable, which a client gives when it is closed.
func Loop(ctx context.Context, client parley.Client, conversationID string, agent parley.Agent, o *Options) error {
	return newLoop(client, conversationID, agent, o.withDefaults()).run(ctx)
}

func newLoop(client parley.Client, conversationID string, agent parley.Agent, opts Options) *loop {
	return &loop{
		client: client, conversation: conversationID, agent: agent, opts: opts,
		log:    opts.Logger.With("conversation", conversationID, "agent", client.AgentID()),
		pauses: opts.newBackoff(),
	}
}

// loop is the state of Loop. All of it may be lost: it is found again in the log.
type loop struct {
	client       parley.Client
	conversation string
	agent        parley.Agent
	opts         Options
	log          *slog.Logger
	pauses       *backoff.ExponentialBackOff
	turns        chan struct{} // bounds turns at once; nil, no bound

	since    int64  // messages up to here are read
	lastFrom string // the author of the last of them
	handled  state  // what the agent was last called for, without error
	rekeyed  state  // where the agent has decided otherwise than before
}

// state is where the log stands when it is the agent's turn.
type state struct{ turn, latestSeq int64 }

func (l *loop) run(ctx context.Context) error {
	for {
		u, err := l.next(ctx)
		acts := err == nil && l.mayAct(u)
		switch {
		case err != nil:
		case u.Status == parley.StatusClosed:
			return nil
		case acts:
			err = l.act(ctx, u)
		default:
			err = l.rest(ctx, u)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
		case !acts && isFinal(err):
			return fmt.Errorf("loop of %s in %s: %w", l.client.AgentID(), l.conversation, err)
		default:
			l.log.Warn("a turn is tried again", "error", err)
			if err := pause(ctx, min(l.pauses.NextBackOff(), l.opts.MaxBackoff)); err != nil {
				return err
			}
		}
	}
}

// isFinal reports whether err stands whatever is tried.
func isFinal(err error) bool {
	return errors.Is(err, parley.ErrNotFound) || errors.Is(err, parley.ErrForbidden) ||
		errors.Is(err, parley.ErrUnauthenticated) || errors.Is(err, parley.ErrUnavailable)
}

// next waits until it is the agent's turn, or for long, and has read all messages.
func (l *loop) next(ctx context.Context) (*parley.GetUpdatesResult, error) {
	q := &parley.GetUpdatesParams{
		ConversationID: l.conversation, SinceSeq: l.since, TimeoutMs: parley.MaxWaitMs, Until: parley.UntilMyTurn,
	}
	for {
		u, err := l.client.GetUpdates(ctx, q)
		if err != nil {
			return nil, err
		}
		if n := len(u.Messages); n > 0 {
			l.lastFrom = u.Messages[n-1].From
		}
		l.since = u.NextSeq
		if u.NextSeq >= u.LatestSeq {
			return u, nil
		}
		q.SinceSeq, q.TimeoutMs = u.NextSeq, 0
	}
}

// mayAct reports whether the agent is to be called.
func (l *loop) mayAct(u *parley.GetUpdatesResult) bool {
	g := u.Guidance
	if g.Kind != parley.MaySpeak || l.handled == (state{g.Turn, u.LatestSeq}) {
		return false
	}
	anyone := g.Action == parley.StartTurn && g.Speaker == ""
	return !anyone || l.lastFrom != l.client.AgentID()
}

// rest waits until something is added, when the hub would have let the agent speak but it has nothing to say.
func (l *loop) rest(ctx context.Context, u *parley.GetUpdatesResult) error {
	if u.Guidance.Kind != parley.MaySpeak {
		return nil // next waits
	}
	_, err := l.client.WaitForChange(ctx, &parley.WaitForChangeParams{
		ConversationID: l.conversation, SinceSeq: u.LatestSeq, TimeoutMs: parley.MaxWaitMs,
	})
	return err
}

// act lets the agent handle the turn.
func (l *loop) act(ctx context.Context, u *parley.GetUpdatesResult) error {
	if l.turns != nil {
		select {
		case l.turns <- struct{}{}:
			defer func() { <-l.turns }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	now := state{u.Guidance.Turn, u.LatestSeq}
	turn := &parley.Turn{
		ConversationID: l.conversation, AgentID: l.client.AgentID(), Number: now.turn, Key: l.key(now.turn), Client: l.client,
	}
	outcome, err := handle(ctx, l.agent, turn)
	switch {
	case err == nil:
		l.log.Debug("turn handled", "turn", now.turn, "outcome", outcome)
	case isMovedOn(err):
		l.log.Debug("turn moved on", "turn", now.turn, "error", err)
	case errors.Is(err, parley.ErrIdempotencyConflict):
		l.rekeyed = now // the agent says something else than the last time: it goes on under keys of its own
		return err
	default:
		return err
	}
	l.handled = now
	l.pauses.Reset()
	return nil
}

// isMovedOn reports whether err says that the turn is over or another's: the log tells what is next.
func isMovedOn(err error) bool {
	return errors.Is(err, parley.ErrTurnClosed) || errors.Is(err, parley.ErrNotYourTurn) ||
		errors.Is(err, parley.ErrTurnConflict) || errors.Is(err, parley.ErrConversationClosed)
}

// key names the turn, the same whenever and wherever it is handled.
func (l *loop) key(turn int64) string {
	name := l.conversation + "\x00" + l.client.AgentID() + "\x00" + strconv.FormatInt(turn, 10)
	if l.rekeyed.turn == turn {
		name += "\x00" + strconv.FormatInt(l.rekeyed.latestSeq, 10)
	}
	sum := sha256.Sum256([]byte(name))
	return "turn-" + strconv.FormatInt(turn, 10) + "-" + hex.EncodeToString(sum[:8])
}

// handle calls the agent; a panic is an error.
func handle(ctx context.Context, agent parley.Agent, turn *parley.Turn) (outcome parley.TurnOutcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("agent panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return agent.HandleTurn(ctx, turn)
}
