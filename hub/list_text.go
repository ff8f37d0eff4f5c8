package hub

import (
	"strings"
	"unicode"
)

// foldCase gives a text in which letters are alike that differ by case alone, as Unicode's simple case folding has it.
func foldCase(s string) string { return strings.Map(foldRune, s) }

// foldRune gives the least of the runes that are the same letter.
func foldRune(r rune) rune {
	if r < unicode.MaxASCII {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
