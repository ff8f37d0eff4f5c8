package executors

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/parleyhub/parley"
)

// renewAtLeast is the shortest time between renewals: near maxClaimMs less and less can be had.
const renewAtLeast = 25 * time.Millisecond

// keep renews the claim until the call of the result, also while the agent has its last moments.
func (a *attempt) keep(lose context.CancelCauseFunc) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.life))
	done := make(chan struct{})
	go func() { defer close(done); a.renew(ctx, lose) }()
	return func() { cancel(); <-done }
}

// renew keeps the claim until ctx ends. When the hub refuses, the claim is lost and so is the work on it. While the hub cannot be asked the
// work goes on, for as long as contact says.
func (a *attempt) renew(ctx context.Context, lose context.CancelCauseFunc) {
	p := &parley.RenewClaimParams{ConversationID: a.turn.ConversationID, ClaimID: a.claim.ClaimID}
	lasts := time.Duration(a.claim.DurationMs) * time.Millisecond
	for {
		third := lasts / 3
		third -= time.Duration(rand.Int64N(int64(third)/5 + 1)) // so that many do not come at once
		if pause(ctx, max(third, renewAtLeast)) != nil {
			return
		}
		r, err := a.client.RenewClaim(ctx, p)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			a.heardFrom()
			lasts = time.Duration(r.DurationMs) * time.Millisecond
		case mends(err):
			a.log.Warn("the claim could not be renewed", "error", err)
		default:
			a.log.Debug("the claim is lost", "error", err)
			lose(parley.ErrClaimLost)
			return
		}
	}
}
