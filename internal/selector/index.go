package selector

import (
	"slices"
	"sync"
)

// MaxIndexSteps is about the maximum number of candidates and data steps of one Match. Sets beyond
// it are left out and counted.
const MaxIndexSteps = 5_000_000

// Index finds the Sets with a trigger of scope workspace that may match an event, by schema and
// tags. The cost of an event grows with the sets that name its schema, or no schema and one of its
// tags, or neither. The zero value is empty and ready to use. It is safe for concurrent use.
type Index[K comparable] struct {
	mu      sync.RWMutex // guards the fields below; the elements of a slice never change
	entries map[K]*entry[K]
	last    int64
	schemas map[string][]*entry[K]
	tags    map[string][]*entry[K]
	rest    []*entry[K]
}

// entry is a set with its position.
type entry[K comparable] struct {
	key     K
	set     *Set
	place   int64
	schemas []string
	tags    []string
	rest    bool
}

// Put sets the triggers of a key, and Remove deletes them. A key that is put again keeps its
// position.
func (x *Index[K]) Put(key K, set *Set) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.entries == nil {
		x.entries, x.schemas, x.tags = map[K]*entry[K]{}, map[string][]*entry[K]{}, map[string][]*entry[K]{}
	}
	e := newEntry(key, set)
	if old := x.entries[key]; old != nil {
		e.place = old.place
		x.takeOutLocked(old)
	} else {
		x.last++
		e.place = x.last
	}
	x.entries[key] = e
	for _, s := range e.schemas {
		x.schemas[s] = insert(x.schemas[s], e)
	}
	for _, t := range e.tags {
		x.tags[t] = insert(x.tags[t], e)
	}
	if e.rest {
		x.rest = insert(x.rest, e)
	}
}

// Remove deletes the triggers of a key.
func (x *Index[K]) Remove(key K) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.entries[key]; e != nil {
		x.takeOutLocked(e)
		delete(x.entries, key)
	}
}

func (x *Index[K]) takeOutLocked(e *entry[K]) {
	for _, s := range e.schemas {
		takeOut(x.schemas, s, e)
	}
	for _, t := range e.tags {
		takeOut(x.tags, t, e)
	}
	if e.rest {
		x.rest = without(x.rest, e)
	}
}

func takeOut[K comparable](m map[string][]*entry[K], name string, e *entry[K]) {
	m[name] = without(m[name], e)
	if len(m[name]) == 0 {
		delete(m, name)
	}
}

// insert returns the list with an entry at its position. It only ever appends to a slice that
// others may read.
func insert[K comparable](list []*entry[K], e *entry[K]) []*entry[K] {
	if n := len(list); n == 0 || list[n-1].place < e.place {
		return append(list, e)
	}
	i := slices.IndexFunc(list, func(o *entry[K]) bool { return o.place > e.place })
	return slices.Concat(list[:i], []*entry[K]{e}, list[i:])
}

func without[K comparable](list []*entry[K], e *entry[K]) []*entry[K] {
	return slices.DeleteFunc(slices.Clone(list), func(o *entry[K]) bool { return o == e })
}

// newEntry records how a set is found: each of its triggers of scope workspace by its schema,
// otherwise by a required tag, otherwise always.
func newEntry[K comparable](key K, set *Set) *entry[K] {
	e := &entry[K]{key: key, set: set}
	for i := range set.Subscriptions.Selectors {
		sel := &set.Subscriptions.Selectors[i]
		switch {
		case !sel.Trigger() || !sel.Workspace():
		case sel.SchemaName != "":
			e.schemas = append(e.schemas, sel.SchemaName)
		case len(sel.AllTags) > 0:
			e.tags = append(e.tags, sel.AllTags[0])
		case sel.AnyTags != nil:
			e.tags = append(e.tags, sel.AnyTags...)
		default:
			e.rest = true
		}
	}
	e.schemas = slices.Compact(slices.Sorted(slices.Values(e.schemas)))
	e.tags = slices.Compact(slices.Sorted(slices.Values(e.tags)))
	return e
}

// Hit is a set with a matching trigger.
type Hit[K comparable] struct {
	Key      K
	Selector int
}

// Match returns the hits of an event in the order in which their sets were first put: at most
// limit, or all if limit is negative. more is the number of further candidates, which may or may
// not match.
func (x *Index[K]) Match(e *Event, limit int) (hits []Hit[K], more int) {
	m := merge[K]{lists: x.candidates(e)}
	steps := MaxIndexSteps
	for c := m.next(); c != nil; c = m.next() {
		if limit >= 0 && len(hits) >= limit || steps <= 0 {
			more++
			continue
		}
		i, cost := c.set.wakes(e, true)
		if steps -= 1 + cost; i >= 0 {
			hits = append(hits, Hit[K]{Key: c.key, Selector: i})
		}
	}
	return hits, more
}

// candidates returns the lists of sets that may match.
func (x *Index[K]) candidates(e *Event) [][]*entry[K] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	lists := make([][]*entry[K], 0, 2+len(e.Tags))
	lists = append(lists, x.rest)
	if e.Schema != "" {
		lists = append(lists, x.schemas[e.Schema])
	}
	for _, tag := range e.Tags {
		lists = append(lists, x.tags[tag])
	}
	return slices.DeleteFunc(lists, func(l []*entry[K]) bool { return len(l) == 0 })
}

// merge yields the entries of sorted lists in order and without duplicates.
type merge[K comparable] struct{ lists [][]*entry[K] }

func (m *merge[K]) next() *entry[K] {
	var first *entry[K]
	for _, l := range m.lists {
		if len(l) > 0 && (first == nil || l[0].place < first.place) {
			first = l[0]
		}
	}
	if first == nil {
		return nil
	}
	for i, l := range m.lists {
		if len(l) > 0 && l[0] == first {
			m.lists[i] = l[1:]
		}
	}
	return first
}

// Len returns the number of sets.
func (x *Index[K]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.entries)
}
