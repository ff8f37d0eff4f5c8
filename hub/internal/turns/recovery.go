package turns

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// recovery loads every open conversation once after a start, so that all observers know it. It reads no
// closed one.
type recovery struct {
	engine   *conv.Engine
	sessions Sessions
	claims   *claims
	run      func(conversation string, cmd fold.Command) // decides a command of the hub
	done     chan struct{}                               // closed when every open conversation was loaded once
}

// Recovered reports whether every open conversation was loaded once after the start.
func (r *recovery) Recovered() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// AwaitRecovery waits until Recovered is true. It fails when ctx ends or the hub drains.
func (r *recovery) AwaitRecovery(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	case <-r.engine.Draining():
		return conv.ErrDraining
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recover loads the open conversations.
func (r *recovery) Recover() {
	defer close(r.done)
	var after string
	for r.engine.Context().Err() == nil {
		open, err := r.engine.Journal().Open(after, 1000)
		if err != nil {
			r.engine.Log().Error("cannot list open conversations: their turns and time limits wait until they are used",
				"error", err)
			return
		}
		if len(open) == 0 {
			r.sessions.FinishRecovery()
			return
		}
		for _, id := range open {
			r.recoverOne(id)
		}
		after = open[len(open)-1]
	}
}

// recoverOne loads an open conversation, once or again, before a caller names its claim.
func (r *recovery) recoverOne(id string) {
	c, err := r.engine.Pin(id)
	if err != nil {
		return // the load has logged it, or the hub stops
	}
	defer r.engine.Unpin(c)
	var orphan *eventdata.ClaimHash
	c.ShowAtStart(func(s *fold.State) {
		if s.Claim != nil && s.Claim.Internal && r.claims.idOf(s.Claim.Hash) == "" { // else this process took it
			orphan = &s.Claim.Hash
		}
	})
	if orphan != nil && !r.engine.Shared() { // its executor was part of the process before
		end := &fold.EndClaim{Reason: parley.ClaimRestarted}
		r.run(id, fold.Command{Do: end, From: parley.HubID, Named: orphan})
	}
}
