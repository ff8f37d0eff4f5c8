package paramschema

import "encoding/json"

// DropNulls removes the members that are null although the schema neither requires them nor accepts
// null for them. Models and clients write null for arguments that they omit. It follows all keywords
// that apply to a member. If several schemas of anyOf, oneOf, then or else describe it, one of them
// must accept null. It keeps every other null, and returns a value without nulls unchanged.
//
// A value that is too large or that is not JSON is returned unchanged, because Validate refuses it.
func (s *Schema) DropNulls(raw json.RawMessage) json.RawMessage {
	v, err := parseValue(raw)
	if err != nil || !v.hasNullMember() {
		return raw
	}
	d := &nullDropper{steps: MaxSteps}
	if !d.drop(v, []view{{s.root, true}}) || !d.dropped {
		return raw
	}
	return v.appendTo(make([]byte, 0, v.size))
}

func (v *value) hasNullMember() bool {
	for _, m := range v.members {
		if m.value.kind == null || m.value.hasNullMember() {
			return true
		}
	}
	for _, item := range v.items {
		if item.hasNullMember() {
			return true
		}
	}
	return false
}

// view is a schema that applies to a value: always if certain is true, otherwise as one of several.
type view struct {
	node    *node
	certain bool
}

// refuseAll is the schema false, which additionalProperties has.
var refuseAll = &node{doc: &value{kind: boolean, raw: "false"}, nullKnown: true}

// nullDropper removes nulls within its remaining steps.
type nullDropper struct {
	steps   int
	dropped bool
}

// drop removes the nulls in a value to which the views apply. It returns false if the steps are
// used up.
func (d *nullDropper) drop(v *value, views []view) bool {
	if v.kind != array && v.kind != object {
		return true
	}
	var all []view
	for _, w := range views {
		all = d.withApplied(w, all)
	}
	d.steps -= len(all) * (1 + v.width()) * schemaSteps
	if d.steps < 0 {
		return false
	}
	if v.kind == array {
		return d.dropInItems(v, all)
	}
	kept := make([]member, 0, len(v.members))
	for _, m := range v.members {
		below := d.ofMember(&m, all)
		if m.value.kind == null && isSurplusNull(m.name, all, below) {
			d.dropped = true
			continue
		}
		kept = append(kept, m)
		if d.steps < 0 || len(below) > 0 && !d.drop(m.value, below) {
			return false
		}
	}
	v.setMembers(kept)
	return true
}

func (d *nullDropper) dropInItems(v *value, all []view) bool {
	for i, item := range v.items {
		var below []view
		for _, w := range all {
			for _, n := range w.node.ofItem(i, nil) {
				below = append(below, view{n, w.certain})
			}
		}
		if len(below) > 0 && !d.drop(item, below) {
			return false
		}
	}
	return true
}

// ofMember returns the schemas for a member. A schema for additional members counts only if no
// schema declares the member.
func (d *nullDropper) ofMember(m *member, all []view) (below []view) {
	var rest []view
	for _, w := range all {
		d.steps -= w.node.matchingSteps(m)
		if d.steps < 0 {
			return nil
		}
		declared := w.node.declares(m.name)
		for _, n := range w.node.ofMember(m.name, nil) {
			if declared {
				below = append(below, view{n, w.certain})
			} else {
				rest = append(rest, view{n, w.certain})
			}
		}
		if !declared && w.node.closed {
			rest = append(rest, view{refuseAll, w.certain})
		}
	}
	if len(below) == 0 {
		return rest
	}
	return below
}

// isSurplusNull reports whether a null member can be removed. all are the schemas of its object, and
// below its own.
func isSurplusNull(name string, all, below []view) bool {
	for _, w := range all {
		if w.certain && w.node.requires(name) {
			return false
		}
	}
	refused, accepted := false, false
	for _, w := range below {
		switch accepts := w.node.acceptsNull(); {
		case accepts && !w.certain:
			accepted = true
		case !accepts && w.certain:
			return true
		case !accepts:
			refused = true
		}
	}
	return refused && !accepted
}

// requires reports whether required of n has the name.
func (n *node) requires(name string) bool {
	if required := n.doc.get("required"); required != nil && !n.refOnly {
		for _, item := range required.items {
			if item.string() == name {
				return true
			}
		}
	}
	return false
}

// choices are keywords whose schemas apply to some values only.
var choices = map[string]bool{
	"anyOf": true, "oneOf": true, "then": true, "else": true, "dependencies": true, "dependentSchemas": true,
}

// withApplied appends a view, and those of the schemas that apply to the same value with it.
func (d *nullDropper) withApplied(w view, all []view) []view {
	if d.steps--; d.steps < 0 {
		return all
	}
	all = append(all, w)
	if w.node.ref != nil {
		all = d.withApplied(view{w.node.ref, w.certain}, all)
	}
	if w.node.refOnly {
		return all
	}
	for _, e := range w.node.edges {
		if e.keyword == "allOf" || choices[e.keyword] {
			all = d.withApplied(view{e.to, w.certain && e.keyword == "allOf"}, all)
		}
	}
	return all
}
