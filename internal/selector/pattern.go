package selector

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits of the patterns of match and search: bytes and program size of each, and bytes of all
// patterns together.
const (
	maxPatternBytes     = 256
	maxPatternSize      = 1000
	maxAllPatternsBytes = 2 << 10
)

// patterns compiles the patterns of one set of triggers.
type patterns struct{ bytes int }

// compile compiles a pattern of RFC 9485, in which a dot matches any character except line ends. It
// returns the size of its program.
func (p *patterns) compile(s string, whole bool) (*regexp.Regexp, int, error) {
	p.bytes += len(s)
	if len(s) > maxPatternBytes || p.bytes > maxAllPatternsBytes {
		return nil, 0, fmt.Errorf("patterns have at most %d bytes, and together %d", maxPatternBytes, maxAllPatternsBytes)
	}
	if flags(s) {
		return nil, 0, fmt.Errorf("pattern %s has (?, which RFC 9485 does not know", show(s))
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	if sizeOf(tree) > maxPatternSize {
		return nil, 0, fmt.Errorf("pattern %s is too large", show(s))
	}
	noCarriageReturn(tree)
	s = tree.String()
	if whole {
		s = `\A(?:` + s + `)\z`
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, 0, err
	}
	return re, sizeOf(tree), nil
}

// flags reports whether a pattern has a group that begins with a question mark. Such a group could
// fold the case of classes, which takes long.
func flags(s string) bool {
	class := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[':
			class = true
		case s[i] == ']':
			class = false
		case !class && strings.HasPrefix(s[i:], "(?"):
			return true
		}
	}
	return false
}

// sizeOf returns about the number of instructions of a pattern, or maxPatternSize+1 if there are
// more.
func sizeOf(t *syntax.Regexp) int {
	n := 1 + len(t.Rune)
	if t.Op == syntax.OpCharClass {
		n = 1
	}
	for _, sub := range t.Sub {
		n = min(n+sizeOf(sub), maxPatternSize+1)
	}
	if t.Op == syntax.OpRepeat {
		n *= max(t.Min, t.Max, 1)
	}
	return min(n, maxPatternSize+1)
}

var noLineEnd, _ = syntax.Parse(`[^\n\r]`, syntax.Perl)

// noCarriageReturn excludes carriage returns from dots.
func noCarriageReturn(t *syntax.Regexp) {
	if t.Op == syntax.OpAnyCharNotNL {
		*t = *noLineEnd
		return
	}
	for _, sub := range t.Sub {
		noCarriageReturn(sub)
	}
}
