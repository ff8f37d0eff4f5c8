package paramschema

import "fmt"

// weight is the cost of one schema without its subschemas.
type weight struct {
	// types has one bit for each allowed kind; 0 allows all.
	types byte
	// instructions is the number of instructions of pattern.
	instructions int
	// parts is its part of MaxExpanded.
	parts int
	// fixed is in steps, for any value. compared is added for numbers, arrays and objects, and
	// reckoned for numbers.
	fixed, compared, reckoned int
	// read is in steps for each 16 bytes of a string.
	read int
	// unique, closed and regex mean that uniqueItems, additionalProperties false and format regex are
	// present.
	unique, closed, regex bool

	// expanded is parts, plus those of all schemas that apply to a value with it; 0 if unknown.
	expanded  int
	expanding bool
	// chain is the number of schemas that apply to the same part of a value; 0 if unknown.
	chain int
}

// kindOf is the kind for a value of type. An integer is a number, and checking it costs little.
var kindOf = map[string]kind{
	"null": null, "boolean": boolean, "number": number, "integer": number, "string": text, "array": array,
	"object": object,
}

// Steps, measured on the library: TestValidateEnds validates values that cost just less
// than the limit.
const (
	schemaSteps      = 20 // to check one value against one schema, and to report a violation
	memberSteps      = 6  // for each member of an object and each schema
	itemSteps        = 2  // for each item of an array and each schema
	parseNumberSteps = 16 // to parse or compare a number
	largeTimes       = 10 // factor for a number with many digits
	nameSteps        = 8  // to report a missing or undeclared name
	readSteps        = 8  // to read 16 bytes of a string
	costlySteps      = 50 // to parse an expensive part of a pattern
	wayBytes         = 16
	manyWayBytes     = 2 << 10
	placeBytes       = 8
	readBytes        = 64
	messageBytes     = 6
)

// matchSteps returns the steps to match a string with a pattern.
func matchSteps(instructions, bytes int) int { return instructions * 3 * (bytes/16 + 1) }

// measure computes the cost of a schema.
func (n *node) measure() {
	n.parts = 1
	if n.refOnly { // type is disabled beside $ref
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
		n.reckoned += parseNumberSteps
	case "enum", "const":
		n.parts += v.nodes - 1
		n.fixed += v.nodes + v.size/messageBytes
		n.compared += v.numberSteps()
		if keyword == "const" { // the library encodes it for each error
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
		n.reckoned += parseNumberSteps + v.numberSteps()
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

// typesOf parses type.
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

// numberSteps returns the steps to parse all numbers in a value.
func (v *value) numberSteps() int {
	n := 0
	if v.kind == number {
		n = parseNumberSteps
		if v.large {
			n *= largeTimes
		}
	}
	for _, item := range v.items {
		n += item.numberSteps()
	}
	for _, m := range v.members {
		n += m.value.numberSteps()
	}
	return n
}

// ownSteps returns the steps to check a value against a schema without its subschemas.
func (w *weight) ownSteps(v *value) int {
	switch v.kind {
	case text:
		steps := w.fixed + w.read*(v.size/16+1)
		if w.regex && v.size <= 2*maxRegexBytes {
			steps += v.size + parseCost(v.raw)*costlySteps
		}
		return steps
	case number:
		if v.large {
			return w.fixed + (w.compared+w.reckoned)*largeTimes
		}
		return w.fixed + w.compared + w.reckoned
	case array:
		return w.fixed + w.compared + w.uniqueSteps(v)
	case object:
		if w.closed {
			return w.fixed + w.compared + len(v.members)*nameSteps + v.size/messageBytes
		}
	}
	return w.fixed + w.compared
}

// uniqueSteps returns the steps to check that the items of an array are unique. The library
// compares each pair of few items. For many items, it compares those with the same hash, and
// malicious arrays or objects can all have the same.
func (w *weight) uniqueSteps(v *value) int {
	n := len(v.items)
	if !w.unique || n < 2 {
		return 0
	}
	steps := v.nodes*itemSteps + v.numberSteps()
	switch {
	case n <= 20:
		return steps * n
	case v.nodes > n+1:
		return steps + n*n
	}
	return steps
}

// expand returns the size of a schema with each reference written out, and recursion once. Sizes
// over MaxExpanded are not exact.
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

// chainLength returns the number of nested schemas that apply to one part of a value. No schema may
// contain itself.
func (n *node) chainLength() int {
	if n.chain > 0 {
		return n.chain
	}
	most := 0
	n.applied(func(e edge) bool {
		if e.reach == here {
			most = max(most, e.to.chainLength())
		}
		return true
	})
	n.chain = most + 1
	return n.chain
}

// checkCost refuses a schema that is too expensive for any value.
func (g *graph) checkCost() error {
	for _, n := range g.nodes {
		if n.expand() > MaxExpanded {
			return refuse(n.path, "it is too large when its references are written out",
				fmt.Sprintf("at most %d schemas, values of enum and required names", MaxExpanded))
		}
		if n.chainLength() > MaxChain {
			return refuse(n.path, "too many schemas are inside each other for the same value", fmt.Sprintf("at most %d",
				MaxChain))
		}
	}
	return nil
}
