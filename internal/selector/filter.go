package selector

import (
	"regexp"
	"strconv"
	"unicode/utf8"
)

// test is a test of a filter on a value.
type test interface {
	holds(w *walk, current *value) bool
}

// operand is an operand of a comparison; a nil value is nothing.
type operand interface {
	value(w *walk, current *value) *value
}

type (
	anyOf  []test
	allOf  []test
	not    struct{ test }
	exists struct{ *query }
	// compared is one of == != < <= > >=.
	compared struct {
		left, right operand
		op          string
	}
	// matching is match or search. The pattern of match is anchored at both ends.
	matching struct {
		of      operand
		pattern *regexp.Regexp
		size    int // of its program
	}
	literal  struct{ is *value }
	singular struct{ *query }
	lengthOf struct{ of operand }
	countOf  struct{ *query }
	valueOf  struct{ *query }
)

func (t anyOf) holds(w *walk, current *value) bool {
	for _, one := range t {
		if one.holds(w, current) {
			return true
		}
	}
	return false
}

func (t allOf) holds(w *walk, current *value) bool {
	for _, one := range t {
		if !one.holds(w, current) {
			return false
		}
	}
	return true
}

func (t not) holds(w *walk, current *value) bool { return !t.test.holds(w, current) }

func (t exists) holds(w *walk, current *value) bool {
	found := false
	t.each(w, current, func(*value) bool {
		found = true
		return false
	})
	return found
}

func (t compared) holds(w *walk, current *value) bool {
	left, right := t.left.value(w, current), t.right.value(w, current)
	switch t.op {
	case "==":
		return w.same(left, right)
	case "!=":
		return !w.same(left, right)
	}
	if left == nil || right == nil {
		return left == right && (t.op == "<=" || t.op == ">=")
	}
	c, ok := w.order(left, right)
	switch {
	case !ok:
		return (t.op == "<=" || t.op == ">=") && w.equal(left, right)
	case t.op == "<":
		return c < 0
	case t.op == "<=":
		return c <= 0
	case t.op == ">":
		return c > 0
	}
	return c >= 0
}

// same is equal, except that nothing equals nothing.
func (w *walk) same(a, b *value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return w.equal(a, b)
}

func (t matching) holds(w *walk, current *value) bool {
	v := t.of.value(w, current)
	return v != nil && v.kind == text && w.step(1+len(v.text)*t.size/8) && t.pattern.MatchString(v.text)
}

func (o literal) value(*walk, *value) *value { return o.is }

func (o singular) value(w *walk, current *value) *value { return o.findOne(w, current) }

func (o lengthOf) value(w *walk, current *value) *value {
	v := o.of.value(w, current)
	switch {
	case v == nil:
		return nil
	case v.kind == text:
		w.step(4 * len(v.text) / bytesOfStep) // counting takes longer than comparing
		return integer(utf8.RuneCountInString(v.text))
	case v.kind == list || v.kind == object:
		return integer(v.width())
	}
	return nil
}

func (o countOf) value(w *walk, current *value) *value {
	n := 0
	o.each(w, current, func(*value) bool {
		n++
		return true
	})
	return integer(n)
}

func (o valueOf) value(w *walk, current *value) (only *value) {
	n := 0
	o.each(w, current, func(v *value) bool {
		only = v
		n++
		return n < 2
	})
	if n != 1 {
		return nil
	}
	return only
}

func integer(n int) *value { return &value{kind: number, raw: strconv.Itoa(n)} }
