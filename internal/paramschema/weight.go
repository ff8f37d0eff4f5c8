package paramschema

import "fmt"

// weight is what one schema, without those under its keywords, costs.
type weight struct {
	// types has the bit of each kind that type allows; 0 allows all.
	types byte
	// instructions are those of pattern.
	instructions int
	// parts is what it counts of MaxExpanded.
	parts int
	// fixed is in steps, for any value. compared is added for a number, an array or an object, and reckoned for a number.
	fixed, compared, reckoned int
	// read is in steps for each sixteen bytes of a text.
	read int
	// unique, closed and regex say that uniqueItems, additionalProperties false and format regex are there.
	unique, closed, regex bool

	// expanded is parts, and those of all that is held against a value with it; 0 until it is known.
	expanded  int
	expanding bool
	// chain is how many schemas are held against the same part of a value; 0 until it is known.
	chain int
}

// kindOf is the kind that a word of type stands for. Each whole number is a number, and it costs a little to tell.
var kindOf = map[string]kind{
	"null": null, "boolean": boolean, "number": number, "integer": number, "string": text, "array": array, "object": object,
}

// Steps, as they were measured on the library: TestValidateComesToAnEnd holds values against it that cost just less than what is refused.
const (
	schemaSteps  = 20 // to hold one schema against one value, and to say that it does not fit
	memberSteps  = 6  // for each member of an object, and each schema
	itemSteps    = 2  // for each item of an array, and each schema
	reckonSteps  = 16 // to read a number, or to compare it
	largeTimes   = 10 // so many times more for one with many digits
	nameSteps    = 8  // to say that a name is missing, or not declared
	readSteps    = 8  // to read sixteen bytes of a text
	heftSteps    = 50 // to read a part of a pattern that takes long
	wayBytes     = 16
	manyWayBytes = 2 << 10
	placeBytes   = 8
	readBytes    = 64
	messageBytes = 6
)

// matchSteps is to match a text of some bytes with a pattern.
func matchSteps(instructions, bytes int) int { return instructions * 3 * (bytes/16 + 1) }

// weigh reckons what a schema costs.
func (n *node) weigh() {
	n.parts = 1
	if n.alone { // type beside it means nothing
		return
	}
	n.parts += n.instructions / 16
	n.read = matchSteps(n.instructions, 0)
	for _, e := range n.patterns {
		n.parts += e.instructions / 16
	}
	for _, m := range n.doc.members {
		n.weighKeyword(m.name, m.value)
	}
}

func (n *node) weighKeyword(keyword string, v *value) {
	switch keyword {
	case "type":
		n.types = typesOf(v)
		n.reckoned += reckonSteps
	case "enum", "const":
		n.parts += v.nodes - 1
		n.fixed += v.nodes + v.size/messageBytes
		n.compared += v.reckoning()
		if keyword == "const" { // the library writes it anew for each error
			n.fixed += v.size
		}
	case "required":
		n.parts += v.nodes - 1
		n.fixed += v.nodes*nameSteps + v.size/messageBytes
	case "properties", "dependentSchemas":
		n.fixed += len(v.members)
	case "dependencies", "dependentRequired":
		n.fixed += v.nodes*schemaSteps + v.size/messageBytes
	case "additionalProperties":
		n.closed = v.raw == "false"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		n.reckoned += reckonSteps + v.reckoning()
	case "uniqueItems":
		n.unique = v.raw == "true"
	case "pattern":
		n.fixed += v.size / messageBytes
	case "format":
		n.read += readSteps
		n.regex = v.string() == "regex"
	case "contentEncoding", "contentMediaType", "minLength", "maxLength":
		n.read += readSteps
	}
}

// typesOf reads type.
func typesOf(v *value) byte {
	var types byte
	for _, t := range v.items {
		types |= typesOf(t)
	}
	if k, ok := kindOf[v.string()]; ok {
		types |= 1 << k
	}
	return types
}

// reckoning gives the steps to read all numbers that a value is made of.
func (v *value) reckoning() int {
	n := 0
	if v.kind == number {
		n = reckonSteps
		if v.large {
			n *= largeTimes
		}
	}
	for _, item := range v.items {
		n += item.reckoning()
	}
	for _, m := range v.members {
		n += m.value.reckoning()
	}
	return n
}

// own gives the steps to hold a schema against a value, without the schemas under its keywords.
func (w *weight) own(v *value) int {
	switch v.kind {
	case text:
		steps := w.fixed + w.read*(v.size/16+1)
		if w.regex && v.size <= 2*maxRegexBytes {
			steps += v.size + heft(v.raw)*heftSteps
		}
		return steps
	case number:
		if v.large {
			return w.fixed + (w.compared+w.reckoned)*largeTimes
		}
		return w.fixed + w.compared + w.reckoned
	case array:
		return w.fixed + w.compared + w.comparing(v)
	case object:
		if w.closed {
			return w.fixed + w.compared + len(v.members)*nameSteps + v.size/messageBytes
		}
	}
	return w.fixed + w.compared
}

// comparing gives the steps to tell whether the items of an array are unique. The library compares each two where there are few; where there are many, those
// with the same hash, and all can have it that are arrays or objects made for it.
func (w *weight) comparing(v *value) int {
	n := len(v.items)
	if !w.unique || n < 2 {
		return 0
	}
	steps := v.nodes*itemSteps + v.reckoning()
	switch {
	case n <= 20:
		return steps * n
	case v.nodes > n+1:
		return steps + n*n
	}
	return steps
}

// expand counts what a schema is made of when each reference is written out, recursion once; a little more than MaxExpanded stands for all that is more.
func (n *node) expand() int {
	if n.expanded > 0 || n.expanding {
		return n.expanded
	}
	n.expanding = true
	total := n.parts
	n.applied(func(e edge) bool {
		total = min(total+e.to.expand(), MaxExpanded+1)
		return true
	})
	n.expanding, n.expanded = false, total
	return total
}

// tallest counts the schemas, one inside the other, that are held against one part of a value. It needs that none is inside itself.
func (n *node) tallest() int {
	if n.chain > 0 {
		return n.chain
	}
	most := 0
	n.applied(func(e edge) bool {
		if e.reach == here {
			most = max(most, e.to.tallest())
		}
		return true
	})
	n.chain = most + 1
	return n.chain
}

// bounded refuses a schema that would cost too much whatever the value.
func (g *graph) bounded() error {
	for _, n := range g.nodes {
		if n.expand() > MaxExpanded {
			return refuse(n.path, "it is too large when its references are written out",
				fmt.Sprintf("at most %d schemas, values of enum and required names", MaxExpanded))
		}
		if n.tallest() > MaxChain {
			return refuse(n.path, "too many schemas are inside each other for the same value", fmt.Sprintf("at most %d", MaxChain))
		}
	}
	return nil
}
