package paramschema

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// meter counts the steps that the library takes to check a value against a schema. It visits the
// same nodes, but does not stop where the library may stop early.
type meter struct {
	steps int
}

// checkSteps refuses work over MaxSteps.
func checkSteps(n *node, v *value) error {
	m := &meter{steps: v.size / readBytes}
	if m.apply(n, v, span{}) {
		return nil
	}
	return parley.Refuse(parley.ErrTooLarge, "it would take too long to hold the value against its schema",
		fmt.Sprintf("a smaller value, or a simpler schema: at most %d steps", MaxSteps))
}

// span is the distance of a place from the root: in schemas, in bytes of the schema path, and in
// bytes of the value path. Errors have both paths, once for each schema on the way.
type span struct {
	schemas, way, place int
}

func (s span) by(e edge, place int) span {
	return span{s.schemas + 1, s.way + len(e.key) + 1, s.place + place}
}

func (s span) steps() int {
	return 2*s.schemas + s.way/wayBytes + s.schemas*s.way/manyWayBytes + s.place/placeBytes
}

// apply counts the steps of one schema at one place, and of its subschemas. It returns false if
// they are too many.
func (m *meter) apply(n *node, v *value, at span) bool {
	m.steps += schemaSteps + len(v.members)*memberSteps + len(v.items)*itemSteps + at.steps()
	if n.types != 0 && n.types&(1<<v.kind) == 0 {
		return m.steps <= MaxSteps
	}
	m.steps += n.ownSteps(v)
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

// names counts the steps for the names of members.
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

// members counts the steps of a schema for members.
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

// items counts the steps of a schema for items.
func (m *meter) items(e edge, v *value, at span) bool {
	if e.name != "" {
		item := v.child(e.name)
		return v.kind != array || item == nil || m.apply(e.to, item, at.by(e, len(e.name)))
	}
	for _, item := range v.items {
		if !m.apply(e.to, item, at.by(e, 4)) {
			return false
		}
	}
	return true
}
