package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// A hub that shares its journal follows what others write to it, so that its readers are woken, its desks see every state, and it knows tokens and runners. What it
// decides itself needs none of this: an append whose head has moved is decided again on what moved it.

// follower is how far a hub has followed.
type follower struct {
	mu      sync.Mutex // guards the fields below
	at      journal.Position
	changed chan struct{}               // closed when at changes; nil when nobody waits
	scanned []journal.Record            // last
	page    map[string][]journal.Record // the same by conversation, made when somebody asks
}

// followAgain is when the journal is read again that could not be.
const followAgain = time.Second

// follow reads the journal in commit order until the hub ends.
func (h *Hub) follow() {
	at := h.follower.at
	for {
		changed := h.journal.Watch()
		records, err := h.journal.Scan(at, 1000, 4<<20)
		if err != nil {
			if errors.Is(err, journal.ErrClosed) {
				return
			}
			h.log.Error("cannot follow the journal", "error", err)
			changed = nil
		}
		h.follower.show(records)
		for i, r := range records {
			if i+1 == len(records) || records[i+1].Conversation != r.Conversation { // else the next is of the same, and later
				h.meet(r.Conversation, r.Seq)
			}
			at = r.Position
		}
		if len(records) > 0 {
			h.follower.move(at)
			continue
		}
		if !h.rest(changed, err != nil) {
			return
		}
	}
}

// rest waits for a change or, where the journal could not be read, a while. It gives false when the hub ends.
func (h *Hub) rest(changed <-chan struct{}, failed bool) bool {
	var again <-chan time.Time
	if failed {
		timer := time.NewTimer(followAgain)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-changed:
	case <-again:
	case <-h.ctx.Done():
		return false
	}
	return true
}

// meet takes in what was written to a conversation up to a seq.
func (h *Hub) meet(id string, seq int64) {
	switch id {
	case tokensConversation:
		if err := h.tokens.follow(h.journal); err != nil {
			h.log.Error("cannot follow the tokens", "error", err)
		}
	case runnersConversation:
		if err := h.runners.follow(); err != nil {
			h.log.Error("cannot follow the runners", "error", err)
		}
	}
	h.refresh(id, seq)
}

// show keeps what was scanned for the conversations that read it next, until more is scanned or there is nothing more.
func (f *follower) show(records []journal.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scanned, f.page = records, nil
}

// next gives what follows a seq of a conversation, as far as it was scanned just now: so it is read once. It is empty where the next record is not among that.
func (f *follower) next(conversation string, after int64) []journal.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.page == nil {
		f.page = make(map[string][]journal.Record, len(f.scanned))
		for _, r := range f.scanned {
			f.page[r.Conversation] = append(f.page[r.Conversation], r)
		}
	}
	records := f.page[conversation]
	if len(records) == 0 || after+1 < records[0].Seq {
		return nil
	}
	return records[min(after+1-records[0].Seq, int64(len(records))):]
}

