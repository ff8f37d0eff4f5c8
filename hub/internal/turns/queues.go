package turns

import (
	"cmp"
	"iter"
	"slices"

	"github.com/parleyhub/parley"
)

// demand is what an executor must serve, inside the hub or outside.
type demand struct {
	serves   string
	internal bool
}

// waiter is a conversation that waits for an executor, and since when its turn is the current one.
type waiter struct {
	since parley.Timestamp
	id    string
}

func (a waiter) compare(b waiter) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id))
}

// place is where a conversation waits: in the queues of its demands, by the time since.
type place struct {
	since   parley.Timestamp
	demands []demand
}

// queues has the conversations that wait for an executor, by demand, the longest first. Dispatcher.mu
// guards it.
type queues map[demand][]waiter

// move moves a conversation from its place p to next.
func (q queues) move(id string, p *place, next place) {
	for _, w := range p.demands {
		if next.since != p.since || !slices.Contains(next.demands, w) {
			q.remove(w, waiter{p.since, id})
		}
	}
	one := waiter{next.since, id}
	for _, w := range next.demands {
		if i, found := slices.BinarySearchFunc(q[w], one, waiter.compare); !found {
			q[w] = slices.Insert(q[w], i, one)
		}
	}
	*p = next
}

func (q queues) remove(w demand, one waiter) {
	i, found := slices.BinarySearchFunc(q[w], one, waiter.compare)
	switch {
	case !found:
	case len(q[w]) == 1:
		delete(q, w)
	default:
		q[w] = slices.Delete(q[w], i, i+1)
	}
}

// waitingFor returns what waits for an executor, the longest first over all that it serves.
func (q queues) waitingFor(serves []string, internal bool) iter.Seq2[string, string] {
	type queue struct {
		name string
		rest []waiter
	}
	var all []queue
	for _, name := range serves {
		if rest := q[demand{name, internal}]; len(rest) > 0 {
			all = append(all, queue{name, rest})
		}
	}
	return func(yield func(name, id string) bool) {
		for len(all) > 0 {
			first := 0
			for i := range all {
				if all[i].rest[0].compare(all[first].rest[0]) < 0 {
					first = i
				}
			}
			a := &all[first]
			name, id := a.name, a.rest[0].id
			if a.rest = a.rest[1:]; len(a.rest) == 0 {
				all = slices.Delete(all, first, first+1)
			}
			if !yield(name, id) {
				return
			}
		}
	}
}
