package paramschema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// pattern parses a pattern of a schema and returns its instructions. why is not empty if the pattern
// cannot be used: package regexp refuses it, or it exceeds the limits or longest bytes.
func (g *graph) pattern(expression string, longest int) (n int, why string) {
	if len(expression) > longest {
		return 0, fmt.Sprintf("it has more than %d bytes", longest)
	}
	n, err := instructions(expression)
	switch {
	case err != nil:
		return 0, "RE2 refuses it: " + reason(err)
	case n > MaxInstructions:
		return 0, fmt.Sprintf("it has more than %d instructions of RE2", MaxInstructions)
	case g.instructions+n > MaxAllInstructions:
		return 0, fmt.Sprintf("the patterns of the schema have more than %d instructions of RE2", MaxAllInstructions)
	}
	g.instructions += n
	return n, ""
}

// reason returns the fault of a pattern, without the pattern.
func reason(err error) string {
	if e, ok := err.(*syntax.Error); ok {
		return e.Code.String()
	}
	return "it cannot be compiled"
}

// instructions counts the instructions of a pattern. Above MaxInstructions the count is an
// estimate, because repetitions are not written out.
func instructions(expression string) (int, error) {
	h := parseCost(expression)
	if h > MaxInstructions {
		return h, nil
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, err
	}
	if n := h + estimate(parsed); n > MaxInstructions {
		return n, nil
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return h + len(compiled.Inst), nil
}

// The cost of parts of a pattern that are slow to parse although they become one instruction.
const (
	unicodeHeft = 32
	foldedCost  = 128                 // a Unicode class with both cases of each letter
	rangeCost   = MaxInstructions + 1 // a range beyond ASCII with both cases: each letter is looked up
)

var (
	unicodeClass = regexp.MustCompile(`\\[pP]`)
	folding      = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	wideRange    = regexp.MustCompile(`-(\\[^-\]]|[^\x00-\x7f])`)
)

// parseCost adds up the cost of those parts, by their text.
func parseCost(expression string) int {
	classes := len(unicodeClass.FindAllStringIndex(expression, -1))
	if !folding.MatchString(expression) {
		return classes * unicodeHeft
	}
	return classes*foldedCost + len(wideRange.FindAllStringIndex(expression, -1))*rangeCost
}

// estimate returns about the number of instructions of a pattern with its repetitions written out.
// It is never much too low, and at most a little over MaxInstructions.
func estimate(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n = min(n+estimate(sub), MaxInstructions)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune) - 1
	case syntax.OpRepeat:
		n *= max(re.Min, re.Max, 1)
	}
	return min(n+1, MaxInstructions+1)
}

// formats replace those of the library that take too long or too much memory for malicious values.
var formats = map[string]func(any) bool{
	"regex": func(v any) bool {
		s, ok := v.(string)
		if !ok {
			return true
		}
		if len(s) > maxRegexBytes || parseCost(s) > maxRegexCost {
			return false
		}
		_, err := syntax.Parse(s, syntax.Perl) // only the syntax matters
		return err == nil
	},
	"duration": short("duration"),
	"period":   short("period"),
}

// maxRegexBytes and maxRegexCost limit values of the format regex, and maxTimeBytes those of
// durations and periods.
const (
	maxRegexBytes = 1 << 10
	maxRegexCost  = MaxInstructions
	maxTimeBytes  = 256
)

// short limits a format of the library to short texts.
func short(format string) func(any) bool {
	holds := jsonschema.Formats[format]
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || len(s) <= maxTimeBytes && holds(v)
	}
}
