package selector

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds of the patterns of match and search: of each in bytes and of the program that it becomes, and of all of subscriptions together in bytes.
const (
	maxPatternBytes     = 256
	maxPatternSize      = 1000
	maxAllPatternsBytes = 2 << 10
)

// patterns compiles those of one set of subscriptions.
type patterns struct{ bytes int }

// compile makes a pattern of RFC 9485 ready, in which a dot is any character but an end of line. It gives the size of its program.
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

// flags reports whether a pattern has a group that begins with a question mark: such could fold the case of classes, which takes long.
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

// sizeOf is about how many instructions a pattern becomes; maxPatternSize+1 for more than that.
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

// noCarriageReturn has a dot be no carriage return either.
func noCarriageReturn(t *syntax.Regexp) {
	if t.Op == syntax.OpAnyCharNotNL {
		*t = *noLineEnd
		return
	}
	for _, sub := range t.Sub {
		noCarriageReturn(sub)
	}
}
