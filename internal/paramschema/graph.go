package paramschema

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parleyhub/parley"
)

// graph is a schema, taken apart into the schemas that it is made of.
type graph struct {
	root         *value
	draft        draft
	nodes        []*node
	byValue      map[*value]*node
	instructions int
	searches     int
}

// refuse says where in a schema what was expected.
func refuse(path []string, message, expected string) error {
	where := schemaPath(path)
	if where == "" {
		where = "the schema"
	}
	return parley.Refuse(parley.ErrValidationFailed, where+": "+message, expected)
}

// build takes a schema apart, and refuses all in it that the library must not see, short of what a value costs.
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

// node gives the schema that stands at a place. What is no schema at all becomes an empty one: the library says so.
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
	n := &node{path: path, doc: doc}
	g.nodes = append(g.nodes, n)
	g.byValue[doc] = n
	for _, m := range doc.members {
		if err := g.keyword(n, m.name, m.value); err != nil {
			return nil, err
		}
	}
	n.weigh()
	return n, nil
}

// keyword reads one member of a schema.
func (g *graph) keyword(n *node, keyword string, v *value) error {
	if a, ok := applicators[keyword]; ok {
		return g.under(n, a, keyword, v)
	}
	switch {
	case keyword == "$ref":
		return g.refer(n, v)
	case keyword == "$dynamicRef", keyword == "$recursiveRef":
		return refuse(n.at(keyword), "it cannot be told where this points", "$ref")
	case keyword == "$schema":
		return g.sameDraft(n, v)
	case keyword == g.draft.id && len(n.path) > 0 && v.kind == text:
		return refuse(n.at(keyword), "a schema inside another has no address of its own", keyword+" at the root only")
	case keyword == "pattern" && v.kind == text:
		var err error
		n.instructions, err = g.pattern(n.at(keyword), v.string(), MaxPatternBytes)
		return err
	case counts[keyword] && v.kind == number:
		return count(n.at(keyword), v.raw)
	}
	return nil
}

// count refuses counts that the library would not count to.
func count(path []string, raw string) error {
	if f, err := strconv.ParseFloat(raw, 64); err != nil || f > MaxCount {
		return refuse(path, clip(raw)+" is too large", fmt.Sprintf("at most %d", MaxCount))
	}
	return nil
}

// under reads the schemas under a keyword. What does not have the shape of it is left to the library to refuse.
func (g *graph) under(n *node, a applicator, keyword string, v *value) error {
	switch {
	case a.shape == byName:
		return g.named(n, a, keyword, v)
	case v.kind == array && a.shape != one:
		for i, item := range v.items {
			if err := g.below(n, edge{applicator: a, keyword: keyword, name: strconv.Itoa(i)}, item); err != nil {
				return err
			}
		}
	case a.shape != list && !(v.kind == boolean && switches[keyword]):
		return g.below(n, edge{applicator: a, keyword: keyword}, v)
	}
	return nil
}

// named reads schemas that stand under names.
func (g *graph) named(n *node, a applicator, keyword string, v *value) error {
	for _, m := range v.members {
		if len(m.name) > MaxSchemaNameBytes {
			return refuse(n.at(keyword, m.name), fmt.Sprintf("the name has %d bytes", len(m.name)), fmt.Sprintf("at most %d", MaxSchemaNameBytes))
		}
		e := edge{applicator: a, keyword: keyword, name: m.name}
		if keyword == "patternProperties" {
			var err error
			if e.instructions, err = g.pattern(n.at(keyword, m.name), m.name, MaxSchemaNameBytes); err != nil {
				return err
			}
			e.pattern = regexp.MustCompile(m.name) // it has been read
		}
		if err := g.below(n, e, m.value); err != nil {
			return err
		}
	}
	return nil
}

// below reads one schema under a keyword.
func (g *graph) below(n *node, e edge, v *value) error {
	if v.kind != object && v.kind != boolean {
		return nil // as the list of a dependency
	}
	path := n.at(e.keyword)
	if e.name != "" || e.shape == byName {
		path = append(path, e.name)
	}
	to, err := g.node(v, path)
	if err != nil {
		return err
	}
	e.to = to
	n.add(e)
	return nil
}

// refer reads a reference, and puts it as the library writes it: so that the library knows each schema once.
func (g *graph) refer(n *node, v *value) error {
	path := n.at("$ref")
	if v.kind != text || len(v.raw) > MaxPatternBytes {
		return refuse(path, "it is no reference", fmt.Sprintf(`text as "#/definitions/name", of at most %d bytes`, MaxPatternBytes))
	}
	target, doc, ok := g.resolve(v.string())
	if !ok {
		return refuse(path, showName(v.string())+" is not within this schema", `"#", or "#/" and a path to a schema in this one`)
	}
	if doc.kind != object && doc.kind != boolean {
		return refuse(path, showName(v.string())+" is no schema", "a path to an object")
	}
	to, err := g.node(doc, target)
	if err != nil {
		return err
	}
	v.raw = quoted(pointer(target))
	n.ref, n.alone = to, g.draft.refAlone
	return nil
}

// resolve follows a reference from the root.
func (g *graph) resolve(ref string) (path []string, doc *value, ok bool) {
	doc = g.root
	if ref == "#" {
		return nil, doc, true
	}
	fragment, isPointer := strings.CutPrefix(ref, "#/")
	if !isPointer || fragment == "" { // the library takes "#/" for "#"
		return nil, nil, false
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, nil, false
	}
	for token := range strings.SplitSeq(fragment, "/") {
		token = unescapeTilde(token)
		path = append(path, token)
		if doc = doc.step(token); doc == nil {
			return nil, nil, false
		}
	}
	return path, doc, true
}

// step gives the member or the item that a token of a pointer names, or nil.
func (v *value) step(token string) *value {
	if v.kind != array {
		return v.get(token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(v.items) || strconv.Itoa(i) != token {
		return nil
	}
	return v.items[i]
}

// strip takes out what the library must not see.
func (g *graph) strip() {
	for _, n := range g.nodes {
		kept := slices.DeleteFunc(slices.Clone(n.doc.members), func(m member) bool {
			return unread[m.name] || m.name == g.draft.id
		})
		if len(kept) < len(n.doc.members) {
			n.doc.setMembers(kept)
		}
	}
}
