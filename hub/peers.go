package hub

import (
	"context"
	"errors"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// Peers transport messages between the hubs of one journal. See [cluster.Peers].
type Peers = cluster.Peers

// freshness is what the engine uses of the other hubs.
type freshness struct {
	*cluster.Follower
	*cluster.Presence
}

// localExecutors reports the executors of this hub to the other hubs.
type localExecutors struct{ hub *Hub }

func (l localExecutors) Executors() []cluster.Executor { return l.hub.turns.connectedExecutors() }

func (l localExecutors) Agents() []parley.AgentInfo { return l.hub.agents.list() }

func (l localExecutors) HighestStamp() int64 { return l.hub.turns.stamps.highest() }

func (l localExecutors) SeeStamp(stamp int64) { l.hub.turns.stamps.heard(stamp) }

func (l localExecutors) HubReported(hubID string, executors map[string]*cluster.Executor) {
	l.hub.turns.giveWay(hubID, executors)
}

// ExecutorsMoved tells the runners which of them are connected to any hub.
func (l localExecutors) ExecutorsMoved(keys []string) {
	t := l.hub.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if t.executors[key] != nil || l.hub.presence.Has(key) {
			l.hub.runners.came(key)
		} else {
			l.hub.runners.left(key)
		}
	}
}

// connectedExecutors returns the executors that are connected to this hub.
func (t *turns) connectedExecutors() []cluster.Executor {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]cluster.Executor, 0, len(t.executors))
	for _, x := range t.executors {
		all = append(all, cluster.Executor{
			Key: x.key, By: x.by.AgentID, Agents: x.agents, Push: x.push, Internal: x.conn.internal, Stamp: x.stamp,
		})
	}
	return all
}

// mayBeStale reports whether an answer is a refusal that this hub might not return if it were not
// behind the others.
func (h *Hub) mayBeStale(err error) bool {
	if err == nil || !h.shared {
		return false
	}
	var e *parley.Error
	if !errors.As(err, &e) || e == errRevoked || e == errExpired {
		return false
	}
	switch e.Err {
	case parley.ErrNotFound, parley.ErrForbidden, parley.ErrUnauthenticated, parley.ErrParameters:
		return true
	}
	return false
}

// callFresh makes a call that changes nothing if it refuses. Before a refusal of a hub that shares its
// journal is final, the hub catches up and makes the call again.
func callFresh[T any](ctx context.Context, h *Hub, call func() (T, error)) (T, error) {
	v, err := call()
	if !h.mayBeStale(err) {
		return v, err
	}
	if err := h.conv.CatchUp(ctx); err != nil {
		var none T
		return none, err
	}
	return call()
}

// authorizer checks the requests of principals.
type authorizer struct{ hub *Hub }

// Authorize implements conv.Authorizer.
func (a authorizer) Authorize(r *conv.Request, head *fold.State) *conv.Refusal {
	if head.Claim != nil && head.Awaits() {
		r.Cmd.HeldMs, _ = a.hub.turns.watched(head.ID, head.Claim.Hash)
	}
	if r.By == nil {
		return nil
	}
	p := r.By.(*Principal)
	r.Cmd.Executor, r.Cmd.By = p.conn.who(), p.home
	r.Cmd.Implied, r.Cmd.ImpliedTurn = p.implied(head.ID, head.Claim)
	if err := a.hub.Valid(p); err != nil { // checked again: the token may have ended since the call began
		return &conv.Refusal{Err: err, Final: true}
	}
	switch {
	case !r.Unseen && !p.sees(head): // checked again: the event that made it visible may be lost
		return &conv.Refusal{Err: errNotFound, OnHead: true}
	case !p.isOfNow(head):
		return &conv.Refusal{Err: errClaimOver, OnHead: true}
	case a.hub.sessions.waitsForParent(head, r.Cmd.From):
		return &conv.Refusal{Err: errUntold, OnHead: true, Final: true}
	}
	return nil
}

// Caller methods of Principal.

// ParticipantID is the participant that p speaks as.
func (p *Principal) ParticipantID() string { return p.AgentID }

// Ended is closed when the token of p is revoked; nil if that cannot happen.
func (p *Principal) Ended() <-chan struct{} { return p.revoked }

// Valid returns nil while the token of p is valid.
func (p *Principal) Valid(now time.Time) error {
	switch {
	case p.Revoked():
		return errRevoked
	case !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt):
		return errExpired
	}
	return nil
}
