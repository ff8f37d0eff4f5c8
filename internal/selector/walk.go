package selector

// MaxSteps limits the steps of one selector on the data of one event. A step is about one value, or
// 64 bytes of a string. A condition that exceeds it does not hold.
const MaxSteps = 20_000

// bytesOfStep is the number of bytes of a string per step.
const bytesOfStep = 64

// walk is an evaluation on the data of an event, with its remaining steps.
type walk struct {
	root *value
	left int
}

// step uses n steps, and reports whether enough were left.
func (w *walk) step(n int) bool {
	if w.left >= 0 {
		w.left -= n
	}
	return w.left >= 0
}

// over reports whether the steps are exceeded.
func (w *walk) over() bool { return w.left < 0 }

// query is a JSONPath.
type query struct {
	root     bool // from $, not from @
	segments []segment
	// singular queries find at most one value.
	singular bool
}

type segment struct {
	descendant bool
	picks      []pick
}

type pickKind byte

const (
	pickName pickKind = iota
	pickIndex
	pickSlice
	pickAll
	pickFilter
)

// pick is a selector in the terms of RFC 9535.
type pick struct {
	kind  pickKind
	name  string
	index int64
	slice slice
	test  test
}

// slice has nil for omitted parts.
type slice struct {
	start, end *int64
	step       int64
}

// each calls visit with each value of the query until visit returns false. It reports whether it
// reached the end.
func (q *query) each(w *walk, current *value, visit func(*value) bool) bool {
	if q.root {
		current = w.root
	}
	if q.singular {
		found := q.findOne(w, current)
		return !w.over() && (found == nil || visit(found))
	}
	return w.segments(q.segments, current, visit)
}

// findOne returns the value of a singular query, or nil.
func (q *query) findOne(w *walk, current *value) *value {
	if q.root {
		current = w.root
	}
	if !w.step(1 + len(q.segments)) {
		return nil
	}
	for i := range q.segments {
		switch p := &q.segments[i].picks[0]; {
		case current == nil:
			return nil
		case p.kind == pickName:
			current = current.get(p.name)
		default:
			current = current.at(p.index)
		}
	}
	return current
}

// at returns an element of a list, or nil. A negative index counts from the end.
func (v *value) at(i int64) *value {
	if v.kind != list {
		return nil
	}
	n := int64(len(v.items))
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return nil
	}
	return &v.items[i]
}

func (w *walk) segments(rest []segment, v *value, visit func(*value) bool) bool {
	if !w.step(1) {
		return false
	}
	if len(rest) == 0 {
		return visit(v)
	}
	further := func(v *value) bool { return w.segments(rest[1:], v, visit) }
	for i := range rest[0].picks {
		if !rest[0].picks[i].each(w, v, further) {
			return false
		}
	}
	if !rest[0].descendant {
		return true
	}
	for i := range v.width() {
		if !w.segments(rest, v.child(i), visit) {
			return false
		}
	}
	return true
}

func (p *pick) each(w *walk, v *value, visit func(*value) bool) bool {
	switch p.kind {
	case pickName:
		found := v.get(p.name)
		return found == nil || visit(found)
	case pickIndex:
		found := v.at(p.index)
		return found == nil || visit(found)
	case pickSlice:
		return p.slice.each(w, v, visit)
	}
	for i := range v.width() {
		child := v.child(i)
		if p.kind == pickFilter && !p.test.holds(w, child) {
			if !w.step(1) {
				return false
			}
			continue
		}
		if !visit(child) {
			return false
		}
	}
	return true
}

// each implements RFC 9535, section 2.3.4.2.2.
func (s slice) each(w *walk, v *value, visit func(*value) bool) bool {
	if v.kind != list || s.step == 0 {
		return true
	}
	n := int64(len(v.items))
	normal := func(i *int64, absent int64) int64 {
		switch {
		case i == nil:
			return absent
		case *i < 0:
			return n + *i
		}
		return *i
	}
	if s.step > 0 {
		from, to := max(normal(s.start, 0), 0), min(normal(s.end, n), n)
		for i := from; i < to; i += s.step {
			if !visit(&v.items[i]) {
				return false
			}
		}
		return true
	}
	from, to := min(normal(s.start, n-1), n-1), max(normal(s.end, -1-n), -1)
	if s.end == nil {
		to = -1
	}
	for i := from; i > to; i += s.step {
		if !visit(&v.items[i]) {
			return false
		}
	}
	return true
}
