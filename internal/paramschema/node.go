package paramschema

import (
	"regexp"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// node is one schema within a schema.
type node struct {
	path []string // tokens from the root
	doc  *value
	// edges are the schemas under its keywords, in the order of the text.
	edges []edge
	ref   *node
	// refOnly means that a $ref disables the other keywords.
	refOnly bool
	// byKey has the schema for a keyword, or for a keyword and a name, as the library spells it.
	byKey map[string]*node

	properties map[string]edge
	patterns   []edge
	// fallback is its default, or that of its reference; nil if none exists or if it does not match.
	fallback         *value
	searched, judged bool
	weight
	library *jsonschema.Schema // of the root, and of schemas with defaults
	seen    int                // number of the last search that visited the node
	// nullAccepted is true if null matches the schema. It is set if nullKnown is true.
	nullAccepted, nullKnown bool
}

// edge leads to a schema under a keyword.
type edge struct {
	applicator
	keyword string
	name    string // name of the member or index under it, or ""
	// key is the path in the form of the library: properties/url.
	key string
	to  *node
	// pattern is set under patternProperties, with its number of instructions.
	pattern      *regexp.Regexp
	instructions int
}

// addEdge adds a schema under a keyword.
func (n *node) addEdge(e edge) {
	if n.byKey == nil {
		n.byKey, n.properties = map[string]*node{}, map[string]edge{}
	}
	e.key = e.keyword
	if e.name != "" || e.shape == byName {
		e.key += "/" + escape(e.name)
	}
	n.edges = append(n.edges, e)
	n.byKey[e.key] = e.to
	switch e.keyword {
	case "properties":
		n.properties[e.name] = e
	case "patternProperties":
		n.patterns = append(n.patterns, e)
	}
}

// applied calls f with each schema that applies to a value together with n, the target of $ref
// first, until f returns false.
func (n *node) applied(f func(edge) bool) {
	if n.ref != nil && !f(edge{applicator: applicator{one, here, true}, keyword: "$ref", key: "$ref", to: n.ref}) {
		return
	}
	if n.refOnly {
		return
	}
	for _, e := range n.edges {
		if e.reach != nowhere && !f(e) {
			return
		}
	}
}

// pathTo returns the path to a keyword of n.
func (n *node) pathTo(more ...string) []string {
	return append(n.path[:len(n.path):len(n.path)], more...)
}

// withApplied appends n and all schemas that apply to a value whenever n does, through $ref and
// allOf, each at its place.
func (n *node) withApplied(all []*node) []*node {
	all = append(all, n)
	if n.ref != nil {
		all = n.ref.withApplied(all)
	}
	if n.refOnly {
		return all
	}
	for _, e := range n.edges {
		if e.keyword == "allOf" {
			all = e.to.withApplied(all)
		}
	}
	return all
}

// findFallback sets the fallback, before any default is judged. No schema may contain itself.
func (n *node) findFallback() *value {
	if !n.searched {
		n.searched = true
		n.fallback = n.findDefault((*node).findFallback)
	}
	return n.fallback
}

// findDefault returns the default of n, otherwise the first of its reference and of allOf, by below.
func (n *node) findDefault(below func(*node) *value) *value {
	found := n.doc.get("default")
	if found == nil && n.ref != nil {
		found = below(n.ref)
	}
	for i := 0; i < len(n.edges) && found == nil && !n.refOnly; i++ {
		if n.edges[i].keyword == "allOf" {
			found = below(n.edges[i].to)
		}
	}
	return found
}

// ofMember appends the schemas of n for a member, without those of $ref and allOf.
func (n *node) ofMember(name string, all []*node) []*node {
	if n.refOnly {
		return all
	}
	before := len(all)
	if e, ok := n.properties[name]; ok {
		all = append(all, e.to)
	}
	for _, e := range n.patterns {
		if e.pattern.MatchString(name) {
			all = append(all, e.to)
		}
	}
	if rest := n.byKey["additionalProperties"]; rest != nil && len(all) == before {
		all = append(all, rest)
	}
	return all
}

// ofItem appends the schemas of n for an item, without those of $ref and allOf.
func (n *node) ofItem(i int, all []*node) []*node {
	if n.refOnly {
		return all
	}
	index := strconv.Itoa(i)
	for _, key := range [...]string{"prefixItems/" + index, "items/" + index, "items", "additionalItems"} {
		if to := n.byKey[key]; to != nil {
			return append(all, to)
		}
	}
	return all
}
