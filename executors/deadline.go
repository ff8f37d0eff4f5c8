package executors

import (
	"context"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// moving is a ctx that ends at a deadline, which may be put off.
type moving struct {
	context.Context

	mu sync.Mutex // guards the field below
	at time.Time
}

// Deadline is the deadline as it stands.
func (m *moving) Deadline() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at, true
}

// Err is DeadlineExceeded where that is what has ended it.
func (m *moving) Err() error {
	err := m.Context.Err()
	if err != nil && context.Cause(m.Context) == errDeadline {
		return context.DeadlineExceeded
	}
	return err
}

func (m *moving) put(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

// until gives a ctx that ends with errDeadline at the deadline of the turn. Where the hub then says that the claim stands for longer, as it does where the turn waits for an
// approval or has waited for one, that is put off. end must be called.
func (a *attempt) until(ctx context.Context) (until context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	m := &moving{Context: ctx, at: a.turn.Deadline}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for at := m.at; pause(ctx, time.Until(at)) == nil; {
			if at = a.later(ctx, at); at.IsZero() {
				cancel(errDeadline)
				return
			}
			m.put(at)
		}
	}()
	return m, func() {
		cancel(nil)
		<-done
	}
}

// later gives the deadline anew when it has come; zero when that is to be the end.
func (a *attempt) later(ctx context.Context, at time.Time) time.Time {
	if a.own > 0 && !at.Before(a.taken.Add(a.own)) {
		return time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, a.reserve)
	defer cancel()
	r, err := a.client.RenewClaim(
		ctx, &parley.RenewClaimParams{ConversationID: a.turn.ConversationID, ClaimID: a.claim.ClaimID})
	if err != nil {
		return time.Time{}
	}
	left := time.Duration(r.DurationMs)*time.Millisecond - a.reserve
	if left < renewAtLeast {
		return time.Time{}
	}
	next := time.Now().Add(left)
	if own := a.taken.Add(a.own); a.own > 0 && own.Before(next) {
		return own
	}
	return next
}
