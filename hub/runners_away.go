package hub

import (
	"time"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
)

// Who of the runners is connected, here or at another hub of the journal, and who has been gone for so long that it has left.

// awayLocked begins the time after which x is gone.
func (r *runners) awayLocked(x *runner) {
	now := parley.TimestampOf(r.hub.Now())
	x.away = now
	r.alarm.Set(x.RunnerID, now+parley.OfflineMs)
}

// left and came are told of every executor that was registered, or is no longer. turns.mu is held.
func (r *runners) Disconnected(key string) { r.moved(key, true) }
func (r *runners) Connected(key string)    { r.moved(key, false) }

func (r *runners) moved(key string, away bool) {
	if away && r.hub.presence.Has(key) {
		return // it has gone to another hub
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.byID {
		switch {
		case x.key() != key:
		case !away:
			x.away = 0
		case x.away == 0:
			r.awayLocked(x)
		}
	}
}

// check lets a runner go that has been away for too long.
func (r *runners) check(id string) {
	r.mu.Lock()
	x := r.byID[id]
	var ref parley.RunnerRef
	gone := false
	if x != nil && x.away != 0 {
		ref = x.RunnerRef
		due := x.away + parley.OfflineMs
		gone = parley.TimestampOf(r.hub.Now()) >= due
		if !gone {
			r.alarm.Set(id, due)
		}
	}
	r.mu.Unlock()
	if gone {
		r.gone(ref)
	}
}

// gone writes that a runner has left that was away for too long, and looks again where that cannot be written, or something else was.
func (r *runners) gone(ref parley.RunnerRef) {
	done := func(err error) {
		if err != nil && r.hub.Err() == nil {
			r.alarm.Set(ref.RunnerID, parley.TimestampOf(r.hub.Now())+parley.Timestamp(conv.RetryWrite.Milliseconds()))
		}
	}
	if !r.hub.shared {
		r.leave(ref, runnerOffline, done)
		return
	}
	// Every hub has waited for it. It leaves once, and not when it has just come back: on the log as this hub has seen it, it is away.
	r.hub.conv.Go(func() {
		timer := time.NewTimer(r.hub.presence.Patience(ref.RunnerID))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.hub.conv.Context().Done():
			return
		}
		err := r.follow()
		r.folding.Lock()
		seq := r.folded
		r.folding.Unlock()
		if err == nil && r.isAway(ref) {
			r.leaveOn(seq, ref, runnerOffline, done)
		}
	})
}

// isAway reports whether a runner has been away for too long.
func (r *runners) isAway(ref parley.RunnerRef) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byID[ref.RunnerID]
	return x != nil && x.ParticipantID == ref.ParticipantID && x.away != 0 && parley.TimestampOf(r.hub.Now()) >= x.away+parley.OfflineMs
}

// stays says anew what a runner has said that another hub has taken to be offline and that is connected to this one: the hubs had lost sight of each other.
func (r *runners) stays(ref parley.RunnerRef) {
	r.mu.Lock()
	x := r.lost[ref.RunnerID]
	delete(r.lost, ref.RunnerID)
	back := r.byID[ref.RunnerID] != nil
	r.mu.Unlock()
	if x == nil || back {
		return
	}
	if !r.hub.turns.IsConnected(x.key()) {
		return
	}
	r.hub.conv.Go(func() {
		made := newRunner(&x.RunnerRecord)
		err := made.compile()
		if err == nil {
			err = r.say(&x.RunnerRecord, made)
		}
		if err != nil {
			r.hub.log.Error("a runner that is connected was taken to be offline", "runner", ref.RunnerID, "error", err)
		}
	})
}
