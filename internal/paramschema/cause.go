package paramschema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// cause is one thing that is wrong.
type cause struct {
	schema *node
	// keyword is empty when the schema is false, and about is what of it is meant: a name that is missing, or not declared.
	keyword string
	about   string
	nth     int
	// value is at path. It is a name of what lies there when inName is set.
	value  *value
	path   []step
	inName bool
	// told is what the library says.
	told string
}

// group is causes that stay together. It has one at least.
type group []cause

// compare puts groups in the order of the value, then of the schema.
func (g group) compare(other group) int {
	a, b := &g[0], &other[0]
	return cmp.Or(cmp.Compare(a.value.at, b.value.at), cmp.Compare(a.schema.begin(a.keyword), b.schema.begin(b.keyword)),
		cmp.Compare(a.nth, b.nth), cmp.Compare(a.about, b.about))
}

// begin is where in the text of the schema the value of a keyword stands.
func (n *node) begin(keyword string) int {
	if v := n.doc.get(keyword); v != nil {
		return v.at
	}
	return n.doc.at
}

// causes are the first of what is wrong.
type causes struct {
	groups []group
	count  int // of all causes, also of those that are not kept
}

// add keeps a group, for as long as it may be one of the first.
func (c *causes) add(g group) {
	c.count += len(g)
	if c.groups = append(c.groups, g); len(c.groups) >= 8*MaxErrors {
		c.first()
	}
}

// first gives the first groups in order. They have MaxErrors causes, if there are as many.
func (c *causes) first() []group {
	slices.SortStableFunc(c.groups, group.compare)
	c.groups = c.groups[:min(len(c.groups), MaxErrors)]
	return c.groups
}

// tell writes the first causes out, each once.
func (c *causes) tell() []parley.ValidationError {
	var wrong []parley.ValidationError
	for _, g := range c.first() {
		for _, one := range g {
			e := parley.ValidationError{Path: valuePath(one.path), Message: one.message(), SchemaPath: schemaPath(one.schemaPath())}
			if len(wrong) < MaxErrors && !slices.Contains(wrong, e) {
				wrong = append(wrong, e)
			}
		}
	}
	return wrong
}

// collect adds what an error of the library comes from.
func (s *Schema) collect(v *value, e *jsonschema.ValidationError, all *causes) {
	if len(e.Causes) == 0 {
		s.cause(v, e).each(all)
		return
	}
	switch last := e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]; last {
	case "anyOf", "oneOf", "minContains":
		c := s.cause(v, e)
		if c.keyword == "minContains" {
			all.add(group{c})
			return
		}
		if c.keyword == last { // and it is no property of this name
			all.add(s.choice(v, c, e.Causes))
			return
		}
	}
	for _, below := range e.Causes {
		s.collect(v, below, all)
	}
}

// choice is the group of a value that fits none of several schemas: with the causes of the schema that has the fewest, of two the one for this type of value.
func (s *Schema) choice(v *value, c cause, branches []*jsonschema.ValidationError) group {
	var least causes
	for i, branch := range branches {
		var all causes
		s.collect(v, branch, &all)
		all.first()
		if i == 0 || all.count < least.count || all.count == least.count && least.wrongType(c.value) && !all.wrongType(c.value) {
			least = all
		}
	}
	return slices.Concat(append([]group{{c}}, least.groups...)...)
}

// wrongType reports whether the first cause is that a value is not of the type that is wanted.
func (c *causes) wrongType(v *value) bool {
	return len(c.groups) > 0 && c.groups[0][0].keyword == "type" && c.groups[0][0].value == v
}

// cause reads where an error of the library is.
func (s *Schema) cause(v *value, e *jsonschema.ValidationError) cause {
	c := cause{schema: s.root, told: e.Message}
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
		if next == nil || first == "not" { // what fails under not is no cause
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

// each adds a cause, or several where the library tells them in one; not many more than are told.
func (c cause) each(all *causes) {
	switch c.keyword {
	case "required":
		c.missing(all)
	case "additionalProperties":
		c.undeclared(all)
	default:
		all.add(group{c})
	}
}

// missing adds a cause for each member that is required and not there.
func (c cause) missing(all *causes) {
	left := MaxErrors
	for i, name := range c.schema.doc.get("required").items {
		if c.about = name.string(); c.value.find(c.about) >= 0 {
			continue
		}
		c.nth = i
		all.add(group{c})
		if left--; left == 0 {
			return
		}
	}
}

// undeclared adds a cause for each member that is not declared.
func (c cause) undeclared(all *causes) {
	left := MaxErrors
	for _, m := range c.value.members {
		if c.schema.declares(m.name) {
			continue
		}
		one := c
		one.about, one.value = m.name, m.value
		one.path = append(c.path[:len(c.path):len(c.path)], step{m.name, -1})
		all.add(group{one})
		if left--; left == 0 {
			return
		}
	}
}

// declares reports whether a name is one of properties or patternProperties.
func (n *node) declares(name string) bool {
	_, ok := n.properties[name]
	return ok || slices.ContainsFunc(n.patterns, func(e edge) bool { return e.pattern.MatchString(name) })
}
