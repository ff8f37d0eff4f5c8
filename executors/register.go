package executors

import (
	"context"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// held is a claim that this process has, or asks for.
type held struct {
	id    string
	lose  context.CancelCauseFunc // ends the work on it
	taken bool                    // the hub has given it
	waits bool                    // its turn waits for a session of its own, and has left the room
}

// wait notes whether the turn waits.
func (h *held) wait(waits bool, room *room) {
	switch {
	case h.waits == waits:
		return
	case waits:
		room.leave()
	default:
		room.press()
	}
	h.waits = waits
}

// register keeps the registration: in push mode for offers while turns are taken, then, as in pull mode, for what becomes of the claims.
func (r *runner) register(taking, listening context.Context) error {
	if r.opts.Mode == parley.ModePush {
		err := r.hear(taking, parley.ModePush)
		if taking.Err() == nil {
			return err
		}
	}
	err := r.hear(listening, parley.ModePull)
	if listening.Err() != nil {
		return nil
	}
	return err
}

// hear registers and handles what comes, until ctx ends or the hub refuses.
func (r *runner) hear(ctx context.Context, mode parley.ExecutorMode) error {
	p := &parley.RegisterExecutorParams{
		ExecutorID: r.opts.ExecutorID, Agents: r.opts.Agents, Mode: mode, Capacity: r.opts.Capacity, GraceMs: r.opts.GraceMs,
		Labels: r.opts.Labels,
	}
	return r.again(ctx, func() error {
		for n, err := range r.client.RegisterExecutor(ctx, p, r.holding) {
			if err != nil {
				return fmt.Errorf("register executor %s of %s: %w", p.ExecutorID, r.client.AgentID(), err)
			}
			r.heard(ctx, n)
		}
		return context.Cause(ctx)
	})
}

// heard handles one thing. It does not wait.
func (r *runner) heard(ctx context.Context, n parley.ExecutorNotification) {
	switch {
	case n.Registered != nil:
		r.goOn(n.Registered)
	case n.RequestTurn != nil:
		r.offered(ctx, n.RequestTurn)
	case n.ClaimEnded != nil:
		r.log.Debug("a claim has ended", "conversation", n.ClaimEnded.ConversationID, "turn", n.ClaimEnded.Turn, "reason",
			n.ClaimEnded.Reason)
		r.lost(n.ClaimEnded.ClaimID)
	case n.ClaimWaiting != nil:
		r.waiting(n.ClaimWaiting)
	}
}

// waiting notes whether the turn of a claim waits for a session that its agent has started.
func (r *runner) waiting(n *parley.ClaimWaitingNotification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.claims[n.ClaimID]; h != nil {
		h.wait(n.Waiting, r.room)
	}
}

// holding tells the hub which claims go on.
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

// goOn ends the work on claims that the hub does not know any more. Which turns wait, the hub tells next.
func (r *runner) goOn(now *parley.RegisterExecutorResult) {
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
		h.wait(false, r.room)
	}
	for _, h := range r.named {
		if !stand[h.id] {
			h.lose(parley.ErrClaimLost)
		}
	}
	r.named = nil
}

// lost ends the work on a claim.
func (r *runner) lost(claimID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.claims[claimID]; h != nil {
		h.lose(parley.ErrClaimLost)
	}
}

// hold notes a claim. An id that is asked for is noted before, so that a registration in between does not end it.
func (r *runner) hold(id string, taken bool, lose context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if taken { // the hub has answered
		r.heardAt = time.Now()
		signal(r.begun)
	}
	if h := r.claims[id]; h != nil && taken {
		h.taken = true
		return
	}
	r.claims[id] = &held{id: id, lose: lose, taken: taken}
}

// drop forgets a claim.
func (r *runner) drop(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.claims[id]; h != nil {
		h.wait(false, r.room) // it leaves with its seat
		delete(r.claims, id)
	}
}

// signal leaves a token.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
