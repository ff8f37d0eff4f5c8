package selector

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// condition is a compiled context_match.
type condition struct {
	path  *query
	op    parley.MatchOp
	value *value // nil if exists has none
	given parley.ContextMatch
}

func compileCondition(m parley.ContextMatch, p *patterns) (condition, error) {
	q, err := compilePath(m.Path, p)
	if err != nil {
		return condition{}, err
	}
	c := condition{path: q, op: m.Op, value: decode(m.Value), given: m}
	if c.value != nil {
		c.value.indexAll()
	}
	return c, nil
}

// outcome is the result of a condition on the data.
type outcome struct {
	holds bool
	found *value // the value that decided, otherwise the first one
	count int    // number of values found until the result was known
	over  bool   // it took too many steps
}

// evaluate checks the condition on the data.
func (c *condition) evaluate(w *walk) (o outcome) {
	some := false
	ended := w.root == nil || c.path.each(w, w.root, func(v *value) bool {
		if o.count == 0 {
			o.found = v
		}
		o.count++
		if some = c.holdsFor(w, v); some {
			o.found = v
		}
		return !some && !w.over()
	})
	o.over = w.over() || !ended && !some
	if o.over {
		return o
	}
	o.holds = some != c.negated()
	return o
}

// negated reports whether the condition holds if no value of the path holds.
func (c *condition) negated() bool {
	return c.op == parley.OpNe || c.op == parley.OpExists && c.value != nil && c.value.raw == "false"
}

// holdsFor reports whether one value of the path holds: for ne whether it is equal, and for exists
// always.
func (c *condition) holdsFor(w *walk, v *value) bool {
	switch c.op {
	case parley.OpEq, parley.OpNe:
		return w.equal(v, c.value)
	case parley.OpContains:
		return w.contains(v, c.value)
	case parley.OpContainsAny:
		for i := range c.value.items {
			if w.contains(v, &c.value.items[i]) {
				return true
			}
		}
		return false
	case parley.OpExists:
		return true
	}
	n, ok := w.order(v, c.value)
	switch {
	case !ok:
		return false
	case c.op == parley.OpGt:
		return n > 0
	case c.op == parley.OpGte:
		return n >= 0
	case c.op == parley.OpLt:
		return n < 0
	}
	return n <= 0
}

// because returns why the condition does not hold.
func (c *condition) because(o outcome) string {
	path := show(c.given.Path)
	asked := string(c.op)
	if c.value != nil {
		asked += " " + show(c.value.raw)
	}
	switch {
	case o.over:
		return fmt.Sprintf("to look for %s took more than %d steps", path, MaxSteps)
	case o.count == 0:
		return fmt.Sprintf("there is no value at %s, but %s is required", path, asked)
	case o.count == 1 || c.negated():
		return fmt.Sprintf("%s is %s, but %s is required", path, show(o.found.raw), asked)
	}
	return fmt.Sprintf("none of the %d values at %s is what %s asks for: the first is %s", o.count, path, asked,
		show(o.found.raw))
}

// maxShown is about the maximum length of a path, value or name in a sentence.
const maxShown = 80

// show returns s on one line, shortened to maxShown.
func show(s string) string {
	if len(s) > maxShown {
		n := maxShown
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
