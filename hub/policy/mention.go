package policy

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// mayMention is a cheap look at an encoded message: false when it has no @ anywhere.
func mayMention(payload []byte) bool {
	return bytes.IndexByte(payload, '@') >= 0 || bytes.Contains(payload, []byte(`\u0040`))
}

// mentions finds the participants that a text names as @id, in the order of the first mention, each once, the author left out. An id is taken as long as
// it goes, but for full stops at its end; letters and digits around it, or another @, make it something else, such as an e-mail address.
func mentions(text string, seats []parley.Participant, from string) []string {
	var found []string
	for rest, before := text, rune(' '); ; {
		at := strings.IndexByte(rest, '@')
		if at < 0 {
			return found
		}
		if at > 0 {
			before, _ = utf8.DecodeLastRuneInString(rest[:at])
		}
		rest = rest[at+1:]
		run := idPrefix(rest)
		after, _ := utf8.DecodeRuneInString(rest[len(run):])
		if !partOfWord(before) && !partOfWord(after) && after != '@' {
			if id := longest(run, seats); id != "" && id != from && !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
		rest = rest[len(run):]
		before = '@'
		if run != "" {
			before = rune(run[len(run)-1])
		}
	}
}

// idPrefix gives the characters of ids with which s begins.
func idPrefix(s string) string {
	for i := range len(s) {
		if !idByte(s[i]) {
			return s[:i]
		}
	}
	return s
}

func idByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// partOfWord reports whether r goes on with a word, so that what stands beside it is not whole.
func partOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// longest finds the participant that run names, with as few full stops at the end taken off as need be.
func longest(run string, seats []parley.Participant) string {
	for run != "" {
		if seat(seats, run) >= 0 {
			return run
		}
		if run[len(run)-1] != '.' {
			return ""
		}
		run = run[:len(run)-1]
	}
	return ""
}
