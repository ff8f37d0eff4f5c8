package history

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"
)

// CheckLogs checks the calls about the logs of any number of conversations, with the log of each as
// it is after all calls. The error names the conversation and the calls that do not fit. A timeout
// of 0 is no limit.
//
// An Unknown that is in the log took effect, at its seq and at any time after its begin. One that is
// not in the log did not take effect. Each entry of the log must belong to a call or to the hub.
func CheckLogs(ops []Op, logs map[string][]Entry, timeout time.Duration) error {
	split := byConversation(ops)
	for id := range logs {
		if _, called := split[id]; !called {
			split[id] = nil
		}
	}
	return check(logModel, split, timeout, func(id string, ops []Op) ([]*Op, error) {
		log, known := logs[id]
		if !known {
			return nil, fmt.Errorf("%d calls, but no log", len(ops))
		}
		return logCalls(ops, log)
	})
}

var logModel = modelOf(logState{}, logState.equal)

// logState is a log as a list of links from the last event to the first. States share their links.
type logState struct {
	last   *link
	closed bool
}

// link is an event at its seq.
type link struct {
	seq    int64
	event  Entry
	before *link
	sum    uint64 // of this event and all before it
}

func (s logState) seq() int64 {
	if s.last == nil {
		return 0
	}
	return s.last.seq
}

// add returns the state with one more event.
func (s logState) add(e Entry, closes bool) logState {
	h := fnv.New64a()
	var before uint64
	if s.last != nil {
		before = s.last.sum
	}
	for shift := 0; shift < 64; shift += 8 {
		h.Write([]byte{byte(before >> shift)})
	}
	h.Write([]byte(e.From + "\n" + e.Key))
	return logState{last: &link{seq: s.seq() + 1, event: e, before: s.last, sum: h.Sum64()}, closed: closes}
}

func (s logState) equal(o logState) bool {
	if s.last == nil || o.last == nil {
		return s.last == o.last && s.closed == o.closed
	}
	return s.closed == o.closed && s.last.seq == o.last.seq && s.last.sum == o.last.sum
}

// at returns the event at a seq, or nil.
func (s logState) at(seq int64) *link {
	l := s.last
	for l != nil && l.seq > seq {
		l = l.before
	}
	if l == nil || l.seq != seq {
		return nil
	}
	return l
}

func (s logState) has(e Entry) bool {
	for l := s.last; l != nil; l = l.before {
		if l.event == e {
			return true
		}
	}
	return false
}

// shows reports whether the log has these events after since.
func (s logState) shows(since int64, seen []Entry) bool {
	l := s.at(since + int64(len(seen)))
	for i := len(seen) - 1; i >= 0; i-- {
		if l == nil || l.event != seen[i] {
			return false
		}
		l = l.before
	}
	return true
}

func (s logState) step(o *Op) (logState, bool) {
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

// logCalls returns the calls that say something, with repetitions merged, the hub's own events, and
// a last read of the whole log.
func logCalls(ops []Op, log []Entry) ([]*Op, error) {
	place := map[Entry]int64{} // the seq of each message
	var all []*Op
	for i, e := range log {
		seq := int64(i) + 1
		if e.Key == "" {
			all = append(all, &Op{Client: e.From, Kind: own, Seq: seq, End: math.MaxInt64, Result: Done})
			continue
		}
		if first, twice := place[e]; twice {
			return nil, fmt.Errorf("%q of %s is in the log at seq %d and at seq %d", e.Key, e.From, first, seq)
		}
		place[e] = seq
	}
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.Begin, b.Begin) })
	said := map[Entry]*Op{}
	last := int64(0)
	for i := range ops {
		o := &ops[i]
		last = max(last, o.Begin, o.End)
		used, err := placeCall(said, o, place)
		if err != nil {
			return nil, err
		}
		if used {
			all = append(all, o)
		}
	}
	return append(all, &Op{
		Client: "the log at the end", Kind: Tail, Begin: last + 1, End: last + 2, Result: Done,
		Seq: int64(len(log)), Seen: log,
	}), nil
}

// placeCall reports whether the model takes a call: not one that says nothing, and not one that is
// merged into an earlier call of its key, which said has. It sets the seq of an Unknown.
func placeCall(said map[Entry]*Op, o *Op, place map[Entry]int64) (bool, error) {
	if o.Kind != Append {
		return o.Result == Done, nil // a read without an answer says nothing
	}
	switch e := o.entry(); o.Result {
	case Closed:
		return true, nil
	case Done:
		return mergeAppend(said, o)
	case Unknown:
		seq, there := place[e]
		if said[e] != nil || !there {
			return false, nil
		}
		o.Seq, o.End = seq, math.MaxInt64
		said[e] = o
		return true, nil
	}
	return false, nil
}

// mergeAppend merges a success with the earlier calls of its key, which are the same event. It
// reports whether the call remains: as the first one, or as a repetition after the first success.
func mergeAppend(said map[Entry]*Op, o *Op) (bool, error) {
	e := o.entry()
	first := said[e]
	switch {
	case first == nil:
		said[e] = o
		return true, nil
	case first.Seq != o.Seq && first.Result == Unknown:
		return false, fmt.Errorf("%q of %s was acknowledged as seq %d, but is at seq %d", e.Key, e.From, o.Seq, first.Seq)
	case first.Seq != o.Seq:
		return false, fmt.Errorf("%q of %s was acknowledged as seq %d, and then as seq %d", e.Key, e.From, first.Seq, o.Seq)
	case o.Begin > first.End:
		o.again = true
		return true, nil
	}
	first.End, first.Result = min(first.End, o.End), Done
	return false, nil
}
