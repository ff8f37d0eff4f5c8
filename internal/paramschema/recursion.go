package paramschema

const expectedRecursion = "recursion through properties, items, prefixItems, additionalItems or additionalProperties " +
	"only"

// checkRecursion refuses recursion other than one level of a value at a time.
func (g *graph) checkRecursion() error {
	for _, n := range g.nodes {
		if err := g.recursionOf(n); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) recursionOf(n *node) error {
	if n.loops(len(g.nodes)) {
		return refuse(n.pathTo("$ref"), "it refers to itself without end", "a schema")
	}
	refRecurs := n.ref != nil && g.reaches(n.ref, n)
	var err error
	n.applied(func(e edge) bool {
		switch {
		case e.keyword == "$ref":
		case !e.recurs && g.reaches(e.to, n):
			err = refuse(e.to.path, "the schema contains itself through "+e.keyword, expectedRecursion)
		case refRecurs && g.reaches(e.to, n):
			err = refuse(n.pathTo("$ref"), "the schema contains itself through $ref and through "+e.keyword+" beside it",
				"one of the two")
		}
		return err == nil
	})
	return err
}

// loops reports whether references alone lead from n to n.
func (n *node) loops(nodes int) bool {
	at := n
	for range nodes {
		if at = at.ref; at == nil {
			return false
		}
		if at == n {
			return true
		}
	}
	return false
}

// reaches reports whether target applies to a value, or a part of it, together with n.
func (g *graph) reaches(n, target *node) bool {
	g.searches++
	n.seen = g.searches
	for next := []*node{n}; len(next) > 0; {
		last := next[len(next)-1]
		if last == target {
			return true
		}
		next = next[:len(next)-1]
		last.applied(func(e edge) bool {
			if e.to.seen < g.searches {
				e.to.seen = g.searches
				next = append(next, e.to)
			}
			return true
		})
	}
	return false
}