func (f *follower) move(at journal.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// look gives how far it has come, and what is closed when it comes further.
func (f *follower) look() (journal.Position, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.at, f.changed
}

// reach waits until a hub has followed its journal up to a position.
func (f *follower) reach(ctx context.Context, h *Hub, want journal.Position) error {
	for {
		at, changed := f.look()
		if at >= want {
			return nil
		}
		select {
		case <-changed:
		case <-h.draining:
			return errDraining
		case <-ctx.Done():
			return errBehind
		}
	}
}

// refresh reads a conversation that is behind a seq. Those of the hub's own are read where somebody uses them.
func (h *Hub) refresh(id string, seq int64) {
	if h.isNotified(id, seq) {
		return
	}
	c, err := h.pin(id)
	if err != nil {
		if !errors.Is(err, errDraining) {
			h.log.Error("cannot follow a conversation", "conversation", id, "error", err)
		}
		return
	}
	defer h.unpin(c)
	c.follow(seq)
}

// isNotified reports whether a conversation need not be read: observers were notified of its state at
// a seq, as they are of each commit of this hub; or it is an unused one of the hub's own.
func (h *Hub) isNotified(id string, seq int64) bool {
	h.mu.Lock()
	c := h.loaded[id]
	h.mu.Unlock()
	if c == nil {
		return reserved(id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notifiedSeq >= seq
}

// follow waits until a conversation was read up to a seq that the journal has, and shows its state.
func (c *conversation) follow(seq int64) {
	for {
		c.mu.Lock()
		c.freshenLocked()
		if c.durable.Seq >= seq || c.broken {
			if !c.broken && c.notifiedSeq < c.durable.Seq { // it was read by a load
				c.notifyLocked(committedByPeer)
			}
			c.mu.Unlock()
			return
		}
		changed := c.changedLocked() // by what is under way
		c.mu.Unlock()
		select {
		case <-changed:
		case <-c.hub.draining:
			return
		}
	}
}

// freshen reads what others have added: what a caller is told, it is told on the head as far as the journal shows it.
func (c *conversation) freshen() {
	if !c.hub.shared {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshenLocked()
}

// reached gives the last committed seq. A later one that a caller has shown is waited for, where any hub has committed it: cursors come from other hubs too.
func (c *conversation) reached(ctx context.Context, seq int64) (latest int64, err error) {
	c.mu.Lock()
	latest = c.durable.Seq
	c.mu.Unlock()
	if seq <= latest || !c.hub.shared {
		return latest, nil
	}
	if err := c.hub.catchUp(ctx); err != nil {
		return latest, err
	}
	c.freshen()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.durable.Seq, nil
}

// freshenLocked reads what others have added, if there is anything. With appends of its own under way the hub learns of it by their outcome.
func (c *conversation) freshenLocked() {
	if len(c.pending) > 0 || c.reloading || c.broken || !c.isBehindLocked() {
		return
	}
	if err := c.catchUpLocked(); err != nil {
		c.broken = true
		c.hub.log.Error("cannot read a conversation that another hub has written to", "conversation", c.id, "error", err)
	} else {
		c.notifyLocked(committedByPeer)
	}
	c.wakeLocked()
}

// isBehindLocked reports whether another hub has written since.
func (c *conversation) isBehindLocked() bool {
	head, err := c.hub.journal.Head(c.id)
	return err == nil && head.Seq > c.head.Seq
}

// checkLocked lets the journal say whether the head on which o was decided, and which gives it nothing to write, is the head. It is decided again where it is not.
func (c *conversation) checkLocked(o *op) {
	o.frames, o.events, o.keys = o.frames[:0], o.events[:0], o.keys[:0]
	on := c.onLocked(nil)
	c.pending = append(c.pending, o)
	c.hub.journal.Submit(journal.Batch{
		Conversation: c.id, After: c.head.Seq, On: on, Done: func(_ journal.Head, err error) { c.checked(o, err) },
	})
}

// checked is the journal's answer to a check. It comes in the order of submission, so what o rests on is durable where it is good.
func (c *conversation) checked(o *op, err error) {
	var moved *journal.MovedError
	var finished []*op
	again := errors.As(err, &moved) || errors.Is(err, journal.ErrFinal)
	c.mu.Lock()
	c.outLocked(o)
	switch {
	case again: // and whatever was submitted behind it has failed too
		c.lostLocked(o, err)
	case err != nil:
		o.err = refusalOf(err) // nothing else is lost with it
		fallthrough
	default:
		finished = c.backLocked()
		c.wakeLocked() // the follower may wait for it
	}
	c.mu.Unlock()
	if !again {
		c.finish(o)
	}
	for _, f := range finished {
		c.finish(f)
	}
}

// needsCheckLocked reports whether what was decided, and writes nothing, would perhaps be decided otherwise on what others have written.
func (c *conversation) needsCheckLocked(o *op) bool {
	d := &o.decision
	switch {
	case c.head.Closed(): // what is closed is so for ever
		return false
	case d.Err == errRevoked, d.Err == errExpired, d.Err == errUntold, d.Err == errPassed:
		return false // that is known, or is asked again
	case d.Err != nil:
		return true
	case o.cmd.From == parley.HubID, o.cmd.Verb == fold.Delta, o.cmd.Verb == fold.OfferAttachment:
		return false // the hub looks again by itself; text its readers hold against the log; and what is only asked is asked again
	}
	return !d.Duplicate || o.cmd.Verb == fold.Take || o.cmd.Verb == fold.Renew // what a key has met stays
}
