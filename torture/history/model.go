package history

import (
	"hash/fnv"

	"github.com/anishathalye/porcupine"
)

// state is a conversation: its last event, which leads to those before it. States share what they have in common.
type state struct {
	last   *link
	closed bool
}

// link is an event at its seq.
type link struct {
	seq    int64
	event  Entry
	before *link
	sum    uint64 // of this one and all before it
}

func (s state) seq() int64 {
	if s.last == nil {
		return 0
	}
	return s.last.seq
}

// add gives the state with one more event.
func (s state) add(e Entry, closes bool) state {
	h := fnv.New64a()
	var before uint64
	if s.last != nil {
		before = s.last.sum
	}
	for shift := 0; shift < 64; shift += 8 {
		h.Write([]byte{byte(before >> shift)})
	}
	h.Write([]byte(e.From + "\n" + e.Key))
	return state{last: &link{seq: s.seq() + 1, event: e, before: s.last, sum: h.Sum64()}, closed: closes}
}

func (s state) equal(o state) bool {
	if s.last == nil || o.last == nil {
		return s.last == o.last && s.closed == o.closed
	}
	return s.closed == o.closed && s.last.seq == o.last.seq && s.last.sum == o.last.sum
}

// at gives the event at a seq; nil if there is none.
func (s state) at(seq int64) *link {
	l := s.last
	for l != nil && l.seq > seq {
		l = l.before
	}
	if l == nil || l.seq != seq {
		return nil
	}
	return l
}

func (s state) has(e Entry) bool {
	for l := s.last; l != nil; l = l.before {
		if l.event == e {
			return true
		}
	}
	return false
}

// shows reports whether a reader can have seen these events after since.
func (s state) shows(since int64, seen []Entry) bool {
	l := s.at(since + int64(len(seen)))
	for i := len(seen) - 1; i >= 0; i-- {
		if l == nil || l.event != seen[i] {
			return false
		}
		l = l.before
	}
	return true
}

// step gives the state after an op that was answered so; false when it cannot have been.
func (s state) step(o *op) (state, bool) {
	switch {
	case o.Kind == Latest:
		return s, o.Seq == s.seq() && (o.Over == nil || *o.Over == s.closed)
	case o.Kind == Tail:
		return s, o.Seq == s.seq() && s.shows(o.Since, o.Seen)
	case o.Result == Closed:
		return s, s.closed && !s.has(o.entry())
	case o.again:
		l := s.at(o.Seq)
		return s, l != nil && l.event == o.entry()
	case s.closed || o.Seq != s.seq()+1:
		return s, false
	}
	return s.add(o.entry(), o.Closes), true
}

var model = porcupine.Model{
	Init:  func() any { return state{} },
	Equal: func(a, b any) bool { return a.(state).equal(b.(state)) },
	Step: func(s, input, _ any) (bool, any) {
		n, ok := s.(state).step(input.(*op))
		return ok, n
	},
}
