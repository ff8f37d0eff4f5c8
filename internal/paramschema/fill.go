package paramschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Fill adds the defaults of the schema to a value: to each object, the declared properties that
// have a default and are missing. It also fills in nested objects and added defaults. It follows
// properties, patternProperties, additionalProperties, items, prefixItems, additionalItems, $ref
// and allOf. It never follows anyOf, oneOf, not, if, then, else and dependencies. A default beside
// $ref has precedence over that of its target, and the first of two in the schema over the second.
// Neither the value nor the defaults are validated.
//
// The result is compact. It has the members of the value in their order, then the new ones ordered
// by name. Fill returns ErrTooLarge if the value or the added defaults exceed the limits, and
// ErrInvalidParams if the value is not JSON.
func (s *Schema) Fill(raw json.RawMessage) (filled json.RawMessage, err error) {
	defer recoverPanic(&err)
	v, err := parseValue(raw)
	if err != nil {
		return nil, err
	}
	f := &filler{steps: MaxSteps, bytes: MaxFilledBytes}
	if !f.fill(v, []*node{s.root}, 1) {
		return nil, parley.Refuse(parley.ErrTooLarge, "the value is too large when the defaults of its schema are filled in",
			fmt.Sprintf("defaults of at most %d bytes, at most %d levels deep", MaxFilledBytes, limits.MaxDepth))
	}
	return v.appendTo(make([]byte, 0, v.size)), nil
}

func parseValue(raw json.RawMessage) (*value, error) {
	v, f := parse(raw, parseLimits{MaxValueBytes, limits.MaxDepth, MaxNodes})
	if f != nil {
		return nil, f.ofValue()
	}
	return v, nil
}

// filler fills in defaults, within its remaining steps and bytes.
type filler struct {
	steps, bytes int
}

// fill fills in one value at a depth, to which schemas apply. It returns false if a limit is
// reached.
func (f *filler) fill(v *value, schemas []*node, depth int) bool {
	if v.width() == 0 && v.kind != object {
		return true
	}
	var all []*node
	for _, n := range schemas {
		all = n.withApplied(all)
	}
	f.steps -= len(all) * (1 + v.width()) * schemaSteps
	if depth > limits.MaxDepth || f.steps < 0 || v.kind == object && !f.addDefaults(v, all) {
		return false
	}
	for i := range v.members {
		m := &v.members[i]
		var below []*node
		for _, n := range all {
			f.steps -= n.matchingSteps(m)
			below = n.ofMember(m.name, below)
		}
		if f.steps < 0 || len(below) > 0 && !f.fill(m.value, below, depth+1) {
			return false
		}
	}
	for i, item := range v.items {
		var below []*node
		for _, n := range all {
			below = n.ofItem(i, below)
		}
		if len(below) > 0 && !f.fill(item, below, depth+1) {
			return false
		}
	}
	return true
}

// matchingSteps returns the steps to match the patterns of n with a name.
func (n *node) matchingSteps(m *member) int {
	steps := 0
	for _, e := range n.patterns {
		steps += matchSteps(e.instructions, len(m.raw))
	}
	return steps
}

// addDefaults adds the missing members with a default to an object. It returns false if they are
// too large.
func (f *filler) addDefaults(v *value, schemas []*node) bool {
	var added []member
	for _, n := range schemas {
		if n.refOnly {
			continue
		}
		for _, e := range n.edges {
			if e.keyword != "properties" || v.find(e.name) >= 0 || slices.ContainsFunc(added,
				func(m member) bool { return m.name == e.name }) {
				continue
			}
			f.steps -= 1 + len(added)/4
			if e.to.fallback != nil {
				added = append(added, member{e.name, quoted(e.name), e.to.fallback})
			}
		}
	}
	slices.SortFunc(added, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	for _, m := range added {
		f.steps -= m.value.nodes
		f.bytes -= m.value.size + len(m.raw)
		if f.steps < 0 || f.bytes < 0 {
			return false
		}
		m.value = m.value.clone()
		v.addMember(m)
	}
	return true
}

// checkDefaults refuses a schema whose nested defaults are endless or very large.
func (g *graph) checkDefaults() error {
	for _, n := range g.nodes {
		n.findFallback()
	}
	f := &filler{steps: maxDefaultSteps, bytes: MaxFilledBytes}
	for _, n := range g.nodes {
		for _, e := range n.edges {
			if e.keyword != "properties" || e.to.fallback == nil {
				continue
			}
			if !f.fill(e.to.fallback.clone(), []*node{e.to}, 1) {
				return refuse(e.to.path, "its default, with the defaults inside it filled in, is too large or has no end",
					"defaults that come to an end")
			}
		}
	}
	return nil
}
