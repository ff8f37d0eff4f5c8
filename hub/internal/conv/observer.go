package conv

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// A Commit is a committed state of a conversation, and why observers are notified of it.
type Commit struct {
	ID     string
	State  *fold.State // shared and valid during the call: an observer copies what it keeps
	Source Source
	IsNew  bool // observers were not notified of a commit of this seq before
}

// Source is why observers are notified of a state.
type Source int

const (
	CommittedHere     Source = iota // this hub committed it
	CommittedByPeer                 // another hub of the journal committed it
	ReloadedAfterLoss               // an append failed, and the conversation was read again
	LoadedOnUse                     // it was read because a call needs the conversation
	FoundAtStart                    // it was read once when the hub started
)

// Foreign reports whether another hub committed the state, and acts on it first. A failed append of
// a hub with peers may mean that one of them wrote.
func (c Commit) Foreign(hasPeers bool) bool {
	return c.Source == CommittedByPeer || c.Source == ReloadedAfterLoss && hasPeers
}

// NeedsWork reports whether triggers, sessions and turns act on the state. They do not if a call only
// loads the conversation, or if the conversation is reserved.
func (c Commit) NeedsWork() bool {
	return c.Source != LoadedOnUse && !Reserved(c.ID) && c.State.Exists()
}

// An Observer is notified of committed states, for each conversation in the order of their seqs. The
// conversation is locked during the call, so it must not block or call back into the conversation.
type Observer interface {
	Committed(c Commit)
}

// notifyLocked notifies the observers of the committed state. The conversation stays locked, so that
// no observer gets an older state after a newer one.
func (c *Conversation) notifyLocked(why Source) {
	n := Commit{ID: c.id, State: &c.durable, Source: why}
	if why != LoadedOnUse && why != FoundAtStart && c.durable.Seq > c.notifiedSeq {
		n.IsNew, c.notifiedSeq = true, c.durable.Seq
	}
	for _, o := range c.engine.parts.Observers {
		o.Committed(n)
	}
}

// ShowAtStart notifies the observers of the committed state, and calls look first. The conversation
// is locked during both.
func (c *Conversation) ShowAtStart(look func(s *fold.State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	look(&c.durable)
	c.notifyLocked(FoundAtStart)
}

// Committed sets the time of the next limit.
func (k *Clock) Committed(c Commit) {
	due := c.State.NextDeadline()
	switch {
	case c.Source == LoadedOnUse:
		return
	case c.Source == ReloadedAfterLoss && due <= parley.TimestampOf(k.engine.Now()):
		return // the limit is over, and the clock itself tries again to write that
	}
	k.Set(c.ID, due)
}
