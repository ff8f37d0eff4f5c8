package paramschema

import (
	"regexp"
	"strconv"
)

// node is one schema within a schema.
type node struct {
	path []string // of its tokens, from the root
	doc  *value
	// edges are the schemas under its keywords, in the order in which they are written.
	edges []edge
	ref   *node
	// alone says that $ref, which is there, makes all else meaningless.
	alone bool
	// byKey finds the schema under a keyword, or a keyword and what follows, as the library writes it.
	byKey map[string]*node

	properties map[string]edge
	patterns   []edge
	// fallback is the default that it has, or what it refers to; nil when there is none.
	fallback *value
	searched bool
	weight
	seen int // the last search that came by
}

// edge leads to a schema under a keyword.
type edge struct {
	applicator
	keyword string
	name    string // of the member or index under it; empty when there is none
	// key is how the library writes the way: properties/url.
	key string
	to  *node
	// pattern is set under patternProperties, and has so many instructions.
	pattern      *regexp.Regexp
	instructions int
}

// add has a schema stand under a keyword.
func (n *node) add(e edge) {
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

// applied calls f with each schema that is held against a value together with n, the one that $ref refers to first, until f returns false.
func (n *node) applied(f func(edge) bool) {
	if n.ref != nil && !f(edge{applicator: applicator{one, here, true}, keyword: "$ref", key: "$ref", to: n.ref}) {
		return
	}
	if n.alone {
		return
	}
	for _, e := range n.edges {
		if e.reach != nowhere && !f(e) {
			return
		}
	}
}

// at gives the path to a keyword of n.
func (n *node) at(more ...string) []string {
	return append(n.path[:len(n.path):len(n.path)], more...)
}

// same gives n and all schemas that hold for a value whenever n does: through $ref and allOf, each in its place.
func (n *node) same(all []*node) []*node {
	all = append(all, n)
	if n.ref != nil {
		all = n.ref.same(all)
	}
	if n.alone {
		return all
	}
	for _, e := range n.edges {
		if e.keyword == "allOf" {
			all = e.to.same(all)
		}
	}
	return all
}

// findFallback finds the default that n has, or else what it refers to. It needs that no schema is inside itself.
func (n *node) findFallback() *value {
	if n.searched {
		return n.fallback
	}
	n.searched = true
	n.fallback = n.doc.get("default")
	if n.fallback == nil && n.ref != nil {
		n.fallback = n.ref.findFallback()
	}
	for i := 0; i < len(n.edges) && n.fallback == nil && !n.alone; i++ {
		if n.edges[i].keyword == "allOf" {
			n.fallback = n.edges[i].to.findFallback()
		}
	}
	return n.fallback
}

// ofMember gives the schemas that n has for a member, beside those that $ref and allOf bring.
func (n *node) ofMember(name string, all []*node) []*node {
	if n.alone {
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

// ofItem gives the schemas that n has for an item, beside those that $ref and allOf bring.
func (n *node) ofItem(i int, all []*node) []*node {
	if n.alone {
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
