package paramschema

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// graph is a schema split into its subschemas.
type graph struct {
	root         *value
	draft        draft
	nodes        []*node
	byValue      map[*value]*node
	instructions int
	searches     int
	skipped      []skipped // patterns without effect
	warnings     []Warning
	compiler     *jsonschema.Compiler
	meter        meter // of all defaults
}

// refuse returns an error with the place in a schema and the expected value.
func refuse(path []string, message, expected string) error {
	where := schemaPath(path)
	if where == "" {
		where = "the schema"
	}
	return parley.Refuse(parley.ErrValidationFailed, where+": "+message, expected)
}

// build splits a schema. It refuses everything that the library must not see, except schemas that
// make values expensive.
func build(root *value) (*graph, error) {
	g := &graph{root: root, byValue: map[*value]*node{}}
	var err error
	if g.draft, err = draftOf(root); err != nil {
		return nil, err
	}
	if _, err = g.node(root, nil); err != nil {
		return nil, err
	}
	return g, nil
}

// node returns the schema at a place. A value that is no schema becomes an empty one, because the
// library reports it.
func (g *graph) node(doc *value, path []string) (*node, error) {
	if n := g.byValue[doc]; n != nil {
		return n, nil
	}
	if len(g.nodes) == MaxSubschemas {
		return nil, refuse(path, "there are too many schemas in it", fmt.Sprintf("at most %d", MaxSubschemas))
	}
	if len(pointer(path)) > MaxPlaceBytes {
		return nil, refuse(path, "the path to it is too long", fmt.Sprintf("at most %d bytes", MaxPlaceBytes))
	}
	doc.dropNulls()
	n := &node{path: path, doc: doc}
	g.nodes = append(g.nodes, n)
	g.byValue[doc] = n
	for _, m := range doc.members {
		if err := g.addKeyword(n, m.name, m.value); err != nil {
			return nil, err
		}
	}
	n.measure()
	return n, nil
}

// addKeyword reads one member of a schema.
func (g *graph) addKeyword(n *node, keyword string, v *value) error {
	if a, ok := applicators[keyword]; ok {
		return g.addSchemas(n, a, keyword, v)
	}
	switch {
	case keyword == "$ref":
		return g.addReference(n, v)
	case keyword == "$dynamicRef", keyword == "$recursiveRef":
		return refuse(n.pathTo(keyword), "its target depends on the caller and cannot be resolved here", "$ref")
	case keyword == "$schema":
		return g.sameDraft(n, v)
	case keyword == g.draft.id && len(n.path) > 0 && v.kind == text:
		return refuse(n.pathTo(keyword), "a nested schema has no own address", keyword+" at the root only")
	case keyword == "pattern" && v.kind == text:
		var why string
		if n.instructions, why = g.pattern(v.string(), MaxPatternBytes); why != "" {
			g.skipped = append(g.skipped, skipped{n, keyword, "", v.string(), why})
		}
	case counts[keyword] && v.kind == number:
		return checkCount(n.pathTo(keyword), v.raw)
	}
	return nil
}

// checkCount refuses counts over MaxCount.
func checkCount(path []string, raw string) error {
	if f, err := strconv.ParseFloat(raw, 64); err != nil || f > MaxCount {
		return refuse(path, clip(raw)+" is too large", fmt.Sprintf("at most %d", MaxCount))
	}
	return nil
}

// addSchemas reads the schemas under a keyword. It ignores a value of the wrong form, which the
// library refuses.
func (g *graph) addSchemas(n *node, a applicator, keyword string, v *value) error {
	switch {
	case a.shape == byName:
		return g.addNamed(n, a, keyword, v)
	case v.kind == array && a.shape != one:
		for i, item := range v.items {
			if err := g.addSchema(n, edge{applicator: a, keyword: keyword, name: strconv.Itoa(i)}, item); err != nil {
				return err
			}
		}
	case a.shape != list && !(v.kind == boolean && switches[keyword]):
		return g.addSchema(n, edge{applicator: a, keyword: keyword}, v)
	}
	return nil
}

// addNamed reads schemas under names.
func (g *graph) addNamed(n *node, a applicator, keyword string, v *value) error {
	for _, m := range v.members {
		e := edge{applicator: a, keyword: keyword, name: m.name}
		switch {
		case keyword == "patternProperties":
			var why string
			if e.instructions, why = g.pattern(m.name, MaxSchemaNameBytes); why != "" {
				g.skipped = append(g.skipped, skipped{n, keyword, m.name, m.name, why})
				continue
			}
			e.pattern = regexp.MustCompile(m.name) // already checked
		case len(m.name) > MaxSchemaNameBytes:
			return refuse(n.pathTo(keyword, m.name), fmt.Sprintf("the name has %d bytes", len(m.name)), fmt.Sprintf("at most %d",
				MaxSchemaNameBytes))
		}
		if err := g.addSchema(n, e, m.value); err != nil {
			return err
		}
	}
	return nil
}

// addSchema reads one schema under a keyword.
func (g *graph) addSchema(n *node, e edge, v *value) error {
	if v.kind != object && v.kind != boolean {
		return nil // for example the list of a dependency
	}
	path := n.pathTo(e.keyword)
	if e.name != "" || e.shape == byName {
		path = append(path, e.name)
	}
	to, err := g.node(v, path)
	if err != nil {
		return err
	}
	e.to = to
	n.addEdge(e)
	return nil
}

// addReference reads a reference and rewrites it in the form of the library, so that the library
// compiles each schema once.
func (g *graph) addReference(n *node, v *value) error {
	path := n.pathTo("$ref")
	if v.kind != text || len(v.raw) > MaxPatternBytes {
		return refuse(path, "it is no reference", fmt.Sprintf(`text as "#/definitions/name", of at most %d bytes`,
			MaxPatternBytes))
	}
	target, doc, ok := g.resolve(v.string())
	if !ok {
		return refuse(path, showName(v.string())+" is not within this schema",
			`"#", or "#/" and a path to a schema in this one`)
	}
	if doc.kind != object && doc.kind != boolean {
		return refuse(path, showName(v.string())+" is no schema", "a path to an object")
	}
	to, err := g.node(doc, target)
	if err != nil {
		return err
	}
	v.raw = quoted(pointer(target))
	n.ref, n.refOnly = to, g.draft.refAlone
	return nil
}

// resolve follows a reference from the root.
func (g *graph) resolve(ref string) (path []string, doc *value, ok bool) {
	doc = g.root
	if ref == "#" {
		return nil, doc, true
	}
	fragment, isPointer := strings.CutPrefix(ref, "#/")
	if !isPointer || fragment == "" { // the library reads "#/" as "#"
		return nil, nil, false
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, nil, false
	}
	for token := range strings.SplitSeq(fragment, "/") {
		token = unescapeTilde(token)
		path = append(path, token)
		if doc = doc.child(token); doc == nil {
			return nil, nil, false
		}
	}
	return path, doc, true
}

// child returns the member or item for a token of a pointer, or nil.
func (v *value) child(token string) *value {
	if v.kind != array {
		return v.get(token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(v.items) || strconv.Itoa(i) != token {
		return nil
	}
	return v.items[i]
}

// removeHidden removes the keywords that the library must not see.
func (g *graph) removeHidden() {
	for _, n := range g.nodes {
		kept := slices.DeleteFunc(slices.Clone(n.doc.members), func(m member) bool {
			return hiddenKeywords[m.name] || m.name == g.draft.id
		})
		if len(kept) < len(n.doc.members) {
			n.doc.setMembers(kept)
		}
	}
}
