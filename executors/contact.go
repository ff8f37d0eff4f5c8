package executors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// errUnreachable is why an agent is told to end when the hub could not be reached for longer than its claim stands without contact.
var errUnreachable = errors.New("the hub was not reachable")

// heardFrom notes that the hub has answered.
func (r *runner) heardFrom() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heardAt = time.Now()
}

// keepContact asks the hub for a sign of life while turns are under way, until ctx ends: three times in the grace of the registration, where nothing else is
// heard. When there was none for longer than that the hub has ended the claims, or will, and the work on them ends. That may be a third earlier than at the
// hub, which counts from when it has lost the connection, and is not later.
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

// touch waits until a sign of life is due, and asks for it. One is waited for also when this process has not run for long.
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
	case err == nil || errors.Is(err, parley.ErrRateLimited): // an answer too
		r.heardFrom()
		return
	case r.silence() >= grace:
		r.loseAll(fmt.Errorf("%w for %v: %w", errUnreachable, grace, parley.ErrClaimLost))
	}
	r.log.Debug("no sign of life from the hub", "error", err)
	_ = pause(asking, r.opts.MinBackoff) // it may have failed at once
}

// silence is how long ago the hub has answered last.
func (r *runner) silence() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.heardAt)
}

// isWorking reports whether a claim is held.
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
