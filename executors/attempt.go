package executors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/parleyhub/parley"
)

// errDeadline is why an agent is told to end when it has used up its time.
var errDeadline = fmt.Errorf("the time for this turn is over: %w", context.DeadlineExceeded)

// attempt is the work on one claim.
type attempt struct {
	*runner
	claim *parley.ClaimTurnResult
	turn  *parley.Turn
	log   *slog.Logger

	taken time.Time
	// own bounds the turn besides the claim, from when that was taken; 0: nothing does. reserve is what is left of the claim when the ctx of the agent ends.
	own, reserve time.Duration
}

// take claims a turn when there is room, and has the agent work on it. It returns when the claim has come to its end; stray is set when the agent
// has not returned by then, and closed when it does. An error says that there was no claim.
func (r *runner) take(ctx context.Context, o *offer) (stray <-chan struct{}, err error) {
	if err := r.room.enter(ctx); err != nil {
		return nil, err
	}
	defer r.room.leave()
	working, lose := context.WithCancelCause(r.life)
	defer lose(nil)
	if o.claimID != "" {
		r.hold(o.claimID, false, lose)
		defer r.drop(o.claimID)
	}
	a, err := r.ask(ctx, o)
	if err != nil {
		return nil, err
	}
	r.hold(a.claim.ClaimID, true, lose)
	defer r.drop(a.claim.ClaimID)
	defer a.keep(lose)()
	working, stop := a.until(working)
	defer stop()
	working, span := a.startSpan(working, o)
	defer span.End()
	how := a.call(working)
	tellEnd(span, a.settle(working, how))
	return how.stray, nil
}

// ask claims a turn. A call that is under way when ctx ends is waited for, a little longer than agents may work: its claim would be nobody's.
func (r *runner) ask(ctx context.Context, o *offer) (*attempt, error) {
	p := &parley.ClaimTurnParams{ConversationID: o.conversation, ClaimID: o.claimID}
	if o.claimID == "" {
		p.Turn = o.turn
	}
	longer, cancel := outlive(r.life, settleTimeout)
	defer cancel()
	asked := time.Now()
	var c *parley.ClaimTurnResult
	err := r.again(ctx, func() (err error) {
		c, err = r.client.ClaimTurn(longer, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	taken := time.Now()
	if c.Duplicate { // it was taken by a call that has lost its answer
		taken = asked
	}
	log := r.log.With("conversation", o.conversation, "agent", c.AgentID, "turn", c.Turn, "attempt", c.Attempt)
	a := &attempt{runner: r, claim: c, log: log, taken: taken, own: r.opts.TurnTimeout}
	most := time.Duration(c.MaxClaimMs) * time.Millisecond
	a.reserve = min(most/10, r.opts.Grace, time.Duration(c.DurationMs)*time.Millisecond/2) // for giving the claim back
	a.turn = &parley.Turn{
		ConversationID: o.conversation, AgentID: c.AgentID, Agent: cmp.Or(o.agent, c.AgentID), Number: c.Turn,
		Attempt:  c.Attempt,
		SinceSeq: c.SinceSeq, ClaimID: c.ClaimID, Key: keyOf(c), Client: r.client, Logger: log, Deadline: a.deadline(most),
	}
	return a, nil
}

// deadline is when the ctx of the agent ends, unless that is put off, where the claim lasts so long at most.
func (a *attempt) deadline(most time.Duration) time.Time {
	most -= a.reserve
	if a.own > 0 {
		most = min(most, a.own)
	}
	return a.taken.Add(most)
}

// outlive gives a ctx that ends d after ctx has.
func outlive(ctx context.Context, d time.Duration) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, func() { stop(); cancel() }
}

// keyOf begins the keys of an attempt: the same for the same claim, of no use for finding it.
func keyOf(c *parley.ClaimTurnResult) string {
	sum := sha256.Sum256([]byte("key of " + c.ClaimID))
	return "turn-" + strconv.FormatInt(c.Turn, 10) + "-" + hex.EncodeToString(sum[:8])
}

// isLost reports whether err says that a claim is over or never was.
func isLost(err error) bool {
	return errors.Is(err, parley.ErrClaimLost) || errors.Is(err, parley.ErrTurnClosed) ||
		errors.Is(err, parley.ErrNotYourTurn) ||
		errors.Is(err, parley.ErrConversationClosed) || errors.Is(err, parley.ErrNotFound) ||
		errors.Is(err, parley.ErrTurnConflict)
}
