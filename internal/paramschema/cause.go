package paramschema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// cause is one violation of a schema.
type cause struct {
	schema *node
	// keyword is empty if the schema is false. about is the member in question: a missing or
	// undeclared name.
	keyword string
	about   string
	nth     int
	// value is at path. If inName is set, the violation is in a member name of value.
	value  *value
	path   []step
	inName bool
	// libraryMessage is the message of the library.
	libraryMessage string
}

// group is a non-empty list of causes that belong together.
type group []cause

// compare orders groups by their position in the value, then in the schema.
func (g group) compare(other group) int {
	a, b := &g[0], &other[0]
	return cmp.Or(cmp.Compare(a.value.at, b.value.at), cmp.Compare(a.schema.begin(a.keyword), b.schema.begin(b.keyword)),
		cmp.Compare(a.nth, b.nth), cmp.Compare(a.about, b.about))
}

// begin returns the position of the value of a keyword in the text of the schema.
func (n *node) begin(keyword string) int {
	if v := n.doc.get(keyword); v != nil {
		return v.at
	}
	return n.doc.at
}

// causes collects the first causes.
type causes struct {
	groups []group
	count  int // of all causes, also of dropped ones
}

// addGroup adds a group, and drops groups that cannot be among the first.
func (c *causes) addGroup(g group) {
	c.count += len(g)
	if c.groups = append(c.groups, g); len(c.groups) >= 8*MaxErrors {
		c.first()
	}
}

// first returns the first groups in order. They have at least MaxErrors causes, if there are as
// many.
func (c *causes) first() []group {
	slices.SortStableFunc(c.groups, group.compare)
	c.groups = c.groups[:min(len(c.groups), MaxErrors)]
	return c.groups
}

// validationErrors returns the first causes without duplicates.
func (c *causes) validationErrors() []parley.ValidationError {
	var wrong []parley.ValidationError
	for _, g := range c.first() {
		for _, one := range g {
			e := parley.ValidationError{Path: valuePath(one.path), Message: one.message(),
				SchemaPath: schemaPath(one.schemaPath())}
			if len(wrong) < MaxErrors && !slices.Contains(wrong, e) {
				wrong = append(wrong, e)
			}
		}
	}
	return wrong
}

// collect adds the causes of an error of the library.
func (s *Schema) collect(v *value, e *jsonschema.ValidationError, all *causes) {
	if len(e.Causes) == 0 {
		s.cause(v, e).addEach(all)
		return
	}
	switch last := e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]; last {
	case "anyOf", "oneOf", "minContains":
		c := s.cause(v, e)
		if c.keyword == "minContains" {
			all.addGroup(group{c})
			return
		}
		if c.keyword == last { // and not a property of this name
			all.addGroup(s.choice(v, c, e.Causes))
			return
		}
	}
	for _, below := range e.Causes {
		s.collect(v, below, all)
	}
}

// choice returns the group for a value that fits none of several schemas. It has the causes of the
// schema with the fewest. Of two equal ones, the schema for the type of the value is used.
func (s *Schema) choice(v *value, c cause, branches []*jsonschema.ValidationError) group {
	var least causes
	for i, branch := range branches {
		var all causes
		s.collect(v, branch, &all)
		all.first()
		if i == 0 || all.count < least.count || all.count == least.count && least.wrongType(c.value) &&
			!all.wrongType(c.value) {
			least = all
		}
	}
	return slices.Concat(append([]group{{c}}, least.groups...)...)
}

// wrongType reports whether the first cause is a wrong type.
func (c *causes) wrongType(v *value) bool {
	return len(c.groups) > 0 && c.groups[0][0].keyword == "type" && c.groups[0][0].value == v
}

// cause returns the cause with the position of an error of the library.
func (s *Schema) cause(v *value, e *jsonschema.ValidationError) cause {
	c := cause{schema: s.root, libraryMessage: e.Message}
	c.value, c.path = v.locate(e.InstanceLocation)
	rest := strings.TrimPrefix(e.KeywordLocation, "/")
	for rest != "" {
		first, after, _ := strings.Cut(rest, "/")
		key, further := first, after
		if c.schema.byKey[key] == nil {
			second, afterwards, _ := strings.Cut(after, "/")
			key, further = rest[:min(len(first)+1+len(second), len(rest))], afterwards
		}
		next := c.schema.byKey[key]
		if first == "$ref" {
			next, further = c.schema.ref, after
		}
		if next == nil || first == "not" { // violations under not are no causes
			break
		}
		c.inName = c.inName || first == "propertyNames"
		c.schema, rest = next, further
	}
	c.keyword, c.about, _ = strings.Cut(rest, "/")
	if c.inName && len(c.path) > 0 {
		name := quoted(c.path[len(c.path)-1].name)
		c.value = &value{kind: text, raw: name, at: c.value.at}
	}
	return c
}

// addEach adds a cause, or several if the library reports them in one. It adds few more than are
// reported.
func (c cause) addEach(all *causes) {
	switch c.keyword {
	case "required":
		c.addMissing(all)
	case "additionalProperties":
		c.addUndeclared(all)
	default:
		all.addGroup(group{c})
	}
}

// addMissing adds a cause for each missing required member.
func (c cause) addMissing(all *causes) {
	left := MaxErrors
	for i, name := range c.schema.doc.get("required").items {
		if c.about = name.string(); c.value.find(c.about) >= 0 {
			continue
		}
		c.nth = i
		all.addGroup(group{c})
		if left--; left == 0 {
			return
		}
	}
}

// addUndeclared adds a cause for each undeclared member.
func (c cause) addUndeclared(all *causes) {
	left := MaxErrors
	for _, m := range c.value.members {
		if c.schema.declares(m.name) {
			continue
		}
		one := c
		one.about, one.value = m.name, m.value
		one.path = append(c.path[:len(c.path):len(c.path)], step{m.name, -1})
		all.addGroup(group{one})
		if left--; left == 0 {
			return
		}
	}
}

// declares reports whether properties or patternProperties has a name.
func (n *node) declares(name string) bool {
	_, ok := n.properties[name]
	return ok || slices.ContainsFunc(n.patterns, func(e edge) bool { return e.pattern.MatchString(name) })
}
