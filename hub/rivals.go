package hub

import "cmp"

// An executor that is registered at two hubs of a journal: the older registration ends, as it would where both are at one hub. Each has a stamp that is higher than all that its hub has
// heard of, and than the time, so that it is about right too where nothing was heard. Nothing rests on it: whoever is ended for a wrong stamp, or goes on beside the other
// for a while, is an executor like any other, and the log decides who speaks.

// next gives the stamp of a registration that is made now.
func (p *presence) next() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stamp = max(p.stamp+1, p.hub.Now().UnixMilli())
	return p.stamp
}

// giveWay ends the registrations here that are older than those which another hub has of the same executors.
func (t *turns) giveWay(hub string, others map[string]*elsewhere) {
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
		if o.newer(hub, x, t.hub.presence.id) {
			t.hub.log.Info("an executor has registered at another hub", "executor", x.id, "as", x.by.AgentID)
			t.replaceLocked(x)
		}
	}
}

// newer reports whether an executor at another hub was registered after x was at this one; of two at once it is always the same one.
func (o *elsewhere) newer(there string, x *executor, here string) bool {
	if o.Stamp == 0 {
		return false
	}
	return cmp.Or(cmp.Compare(o.Stamp, x.stamp), cmp.Compare(there, here)) > 0
}
