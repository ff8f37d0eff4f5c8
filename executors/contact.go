package executors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// errUnreachable is the cause of the agent's ctx if the hub was unreachable for longer than a claim
// lasts without contact.
var errUnreachable = errors.New("the hub was not reachable")

// recordContact records that the hub answered.
func (r *runner) recordContact() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heardAt = time.Now()
}

// keepContact calls the hub while there are claims, until ctx ends: three times per grace period of
// the registration if there is no other answer. If there was no answer for longer than the grace
// period, the hub ended the claims or will end them, so keepContact ends their work. That may be up
// to a third earlier than at the hub, which counts from the lost connection, and is never later.
func (r *runner) keepContact(ctx context.Context) {
	for {
		select {
		case <-r.begun:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil && r.isWorking() {
			r.touch(ctx)
		}
	}
}

// touch waits until a call is due, and makes it. It waits for the answer even if this process was
// suspended for long.
func (r *runner) touch(ctx context.Context) {
	grace := r.opts.grace()
	third := grace / 3
	if early := third - r.silence(); early > 0 {
		_ = pause(ctx, early)
		return
	}
	most := third
	if left := grace - r.silence(); left > 0 {
		most = min(left, third)
	}
	asking, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	_, err := r.client.Now(asking)
	switch {
	case ctx.Err() != nil:
		return
	case err == nil || errors.Is(err, parley.ErrRateLimited): // also an answer
		r.recordContact()
		return
	case r.silence() >= grace:
		r.loseAll(fmt.Errorf("%w for %v: %w", errUnreachable, grace, parley.ErrClaimLost))
	}
	r.log.Debug("the hub did not answer", "error", err)
	_ = pause(asking, r.opts.MinBackoff) // the call may have failed at once
}

// silence returns the time since the last answer of the hub.
func (r *runner) silence() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.heardAt)
}

// isWorking reports whether there is a claim.
func (r *runner) isWorking() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.claims {
		if h.taken {
			return true
		}
	}
	return false
}

// loseAll ends the work on all claims.
func (r *runner) loseAll(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.claims {
		if h.taken {
			h.lose(cause)
		}
	}
}
