package sdk_test

import (
	"context"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// claim takes a turn for the participant of a client.
func (s *scene) claim(c parley.Client, turn int64) *parley.ClaimTurnResult {
	s.Helper()
	r, err := c.ClaimTurn(s.Context(), &parley.ClaimTurnParams{ConversationID: s.id, Turn: turn})
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// justGiven reports whether a claim of this duration was made or renewed a moment ago. The duration
// on the wire is the time that is left when the answer is written.
func justGiven(durationMs int64) bool {
	return limits.DefaultTurnTimeoutMs/2 < durationMs && durationMs <= limits.DefaultTurnTimeoutMs
}

func (s *scene) release(c parley.Client, claimID string, o parley.ReleaseOutcome) {
	s.Helper()
	if err := c.ReleaseClaim(s.Context(), &parley.ReleaseClaimParams{ConversationID: s.id, ClaimID: claimID, Outcome: o}); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) guidance(c parley.Client) parley.Guidance {
	s.Helper()
	g, err := c.GetGuidance(s.Context(), &parley.GetGuidanceParams{ConversationID: s.id})
	if err != nil {
		s.Fatal(err)
	}
	return g.Guidance
}

// registration is a loop over RegisterExecutor.
type registration struct {
	t    *testing.T
	told chan parley.ExecutorNotification
	end  context.CancelFunc
	err  error         // with which it ended
	done chan struct{} // closed when it has
}

// register loops until the test ends.
func (s *scene) register(c parley.Client, p *parley.RegisterExecutorParams, holding func() []string) *registration {
	ctx, cancel := context.WithCancel(s.Context())
	r := &registration{t: s.T, told: make(chan parley.ExecutorNotification), end: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for n, err := range c.RegisterExecutor(ctx, p, holding) {
			if err != nil {
				r.err = err
				return
			}
			select {
			case r.told <- n:
			case <-ctx.Done():
			}
		}
	}()
	s.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// next waits for the next notification of the loop.
func (r *registration) next() parley.ExecutorNotification {
	r.t.Helper()
	select {
	case n := <-r.told:
		return n
	case <-r.done:
		r.t.Fatalf("the registration has ended: %v", r.err)
	case <-time.After(patience):
		r.t.Fatal("nothing came")
	}
	panic("not reached")
}

// ended waits for the end of the loop and returns its error.
func (r *registration) ended() error {
	r.t.Helper()
	for {
		select {
		case <-r.told:
		case <-r.done:
			return r.err
		case <-time.After(patience):
			r.t.Fatal("the registration does not end")
		}
	}
}
