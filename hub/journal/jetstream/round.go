package jetstream

import (
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
)

// round has batches that are decided on the heads of the replica, and the message that makes the
// decisions valid, which may have no parts. The decisions about a conversation are valid if its
// head is still the same at the position of the message in the stream.
type round struct {
	items []submit.Item
	calls []submit.Call           // of items
	heads map[string]journal.Head // of the conversations, on which they were decided
	sure  map[string]bool         // conversations whose decisions are valid on any later head
	parts []part
	bytes int             // of parts, at most
	first map[string]bool // conversations that have parts

	number uint64
	data   []byte
	held   map[string]bool // whether the decisions about a conversation are valid, once the message landed
	over   bool            // it has landed; used by the follower only
	landed chan struct{}
}

// plan decides items in order. It returns those that do not fit into the message. A round has at
// least one item.
func (j *Journal) plan(items []submit.Item, limit int) (*round, []submit.Item) {
	r := &round{heads: make(map[string]journal.Head), sure: make(map[string]bool), first: make(map[string]bool),
		landed: make(chan struct{})}
	j.planner.Head = func(conversation string) (journal.Head, error) {
		h, err := j.replica.records.Head(conversation)
		if err == nil {
			r.heads[conversation] = h
		}
		return h, err
	}
	j.planner.Decide(items, 0)
	calls := j.planner.Finish(nil)
	fit := 0
	for fit < len(items) && r.add(&items[fit], calls[fit], limit) {
		fit++
	}
	r.items, r.calls = items[:fit], calls[:fit]
	r.forget(items[fit:])
	return r, items[fit:]
}

// forget removes the conversations of items that did not fit, unless other items of the round have
// them.
func (r *round) forget(rest []submit.Item) {
	mine := make(map[string]bool, len(r.items))
	for i := range r.items {
		mine[r.items[i].Conversation] = true
	}
	for i := range rest {
		if !mine[rest[i].Conversation] {
			delete(r.heads, rest[i].Conversation)
		}
	}
}

// add adds an item to the round, unless its events do not fit.
func (r *round) add(it *submit.Item, c submit.Call, limit int) bool {
	base, known := r.heads[it.Conversation]
	switch {
	case it.Err != nil || !known:
		return true // it is refused, whatever the log has
	case c.Err == nil && len(it.Events) > 0:
		p := part{conversation: it.Conversation, events: it.Events, final: it.Final, labels: it.Labels}
		if p.first = !r.first[it.Conversation]; p.first {
			p.on = base
		}
		size := partSize(&p)
		if len(r.parts) > 0 && r.bytes+size > limit {
			return false
		}
		r.first[it.Conversation] = true
		r.parts = append(r.parts, p)
		r.bytes += size
		r.sure[it.Conversation] = false
	case c.Err == nil || !past(it, base):
		r.sure[it.Conversation] = false
	default:
		if _, ok := r.sure[it.Conversation]; !ok {
			r.sure[it.Conversation] = true
		}
	}
	return true
}

// has reports whether the round decides about a conversation.
func (r *round) has(conversation string) bool {
	_, ok := r.heads[conversation]
	return ok
}

// past reports whether a committed head refuses an item, whatever the head is now.
func past(it *submit.Item, head journal.Head) bool {
	return head.Final || it.After < head.Seq || it.After == head.Seq && it.On != nil && head.Seq > 0 && head.Hash != *it.On
}

// settled reports whether all decisions are valid without a message.
func (r *round) settled() bool {
	for _, sure := range r.sure {
		if !sure {
			return false
		}
	}
	return true
}

// judge records which decisions are valid on the heads at the position of the message.
func (r *round) judge(head func(conversation string) (journal.Head, error)) {
	r.held = make(map[string]bool, len(r.heads))
	for conversation, base := range r.heads {
		h, err := head(conversation)
		r.held[conversation] = err == nil && h == base
	}
}

// divide returns the answers of a round that landed, and the items that have to be decided again.
// Those of one conversation stay in order.
func (r *round) divide() (calls []submit.Call, again []submit.Item) {
	for i := range r.items {
		it := &r.items[i]
		held, judged := r.held[it.Conversation]
		if it.Err != nil || r.sure[it.Conversation] || !judged || held {
			calls = append(calls, r.calls[i])
		} else {
			again = append(again, *it)
		}
	}
	return calls, again
}
