package executors

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/parleyhub/parley"
)

// watch waits for the turns of one seat in pull mode. It can rebuild its state from the log.
type watch struct {
	*runner
	seat   seat
	agent  string // name of the agent in the seat
	log    *slog.Logger
	pauses *pauses

	since    int64 // messages up to this seq are read
	lastSeq  int64 // seq of the last message that is not withdrawn, or 0
	lastFrom string
}

// watch starts a watch for a seat without one.
func (r *runner) watch(ctx context.Context, s seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.seats[s] != nil {
		return
	}
	r.seats[s] = &pendingOffer{}
	w := &watch{runner: r, seat: s, log: r.log.With("conversation", s.conversation), pauses: r.opts.newPauses()}
	r.work.Go(func() {
		if keep := w.run(ctx); !keep {
			r.freeSeat(s)
		}
	})
}

// run serves the seat until the conversation is closed, ctx ends, or an error is permanent. keep
// means that the seat must not be watched again.
func (w *watch) run(ctx context.Context) (keep bool) {
	for {
		err := w.turn(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, errDone):
			return false
		case errors.Is(err, errNoAgent):
			w.log.Warn("the seat is not served", "error", err)
			return true
		case err == nil:
			continue
		case !isTemporary(err):
			w.log.Warn("the seat is not served for now", "error", err)
			return false
		}
		w.log.Warn("retrying", "error", err)
		if pause(ctx, w.pauses.next()) != nil {
			return false
		}
	}
}

var (
	errDone    = errors.New("the conversation is closed")
	errNoAgent = errors.New("the participant is not of kind agent or tool")
)

// turn waits for the next turn of the seat and takes it. It returns nil after a long wait without a
// turn.
func (w *watch) turn(ctx context.Context) error {
	if w.agent == "" {
		if err := w.findAgent(ctx); err != nil {
			return err
		}
	}
	u, err := w.next(ctx)
	if err != nil {
		return err
	}
	if u.Status == parley.StatusClosed {
		return errDone
	}
	may, err := w.mayTake(ctx, &u.Guidance)
	if err != nil {
		return err
	}
	if !may {
		return w.rest(ctx, u)
	}
	stray, err := w.take(ctx, &offer{seat: w.seat, agent: w.agent, turn: u.Guidance.Turn})
	switch {
	case stray != nil:
		select {
		case <-stray:
		case <-ctx.Done():
		}
	case isLost(err): // another executor has it, or it is over
		w.log.Debug("claiming a turn failed", "turn", u.Guidance.Turn, "error", err)
		return w.rest(ctx, u)
	case err == nil:
		return w.paceBack(ctx, u.Guidance.Turn)
	}
	return err
}

// findAgent finds the agent of the seat.
func (w *watch) findAgent(ctx context.Context) error {
	s, err := w.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: w.seat.conversation, Limit: 1})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Participants, func(p parley.Participant) bool { return p.ID == w.seat.participant })
	if i < 0 || !s.Participants[i].Kind.Claims() {
		return errNoAgent
	}
	if w.agent = s.Participants[i].Agent; w.agent == "" {
		w.agent = w.seat.participant
	}
	return nil
}

// next waits until it is the turn of the seat, or for long. It reads all messages.
func (w *watch) next(ctx context.Context) (*parley.GetUpdatesResult, error) {
	q := &parley.GetUpdatesParams{
		ConversationID: w.seat.conversation, SinceSeq: w.since, TimeoutMs: parley.MaxWaitMs, Until: parley.UntilMyTurn,
	}
	for {
		u, err := w.client.GetUpdates(ctx, q)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(u.Withdrawn,
			func(g parley.Withdrawn) bool { return g.FromSeq <= w.lastSeq && w.lastSeq <= g.ToSeq }) {
			w.since, w.lastSeq, w.lastFrom = 0, 0, ""
			q.SinceSeq, q.TimeoutMs = 0, 0
			continue
		}
		if n := len(u.Messages); n > 0 {
			w.lastSeq, w.lastFrom = u.Messages[n-1].Seq, u.Messages[n-1].From
		}
		w.since = u.NextSeq
		if u.NextSeq >= u.LatestSeq {
			return u, nil
		}
		q.SinceSeq, q.TimeoutMs = u.NextSeq, 0
	}
}

// mayTake reports whether to claim the turn. If any participant may speak, the agent does not
// answer itself, or a message after which it already passed.
func (w *watch) mayTake(ctx context.Context, g *parley.Guidance) (bool, error) {
	switch {
	case g.Kind != parley.MaySpeak || g.Claim != nil:
		return false, nil
	case g.Speaker != "" || g.Action == parley.ContinueTurn:
		return true, nil
	case w.lastFrom == w.seat.participant:
		return false, nil
	}
	passed, err := w.hasPassed(ctx)
	return !passed, err
}

// hasPassed reports whether a turn of this seat ended without a final message since the last
// message.
func (w *watch) hasPassed(ctx context.Context) (bool, error) {
	for since := w.lastSeq; ; {
		page, err := w.client.Tail(ctx, &parley.TailParams{ConversationID: w.seat.conversation, SinceSeq: since})
		if err != nil {
			return false, err
		}
		for i := range page.Events {
			if page.Events[i].Type != parley.TypeSystem {
				continue
			}
			s, err := page.Events[i].System()
			if err == nil && s.Kind == parley.KindTurnEnded && s.AgentID == w.seat.participant {
				return true, nil
			}
		}
		if page.NextSeq >= page.LatestSeq {
			return false, nil
		}
		since = page.NextSeq
	}
}

// rest waits for a change if the hub would let the seat speak.
func (w *watch) rest(ctx context.Context, u *parley.GetUpdatesResult) error {
	if u.Guidance.Kind != parley.MaySpeak {
		return nil // next waits
	}
	_, err := w.client.WaitForChange(ctx, &parley.WaitForChangeParams{
		ConversationID: w.seat.conversation, SinceSeq: u.LatestSeq, TimeoutMs: parley.MaxWaitMs,
	})
	return err
}

// paceBack pauses if the turn did not end, so that its next attempt is delayed like an offer.
func (w *watch) paceBack(ctx context.Context, turn int64) error {
	g, err := w.client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: w.seat.conversation})
	if err != nil {
		return err
	}
	if g.Guidance.Kind == parley.Closed || g.Guidance.Turn > turn {
		w.pauses.reset()
		return nil
	}
	return pause(ctx, w.pauses.next())
}
