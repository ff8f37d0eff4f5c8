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

// errDeadline is the cause of the agent's ctx after its time is used up.
var errDeadline = fmt.Errorf("the time for this turn is over: %w", context.DeadlineExceeded)

// attempt is the work on one claim.
type attempt struct {
	*runner
	claim *parley.ClaimTurnResult
	turn  *parley.Turn
	log   *slog.Logger

	taken time.Time
	// own is the limit of Options.TurnTimeout from the claim on; 0 is no limit. reserve is the rest
	// of the claim when the ctx of the agent ends.
	own, reserve time.Duration
}

// take claims a turn as soon as there is capacity, and calls the agent. It returns at the end of
// the claim. If the agent did not return by then, stray is not nil, and is closed when the agent
// returns. An error means that there was no claim.
func (r *runner) take(ctx context.Context, o *offer) (stray <-chan struct{}, err error) {
	if err := r.capacity.acquire(ctx); err != nil {
		return nil, err
	}
	defer r.capacity.release()
	working, lose := context.WithCancelCause(r.life)
	defer lose(nil)
	if o.claimID != "" {
		r.addClaim(o.claimID, false, lose)
		defer r.removeClaim(o.claimID)
	}
	a, err := r.claimTurn(ctx, o)
	if err != nil {
		return nil, err
	}
	r.addClaim(a.claim.ClaimID, true, lose)
	defer r.removeClaim(a.claim.ClaimID)
	defer a.keep(lose)()
	working, stop := a.withDeadline(working)
	defer stop()
	working, span := a.startSpan(working, o)
	defer span.End()
	how := a.call(working)
	setSpanEnd(span, a.settle(working, how))
	return how.stray, nil
}

// claimTurn claims a turn. If ctx ends during the call, claimTurn waits a little longer for its
// answer, because otherwise no one would release the claim.
func (r *runner) claimTurn(ctx context.Context, o *offer) (*attempt, error) {
	p := &parley.ClaimTurnParams{ConversationID: o.conversation, ClaimID: o.claimID}
	if o.claimID == "" {
		p.Turn = o.turn
	}
	longer, cancel := outlive(r.life, settleTimeout)
	defer cancel()
	asked := time.Now()
	var c *parley.ClaimTurnResult
	err := r.retry(ctx, func() (err error) {
		c, err = r.client.ClaimTurn(longer, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	taken := time.Now()
	if c.Duplicate { // an earlier call claimed it, whose answer was lost
		taken = asked
	}
	log := r.log.With("conversation", o.conversation, "agent", c.AgentID, "turn", c.Turn, "attempt", c.Attempt)
	a := &attempt{runner: r, claim: c, log: log, taken: taken, own: r.opts.TurnTimeout}
	most := time.Duration(c.MaxClaimMs) * time.Millisecond
	a.reserve = min(most/10, r.opts.Grace, time.Duration(c.DurationMs)*time.Millisecond/2) // time to release the claim
	a.turn = &parley.Turn{
		ConversationID: o.conversation, AgentID: c.AgentID, Agent: cmp.Or(o.agent, c.AgentID), Number: c.Turn,
		Attempt:  c.Attempt,
		SinceSeq: c.SinceSeq, ClaimID: c.ClaimID, Key: keyOf(c), Client: r.client, Logger: log, Deadline: a.deadline(most),
	}
	return a, nil
}

// deadline returns the initial end of the agent's ctx. most is the longest duration of the claim.
func (a *attempt) deadline(most time.Duration) time.Time {
	most -= a.reserve
	if a.own > 0 {
		most = min(most, a.own)
	}
	return a.taken.Add(most)
}

// outlive returns a ctx that ends d after ctx.
func outlive(ctx context.Context, d time.Duration) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, func() { stop(); cancel() }
}

// keyOf returns the prefix of the keys of an attempt. It is the same for the same claim, and does
// not reveal its id.
func keyOf(c *parley.ClaimTurnResult) string {
	sum := sha256.Sum256([]byte("key of " + c.ClaimID))
	return "turn-" + strconv.FormatInt(c.Turn, 10) + "-" + hex.EncodeToString(sum[:8])
}

// isLost reports whether err means that a claim ended or never existed.
func isLost(err error) bool {
	return errors.Is(err, parley.ErrClaimLost) || errors.Is(err, parley.ErrTurnClosed) ||
		errors.Is(err, parley.ErrNotYourTurn) ||
		errors.Is(err, parley.ErrConversationClosed) || errors.Is(err, parley.ErrNotFound) ||
		errors.Is(err, parley.ErrTurnConflict)
}
