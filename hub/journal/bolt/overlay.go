package bolt

import (
	"slices"

	"github.com/parleyhub/parley/hub/journal"
)

// overlay is what index.db does not have yet: the records after its checkpoint, by conversation.
type overlay struct {
	conversations map[string]*recent
	labels        map[string][]journal.Listed // in order of position; under "" all conversations
	states        map[string]savedState
	records       int
	stateBytes    int // the room that states take
}

// recent is what an overlay knows of one conversation.
type recent struct {
	head      journal.Head
	from      int64              // seq of the first position
	positions []journal.Position // of from, from+1, ...
	labels    []string           // got since the checkpoint
}

type savedState struct {
	seq  int64
	data []byte
}

func newOverlay() *overlay {
	return &overlay{
		conversations: make(map[string]*recent),
		labels:        make(map[string][]journal.Listed),
		states:        make(map[string]savedState),
	}
}

func (o *overlay) empty() bool { return o.records == 0 && len(o.states) == 0 }

// add takes a record; listed says which of its labels the conversation had before this overlay.
func (o *overlay) add(r *journal.Record, listed func(label string) bool) {
	c := o.conversations[r.Conversation]
	if c == nil {
		c = &recent{from: r.Seq}
		o.conversations[r.Conversation] = c
	}
	c.head = journal.Head{Seq: r.Seq, Hash: r.Hash, Final: r.Final}
	c.positions = append(c.positions, r.Position)
	o.records++
	row := journal.Listed{Conversation: r.Conversation, Position: r.Position}
	if r.Seq == 1 {
		o.labels[""] = append(o.labels[""], row)
	}
	for _, l := range r.Labels {
		if slices.Contains(c.labels, l) || listed(l) {
			continue
		}
		c.labels = append(c.labels, l)
		o.labels[l] = append(o.labels[l], row)
	}
}

func (o *overlay) save(conversation string, s savedState) {
	o.stateBytes += stateRoom(s.data) - stateRoom(o.states[conversation].data)
	o.states[conversation] = s
}

// stateRoom is how much of maxStateBytes a state takes.
func stateRoom(data []byte) int { return min(len(data), maxStateBytes/2) }

// headCache keeps heads, of two generations: when the young one is full it becomes the old one, whose heads are forgotten unless they
// were asked for since.
type headCache struct {
	limit      int
	young, old map[string]journal.Head
}

func newHeadCache(limit int) *headCache {
	return &headCache{limit: max(limit/2, 1), young: make(map[string]journal.Head)}
}

func (c *headCache) get(conversation string) (journal.Head, bool) {
	if h, ok := c.young[conversation]; ok {
		return h, true
	}
	h, ok := c.old[conversation]
	if ok {
		c.put(conversation, h)
	}
	return h, ok
}

func (c *headCache) put(conversation string, h journal.Head) {
	if _, ok := c.young[conversation]; !ok && len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[string]journal.Head, c.limit)
	}
	c.young[conversation] = h
	delete(c.old, conversation)
}
