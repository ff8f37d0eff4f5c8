package hub

import (
	"cmp"
	"sync"
	"time"

	"github.com/parleyhub/parley/hub/internal/cluster"
)

// An executor that is registered twice: the older registration ends, also where the two are at two hubs of a journal. Each has a stamp from when it came, which is higher than all that its hub
// has heard of, and not below its time, so that it is about right too where nothing was heard. Nothing rests on it: whoever is ended for a wrong stamp, or goes on beside the other
// for a while, is an executor like any other, and the log decides who speaks.

// stamps gives stamps. The zero value is ready.
type stamps struct {
	mu   sync.Mutex
	last int64 // the highest that was given or heard of
}

// next gives the stamp of a registration that comes now.
func (s *stamps) next(now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, now.UnixMilli())
	return s.last
}

// highest gives the highest that was given or heard of: what a hub that was started anew has to know, also of hubs that it does not hear.
func (s *stamps) highest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// heard notes a stamp that another hub knows.
func (s *stamps) heard(stamp int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, stamp)
}

// giveWay ends the registrations here that are older than those which another hub has of the same executors.
func (t *turns) giveWay(hub string, others map[string]*cluster.Executor) {
	if len(others) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, o := range others {
		x := t.executors[key]
		if x == nil || x.conn.internal || o.Internal { // what runs in its process each hub has itself, under one name
			continue
		}
		if newer(o, hub, x, t.hub.presence.ID()) {
			t.hub.log.Info("an executor has registered at another hub", "executor", x.id, "as", x.by.AgentID)
			t.replaceLocked(x)
		}
	}
}

// newer reports whether an executor at another hub was registered after x was at this one; of two at once it is always the same one.
func newer(o *cluster.Executor, there string, x *executor, here string) bool {
	if o.Stamp == 0 {
		return false
	}
	return cmp.Or(cmp.Compare(o.Stamp, x.stamp), cmp.Compare(there, here)) > 0
}
