package paramschema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// pattern reads a pattern of a schema, and gives its instructions, if it is small enough. The longest that is taken is given.
func (g *graph) pattern(path []string, expression string, longest int) (int, error) {
	if len(expression) > longest {
		return 0, refuse(path, fmt.Sprintf("the pattern has %d bytes", len(expression)), fmt.Sprintf("at most %d", longest))
	}
	n, err := instructions(expression)
	if err != nil {
		return 0, refuse(path, showName(expression)+" is no pattern: "+reason(err), "a regular expression of RE2: no look-ahead, no back-reference")
	}
	g.instructions += n
	switch {
	case n > MaxInstructions:
		return 0, refuse(path, "the pattern is too large",
			fmt.Sprintf("at most %d instructions of RE2, where x{1,9} counts as nine x, and \\p{..} as %d", MaxInstructions, unicodeHeft))
	case g.instructions > MaxAllInstructions:
		return 0, refuse(path, "the patterns up to here are too large together", fmt.Sprintf("at most %d instructions of RE2", MaxAllInstructions))
	}
	return n, nil
}

// reason says what is wrong with a pattern, without the pattern.
func reason(err error) string {
	if e, ok := err.(*syntax.Error); ok {
		return e.Code.String()
	}
	return "it cannot be compiled"
}

// instructions counts those of a pattern. Beyond MaxInstructions the count is not exact: a repetition is not written out to be counted.
func instructions(expression string) (int, error) {
	h := heft(expression)
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

// What the parts of a pattern count that take long to read, though they become one instruction.
const (
	unicodeHeft = 32
	foldedHeft  = 128                 // a class of Unicode, both cases of each letter
	rangeHeft   = MaxInstructions + 1 // a range beyond ASCII, both cases of each letter: each is looked up
)

var (
	unicodeClass = regexp.MustCompile(`\\[pP]`)
	folding      = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	wideRange    = regexp.MustCompile(`-(\\[^-\]]|[^\x00-\x7f])`)
)

// heft counts those parts, by how they are written.
func heft(expression string) int {
	classes := len(unicodeClass.FindAllStringIndex(expression, -1))
	if !folding.MatchString(expression) {
		return classes * unicodeHeft
	}
	return classes*foldedHeft + len(wideRange.FindAllStringIndex(expression, -1))*rangeHeft
}

// estimate is about how many instructions a pattern has when its repetitions are written out; never much less, and at most a little over MaxInstructions.
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

// formats stand for those of the library that take too long over a value that is made for it, or too much memory.
var formats = map[string]func(any) bool{
	"regex": func(v any) bool {
		s, ok := v.(string)
		if !ok {
			return true
		}
		if len(s) > maxRegexBytes || heft(s) > maxRegexHeft {
			return false
		}
		_, err := syntax.Parse(s, syntax.Perl) // it is not to be run
		return err == nil
	},
	"duration": short("duration"),
	"period":   short("period"),
}

// maxRegexBytes and maxRegexHeft bound values of the format regex, and maxTimeBytes durations and periods of time.
const (
	maxRegexBytes = 1 << 10
	maxRegexHeft  = MaxInstructions
	maxTimeBytes  = 256
)

// short is a format of the library for short texts.
func short(format string) func(any) bool {
	holds := jsonschema.Formats[format]
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || len(s) <= maxTimeBytes && holds(v)
	}
}
