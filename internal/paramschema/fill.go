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
// The value is not validated. A default that does not match its own schema is not added.
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

// checkDefaults removes the defaults that do not match their schema. It refuses a schema whose nested
// defaults are endless or very large.
func (g *graph) checkDefaults() error {
	for _, n := range g.nodes {
		n.findFallback()
	}
	f := &filler{steps: maxDefaultSteps, bytes: MaxFilledBytes}
	for _, n := range g.nodes {
		if err := g.judgeDefault(n, f); err != nil {
			return err
		}
	}
	f = &filler{steps: maxDefaultSteps, bytes: MaxFilledBytes}
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

// judgeDefault sets the fallback of a schema: its default, otherwise that of its reference or of
// allOf, if it matches the schema with the defaults inside it. It judges the schemas below first,
// because their defaults are part of it.
func (g *graph) judgeDefault(n *node, f *filler) error {
	if n.judged {
		return nil
	}
	n.judged = true
	if n.ref != nil {
		if err := g.judgeDefault(n.ref, f); err != nil {
			return err
		}
	}
	for _, e := range n.edges {
		if err := g.judgeDefault(e.to, f); err != nil {
			return err
		}
	}
	candidate := n.findDefault(func(below *node) *value { return below.fallback })
	if n.fallback = candidate; candidate == nil {
		return nil
	}
	filled := candidate.clone()
	f.fill(filled, []*node{n}, 1) // an endless default is refused later
	why, err := g.mismatch(n, filled)
	switch {
	case err != nil:
		return err
	case why == "":
		return nil
	}
	n.fallback = nil
	switch own := n.doc.get("default"); {
	case candidate.kind == null: // generators write it for optional properties
	case own != nil:
		g.warnings = append(g.warnings,
			warn(n.pathTo("default"), "the default is not filled in, because it does not match: %s", why))
	default:
		g.warnings = append(g.warnings,
			warn(n.path, "the default of its reference is not filled in, because it does not match: %s", why))
	}
	return nil
}

// mismatch returns why a value does not match a schema, or "".
func (g *graph) mismatch(n *node, v *value) (string, error) {
	if !g.meter.apply(n, v, span{}) {
		return "the defaults of the schema are too expensive to check", nil
	}
	s, err := g.schemaOf(n)
	if err != nil {
		return "", err
	}
	wrong, err := s.validate(v)
	if err != nil || len(wrong) == 0 {
		return "", err
	}
	return wrong[0].Message, nil
}
