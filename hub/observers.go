package hub

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// A commit is a state of a conversation that the log has, and why observers are notified of it.
type commit struct {
	id     string
	state  *fold.State // shared and valid during the call: an observer copies what it keeps
	source source
	isNew  bool // no commit has notified the observers of it before
}

// source says why observers are notified of a state.
type source int

const (
	committedHere     source = iota // this hub has committed it
	committedByPeer                 // another hub of the journal has committed it
	reloadedAfterLoss               // an append failed, and the conversation was read again
	loadedOnUse                     // it was read because a call needs the conversation
	foundAtStart                    // it was read once when the hub started
)

// foreign reports whether another hub has committed the state, and acts on it first. A failed append
// of a hub with peers may mean that one of them has written.
func (c commit) foreign(hasPeers bool) bool {
	return c.source == committedByPeer || c.source == reloadedAfterLoss && hasPeers
}

// needsWork reports whether triggers, sessions and turns act on the state. They do not if a call only
// loads the conversation, or if it is one of the hub's own.
func (c commit) needsWork() bool {
	return c.source != loadedOnUse && !reserved(c.id) && c.state.Exists()
}

// An observer is notified of committed states, for each conversation in the order of their seqs. The
// conversation is locked during the call, so it must not block or call back into the conversation.
type observer interface {
	committed(c commit)
}

// newObservers returns all observers in the order in which each commit notifies them:
//
//  1. triggers queue the sessions that the events of the state start.
//  2. sessions record what runs, before turns offer it to executors.
//  3. turns update the offers and claims.
//  4. approvals update the list of pending ones.
//  5. clock sets the time of the next limit.
//  6. changes wake watchConversations last: a reader that it wakes finds everything else updated.
func (h *Hub) newObservers() []observer {
	return []observer{h.triggers, h.sessions, h.turns, h.approvals, h.clock, h.changes}
}

// notifyLocked notifies the observers of the committed state. The conversation stays locked, so that
// no observer gets an older state after a newer one.
func (c *conversation) notifyLocked(why source) {
	n := commit{id: c.id, state: &c.durable, source: why}
	if why != loadedOnUse && why != foundAtStart && c.durable.Seq > c.notifiedSeq {
		n.isNew, c.notifiedSeq = true, c.durable.Seq
	}
	for _, o := range c.hub.observers {
		o.committed(n)
	}
}

func (k *clock) committed(c commit) {
	due := c.state.Wakes()
	switch {
	case c.source == loadedOnUse:
		return
	case c.source == reloadedAfterLoss && due <= parley.TimestampOf(k.hub.Now()):
		return // the limit is over, and the clock itself tries again to write that
	}
	k.set(c.id, due)
}
