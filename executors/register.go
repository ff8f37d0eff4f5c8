package executors

import (
	"context"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// held is a claim of this process, or one that it is about to make.
type held struct {
	id    string
	lose  context.CancelCauseFunc // ends the work on the claim
	taken bool                    // the hub confirmed the claim
	waits bool                    // the turn waits for a session that it started, and uses no capacity
}

// setWaiting updates the capacity when the turn starts or ends waiting. The caller holds runner.mu.
func (h *held) setWaiting(waits bool, c *capacity) {
	switch {
	case h.waits == waits:
		return
	case waits:
		c.release()
	default:
		c.force()
	}
	h.waits = waits
}

// register keeps the executor registered. In push mode it receives offers while turns are taken.
// After that, and in pull mode, it only receives the ends of claims.
func (r *runner) register(taking, listening context.Context) error {
	if r.opts.Mode == parley.ModePush {
		err := r.receive(taking, parley.ModePush)
		if taking.Err() == nil {
			return err
		}
	}
	err := r.receive(listening, parley.ModePull)
	if listening.Err() != nil {
		return nil
	}
	return err
}

// receive registers the executor and handles notifications, until ctx ends or the hub refuses.
func (r *runner) receive(ctx context.Context, mode parley.ExecutorMode) error {
	p := &parley.RegisterExecutorParams{
		ExecutorID: r.opts.ExecutorID, Agents: r.opts.Agents, Mode: mode, Capacity: r.opts.Capacity, GraceMs: r.opts.GraceMs,
		Labels: r.opts.Labels,
	}
	return r.retry(ctx, func() error {
		for n, err := range r.client.RegisterExecutor(ctx, p, r.holding) {
			if err != nil {
				return fmt.Errorf("register executor %s of %s: %w", p.ExecutorID, r.client.AgentID(), err)
			}
			r.handleNotification(ctx, n)
		}
		return context.Cause(ctx)
	})
}

// handleNotification handles a notification without blocking.
func (r *runner) handleNotification(ctx context.Context, n parley.ExecutorNotification) {
	switch {
	case n.Registered != nil:
		r.reconcile(n.Registered)
	case n.RequestTurn != nil:
		r.handleOffer(ctx, n.RequestTurn)
	case n.ClaimEnded != nil:
		r.log.Debug("a claim ended", "conversation", n.ClaimEnded.ConversationID, "turn", n.ClaimEnded.Turn, "reason",
			n.ClaimEnded.Reason)
		r.loseClaim(n.ClaimEnded.ClaimID)
	case n.ClaimWaiting != nil:
		r.setWaiting(n.ClaimWaiting)
	}
}

// setWaiting records whether the turn of a claim waits for a session that its agent started.
func (r *runner) setWaiting(n *parley.ClaimWaitingNotification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.claims[n.ClaimID]; h != nil {
		h.setWaiting(n.Waiting, r.capacity)
	}
}

// holding returns the claims that this executor still works on, for a registration.
func (r *runner) holding() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := []string{}
	r.named = nil
	for id, h := range r.claims {
		ids = append(ids, id)
		if h.taken {
			r.named = append(r.named, h)
		}
	}
	return ids
}

// reconcile ends the work on claims that the hub no longer knows. The hub then sends which turns
// wait.
func (r *runner) reconcile(now *parley.RegisterExecutorResult) {
	stand := map[string]bool{}
	for _, id := range now.Holding {
		stand[id] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.registered:
	default:
		close(r.registered)
	}
	r.heardAt = time.Now()
	signal(r.fresh)
	for _, h := range r.claims {
		h.setWaiting(false, r.capacity)
	}
	for _, h := range r.named {
		if !stand[h.id] {
			h.lose(parley.ErrClaimLost)
		}
	}
	r.named = nil
}

// loseClaim ends the work on a claim.
func (r *runner) loseClaim(claimID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.claims[claimID]; h != nil {
		h.lose(parley.ErrClaimLost)
	}
}

// addClaim records a claim. An offered claim is recorded before the call, so that a registration in
// between does not end it.
func (r *runner) addClaim(id string, taken bool, lose context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if taken { // the hub answered
		r.heardAt = time.Now()
		signal(r.begun)
	}
	if h := r.claims[id]; h != nil && taken {
		h.taken = true
		return
	}
	r.claims[id] = &held{id: id, lose: lose, taken: taken}
}

// removeClaim removes a claim.
func (r *runner) removeClaim(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.claims[id]; h != nil {
		h.setWaiting(false, r.capacity) // the caller frees the capacity
		delete(r.claims, id)
	}
}

// signal sends a token if the channel is empty.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
