package paramschema

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// meter counts the steps that the library takes to hold a value against a schema. It goes the way that the library goes, but looks at nothing: where the
// library may stop early, it goes on.
type meter struct {
	steps int
}

// affordable refuses what takes more than MaxSteps.
func affordable(n *node, v *value) error {
	m := &meter{steps: v.size / readBytes}
	if m.apply(n, v, span{}) {
		return nil
	}
	return parley.Refuse(parley.ErrTooLarge, "it would take too long to hold the value against its schema",
		fmt.Sprintf("a smaller value, or a simpler schema: at most %d steps", MaxSteps))
}

// span is how far a place is from the root: in schemas, in bytes of the way through the schema, and in bytes of the path in the value. Errors have both ways
// written out, once for each schema on the way.
type span struct {
	schemas, way, place int
}

func (s span) by(e edge, place int) span {
	return span{s.schemas + 1, s.way + len(e.key) + 1, s.place + place}
}

func (s span) steps() int {
	return 2*s.schemas + s.way/wayBytes + s.schemas*s.way/manyWayBytes + s.place/placeBytes
}

// apply counts the steps of one schema at one place, and of those under its keywords; false when they are too many.
func (m *meter) apply(n *node, v *value, at span) bool {
	m.steps += schemaSteps + len(v.members)*memberSteps + len(v.items)*itemSteps + at.steps()
	if n.types != 0 && n.types&(1<<v.kind) == 0 {
		return m.steps <= MaxSteps
	}
	m.steps += n.own(v)
	if m.steps > MaxSteps {
		return false
	}
	n.applied(func(e edge) bool {
		switch e.reach {
		case here:
			return m.apply(e.to, v, at.by(e, 0))
		case names:
			return m.names(e, v, at)
		case members:
			return m.members(n, e, v, at)
		default:
			return m.items(e, v, at)
		}
	})
	return m.steps <= MaxSteps
}

// names counts what the names of members cost.
func (m *meter) names(e edge, v *value, at span) bool {
	for i := range v.members {
		m.steps += 2 * nameSteps
		name := &value{kind: text, raw: v.members[i].raw, size: len(v.members[i].raw), nodes: 1}
		if !m.apply(e.to, name, at.by(e, name.size)) {
			return false
		}
	}
	return true
}

// members counts what a schema for members costs.
func (m *meter) members(n *node, e edge, v *value, at span) bool {
	if e.keyword == "properties" {
		c := v.get(e.name)
		return c == nil || m.apply(e.to, c, at.by(e, len(e.name)))
	}
	for i := range v.members {
		name := len(v.members[i].raw)
		if e.pattern != nil {
			m.steps += matchSteps(e.instructions, name)
		} else if _, ok := n.properties[v.members[i].name]; ok {
			continue
		}
		if !m.apply(e.to, v.members[i].value, at.by(e, name)) {
			return false
		}
	}
	return true
}

// items counts what a schema for items costs.
func (m *meter) items(e edge, v *value, at span) bool {
	if e.name != "" {
		item := v.step(e.name)
		return v.kind != array || item == nil || m.apply(e.to, item, at.by(e, len(e.name)))
	}
	for _, item := range v.items {
		if !m.apply(e.to, item, at.by(e, 4)) {
			return false
		}
	}
	return true
}
