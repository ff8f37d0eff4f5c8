package executors

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/parleyhub/parley"
)

// renewAtLeast is the shortest time between renewals, because renewals become shorter near
// maxClaimMs.
const renewAtLeast = 25 * time.Millisecond

// keep renews the claim until end is called, also during the grace period of the agent.
func (a *attempt) keep(lose context.CancelCauseFunc) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.life))
	done := make(chan struct{})
	go func() { defer close(done); a.renew(ctx, lose) }()
	return func() { cancel(); <-done }
}

// renew renews the claim until ctx ends. If the hub refuses, the claim is lost and the work ends.
// While the hub is unreachable, the work continues until keepContact ends it.
func (a *attempt) renew(ctx context.Context, lose context.CancelCauseFunc) {
	p := &parley.RenewClaimParams{ConversationID: a.turn.ConversationID, ClaimID: a.claim.ClaimID}
	lasts := time.Duration(a.claim.DurationMs) * time.Millisecond
	for {
		third := lasts / 3
		third -= time.Duration(rand.Int64N(int64(third)/5 + 1)) // spread the renewals of many claims
		if pause(ctx, max(third, renewAtLeast)) != nil {
			return
		}
		r, err := a.client.RenewClaim(ctx, p)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			a.recordContact()
			lasts = time.Duration(r.DurationMs) * time.Millisecond
		case isTemporary(err):
			a.log.Warn("renewing the claim failed", "error", err)
		default:
			a.log.Debug("the claim is lost", "error", err)
			lose(parley.ErrClaimLost)
			return
		}
	}
}
