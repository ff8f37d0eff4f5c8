package policy

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// mayMention reports whether an encoded message has an @. It is a cheap test before decoding.
func mayMention(payload []byte) bool {
	return bytes.IndexByte(payload, '@') >= 0 || bytes.Contains(payload, []byte(`\u0040`))
}

// mentions returns the participants, except the author, that a text names as @id, each once and in the order of their
// first mentions. An id is as long as possible, without full stops at its end. A letter, a digit or another @ beside
// it makes it something else, such as an e-mail address.
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

// idPrefix returns the characters at the beginning of s that may be part of an id.
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

// partOfWord reports whether r continues a word, so that the text beside it is not a whole id.
func partOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// longest returns the participant that run names, after removing as few full stops from its end as necessary.
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
