package executors

import (
	"context"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// moving is a ctx with a deadline that can be extended.
type moving struct {
	context.Context

	mu sync.Mutex // guards the field below
	at time.Time
}

// Deadline returns the current deadline.
func (m *moving) Deadline() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at, true
}

// Err returns DeadlineExceeded after the deadline.
func (m *moving) Err() error {
	err := m.Context.Err()
	if err != nil && context.Cause(m.Context) == errDeadline {
		return context.DeadlineExceeded
	}
	return err
}

func (m *moving) setDeadline(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

// withDeadline returns a ctx that ends with errDeadline at the deadline of the turn. If the hub
// then reports a longer claim, because the turn waits or waited for an approval, the deadline is
// extended. The caller must call end.
func (a *attempt) withDeadline(ctx context.Context) (until context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	m := &moving{Context: ctx, at: a.turn.Deadline}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for at := m.at; pause(ctx, time.Until(at)) == nil; {
			if at = a.extendDeadline(ctx, at); at.IsZero() {
				cancel(errDeadline)
				return
			}
			m.setDeadline(at)
		}
	}()
	return m, func() {
		cancel(nil)
		<-done
	}
}

// extendDeadline returns the next deadline after one has passed. It returns the zero time if the
// turn is over.
func (a *attempt) extendDeadline(ctx context.Context, at time.Time) time.Time {
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
