package registry

import (
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
)

// Connected implements turns.Runners.
func (r *Registry) Connected(key string) { r.setOnline(key, true) }

// Disconnected implements turns.Runners. The runner may be connected to another hub.
func (r *Registry) Disconnected(key string) { r.setOnline(key, r.presence.Has(key)) }

// ExecutorsMoved is called with the keys of executors that other hubs have connected or lost.
func (r *Registry) ExecutorsMoved(keys []string) {
	r.turns.WithConnected(func(isConnected func(string) bool) {
		for _, key := range keys {
			r.setOnline(key, isConnected(key) || r.presence.Has(key))
		}
	})
}

func (r *Registry) setOnline(key string, online bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.runners {
		switch {
		case x.key() != key:
		case online:
			x.awaySince = 0
		case x.awaySince == 0:
			r.setAwayLocked(x)
		}
	}
}

func (r *Registry) setAwayLocked(x *Runner) {
	x.awaySince = r.now()
	r.alarm.Set(x.RunnerID, x.awaySince+limits.OfflineMs)
}

func (r *Registry) now() parley.Timestamp { return parley.TimestampOf(r.engine.Now()) }

// checkAway removes a runner that is offline.
func (r *Registry) checkAway(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.runners[id]
	switch {
	case x == nil || x.awaySince == 0:
	case x.isOffline(r.now()):
		ref := x.RunnerRef
		r.engine.Go(func() { r.removeOffline(ref) })
	default: // it was online for a while
		r.alarm.Set(id, x.awaySince+limits.OfflineMs)
	}
}

// removeOffline writes that a runner left. If that fails, or another event was written first, it
// tries again later. Every hub of a journal does this, so one of them acts first.
func (r *Registry) removeOffline(ref parley.RunnerRef) {
	if wait := r.presence.Patience(ref.RunnerID); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.engine.Context().Done():
			return
		}
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	err := r.Follow()
	r.reading.Lock()
	seq := r.seq
	r.reading.Unlock()
	r.mu.Lock()
	x := r.findLocked(ref)
	isOffline := x != nil && x.isOffline(r.now())
	r.mu.Unlock()
	if err == nil && isOffline {
		err = r.write(seq, ref, parley.System{Kind: parley.KindRunnerLeft, RunnerRef: &ref, Reason: reasonOffline})
	}
	if err != nil && r.engine.Err() == nil {
		r.alarm.Set(ref.RunnerID, r.now()+parley.Timestamp(conv.RetryWrite.Milliseconds()))
	}
}

// restore registers a runner again that another hub removed although it is connected to this one:
// the hubs had lost sight of each other.
func (r *Registry) restore(x *Runner) {
	r.mu.Lock()
	isBack := r.runners[x.RunnerID] != nil
	r.mu.Unlock()
	if isBack || !r.turns.IsConnected(x.key()) {
		return
	}
	r.engine.Go(func() {
		if err := r.save(x); err != nil {
			r.engine.Log().Error("a runner that is connected was taken to be offline", "runner", x.RunnerID, "error", err)
		}
	})
}
