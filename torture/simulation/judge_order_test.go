package simulation

import (
	"maps"
	"math"
	"slices"
)

// point is a place in a log at a moment.
type point struct{ at, seq int64 }

// order is what is known of when the events of a conversation were written.
type order struct {
	ends   []point // when each was acknowledged
	begins []point // when each was said
}

// highest returns the highest seq that was acknowledged before a moment.
func (o *order) highest(at int64) int64 {
	n, _ := slices.BinarySearchFunc(o.ends, at, func(p point, at int64) int { return int(p.at - at) })
	if n == 0 {
		return 0
	}
	return o.ends[n-1].seq
}

// lowest returns the lowest seq of what was said after a moment.
func (o *order) lowest(at int64) int64 {
	n, _ := slices.BinarySearchFunc(o.begins, at+1, func(p point, at int64) int { return int(p.at - at) })
	if n == len(o.begins) {
		return math.MaxInt64
	}
	return o.begins[n].seq
}

// sum sorts by time, and makes each seq the highest so far, or the lowest from there on.
func (o *order) sum() {
	byTime := func(a, b point) int { return int(a.at - b.at) }
	slices.SortFunc(o.ends, byTime)
	slices.SortFunc(o.begins, byTime)
	for i := 1; i < len(o.ends); i++ {
		o.ends[i].seq = max(o.ends[i].seq, o.ends[i-1].seq)
	}
	for i := len(o.begins) - 2; i >= 0; i-- {
		o.begins[i].seq = min(o.begins[i].seq, o.begins[i+1].seq)
	}
}

// orders returns those of all conversations.
func (j *judgement) orders() map[string]*order {
	all := make(map[string]*order)
	for _, s := range j.sayings {
		o := all[s.conversation]
		if o == nil {
			o = &order{}
			all[s.conversation] = o
		}
		begin, end, seq := int64(math.MaxInt64), int64(math.MaxInt64), int64(0)
		for _, t := range s.tries {
			begin = min(begin, t.begin)
			if t.outcome == acked {
				end, seq = min(end, t.end), t.seq
			}
		}
		if seq > 0 {
			o.ends = append(o.ends, point{end, seq})
		}
		if at := j.found[s.text]; len(at) == 1 {
			o.begins = append(o.begins, point{begin, at[0].Seq})
		}
	}
	for _, o := range all {
		o.sum()
	}
	return all
}

// orderHolds checks that a message that is sent after the acknowledgement of another has a later
// seq. A later read must find it.
func (j *judgement) orderHolds() {
	j.batchesHold()
	all := j.orders()
	for _, s := range j.sayings {
		for _, t := range s.tries {
			if o := all[s.conversation]; t.outcome == acked && !t.duplicate && t.seq <= o.highest(t.begin) {
				j.problem(4, "%s stands at %s/%d, and was said after %d was acknowledged", s.text, s.conversation, t.seq,
					o.highest(t.begin))
			}
		}
	}
	for _, r := range j.reads {
		j.n.reads++
		o := all[r.conversation]
		if o == nil {
			continue
		}
		if least := o.highest(r.begin); r.latest < least {
			j.problem(4, "who looks at %s is told of %d events after %d was acknowledged", r.conversation, r.latest, least)
		}
		if most := o.lowest(r.end); r.latest >= most {
			j.problem(4, "who looks at %s is told of %d events before %d was said", r.conversation, r.latest, most)
		}
	}
}

// batchesHold checks that messages of one socket to one conversation are in the order of sending.
func (j *judgement) batchesHold() {
	batches := make(map[string]map[int]int64) // the seqs, by place
	for _, s := range j.sayings {
		for _, t := range s.tries {
			if t.batch == "" || t.outcome != acked || t.duplicate {
				continue
			}
			name := t.batch + " in " + s.conversation
			if batches[name] == nil {
				batches[name] = make(map[int]int64)
			}
			batches[name][t.place] = t.seq
		}
	}
	for name, seqs := range batches {
		last := int64(0)
		for _, place := range slices.Sorted(maps.Keys(seqs)) {
			if seqs[place] < last {
				j.problem(4, "of the batch %s number %d stands at %d, behind %d", name, place, seqs[place], last)
			}
			last = seqs[place]
		}
	}
}
