package paramschema

import (
	"fmt"
	"slices"
)

// Warning is a part of a schema that has no effect. Path is its place in the schema, such as
// properties.url.pattern.
type Warning struct {
	Path    string
	Message string
}

// Warnings returns the parts of the schema that have no effect: patterns that cannot be compiled,
// and defaults that do not match their own schema.
func (s *Schema) Warnings() []Warning { return s.warnings }

func warn(path []string, format string, args ...any) Warning {
	where := schemaPath(path)
	if where == "" {
		where = "the schema"
	}
	return Warning{where, fmt.Sprintf(format, args...)}
}

// dropNulls removes the members of a schema that are null, because generators write null for absent
// members. A named schema or an item at a position that is null accepts every value instead. The
// null in a list of types is the type null.
func (v *value) dropNulls() {
	if v.kind != object {
		return
	}
	v.setMembers(slices.DeleteFunc(slices.Clone(v.members), func(m member) bool {
		if m.name == "default" || m.name == "const" {
			return false
		}
		return m.value.kind == null || m.value.dropNullParts(m.name)
	}))
}

// dropNullParts removes the nulls in the value of a keyword. It reports whether nothing is left.
func (v *value) dropNullParts(keyword string) (empty bool) {
	a, applies := applicators[keyword]
	switch {
	case v.kind == object && (applies && a.shape == byName || keyword == "dependentRequired"):
		for i, m := range v.members {
			if m.value.kind == null {
				v.members[i].value = &value{kind: object, at: m.value.at, size: 2, nodes: 1}
				if keyword == "dependentRequired" {
					v.members[i].value.kind = array
				}
			}
		}
	case v.kind != array:
	case keyword == "type":
		for _, item := range v.items {
			if item.kind == null {
				item.kind, item.raw = text, `"null"`
			}
		}
	case keyword == "items" || keyword == "prefixItems":
		for _, item := range v.items {
			if item.kind == null {
				item.kind = object
			}
		}
	case applies || keyword == "required":
		before := len(v.items)
		v.items = slices.DeleteFunc(v.items, func(item *value) bool { return item.kind == null })
		return len(v.items) == 0 && before > 0
	}
	return false
}

// skipped is a pattern without effect: the value of a keyword pattern, or a name under
// patternProperties.
type skipped struct {
	node          *node
	keyword, name string
	pattern, why  string
}

func (s *skipped) warning() Warning {
	path := s.node.pathTo(s.keyword)
	if s.keyword == "patternProperties" {
		path = append(path, s.name)
	}
	return warn(path, "the pattern %s is not checked: %s", showName(s.pattern), s.why)
}

// removeSkipped removes the patterns without effect from the text of the schema, so that the rest of
// the schema remains. A keyword that would refuse more values without such a pattern is removed too.
func (g *graph) removeSkipped() {
	looser := map[*node]bool{} // they accept more values without the patterns
	for _, s := range g.skipped {
		looser[s.node] = true
		if s.keyword == "pattern" {
			s.node.doc.remove("pattern")
			continue
		}
		if named := s.node.doc.get(s.keyword); named != nil {
			named.remove(s.name)
		}
		s.node.doc.remove("additionalProperties")
	}
	for changed := true; changed; {
		changed = false
		for _, n := range g.nodes {
			n.applied(func(e edge) bool {
				if looser[e.to] && !looser[n] {
					looser[n], changed = true, true
				}
				return true
			})
		}
	}
	for n := range looser {
		n.applied(func(e edge) bool {
			if looser[e.to] {
				n.doc.loosen(e.keyword)
			}
			return true
		})
		n.doc.remove("unevaluatedProperties", "unevaluatedItems")
	}
}

// loosen removes or replaces a keyword that refuses more values if a schema under it accepts more.
func (v *value) loosen(keyword string) {
	switch keyword {
	case "not":
		v.remove("not")
	case "if":
		v.remove("if", "then", "else")
	case "contains":
		v.remove("maxContains")
	case "oneOf":
		i := v.find("oneOf")
		if i < 0 {
			return
		}
		if v.find("anyOf") >= 0 {
			v.remove("oneOf")
			return
		}
		members := slices.Clone(v.members)
		members[i].name, members[i].raw = "anyOf", `"anyOf"`
		v.setMembers(members)
	}
}

// remove removes members of an object.
func (v *value) remove(names ...string) {
	v.setMembers(slices.DeleteFunc(slices.Clone(v.members), func(m member) bool {
		return slices.Contains(names, m.name)
	}))
}

// acceptsNull reports whether null matches the schema. It is the same as validating null, without
// its cost: the results of all schemas of a graph are kept. No schema may contain itself.
func (n *node) acceptsNull() bool {
	if n.nullKnown {
		return n.nullAccepted
	}
	n.nullAccepted = n.computeAcceptsNull()
	n.nullKnown = true
	return n.nullAccepted
}

func (n *node) computeAcceptsNull() bool {
	if n.doc.kind == boolean {
		return n.doc.raw == "true"
	}
	if n.ref != nil && !n.ref.acceptsNull() {
		return false
	}
	if n.refOnly {
		return true
	}
	if n.types != 0 && n.types&(1<<null) == 0 {
		return false
	}
	if v := n.doc.get("const"); v != nil && v.kind != null {
		return false
	}
	isNull := func(v *value) bool { return v.kind == null }
	if v := n.doc.get("enum"); v != nil && !slices.ContainsFunc(v.items, isNull) {
		return false
	}
	matching := map[string]int{}
	total := map[string]int{}
	for _, e := range n.edges {
		if e.reach == here {
			total[e.keyword]++
			if e.to.acceptsNull() {
				matching[e.keyword]++
			}
		}
	}
	branch := "else"
	if matching["if"] > 0 {
		branch = "then"
	}
	return matching["allOf"] == total["allOf"] && (total["anyOf"] == 0 || matching["anyOf"] > 0) &&
		(total["oneOf"] == 0 || matching["oneOf"] == 1) && matching["not"] == 0 &&
		(total["if"] == 0 || matching[branch] == total[branch])
}
