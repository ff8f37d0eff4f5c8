package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is a type of values.
type kind string

// The kinds, by their names in JSON Schema; a value of anything is any JSON.
const (
	text     kind = "string"
	integer  kind = "integer"
	object   kind = "object"
	list     kind = "array"
	anything kind = ""
)

// shape says which values there are. What it says stands in the JSON Schema too, but for bounds in bytes, which a Schema cannot tell.
type shape struct {
	kind kind
	doc  string
	// choices, pattern with what it expects, and plain, which refuses control characters, are for texts.
	choices  []string
	pattern  *regexp.Regexp
	expected string
	plain    bool
	// least and most bound an integer, the items of a list, the bytes of a text, and of anything or of an object that is open. A least of a text is 1.
	least, most int64
	// members are those of an object; open is an object with any members.
	members []member
	open    bool
	item    *shape
}

// member is a member of an object.
type member struct {
	name     string
	required bool
	shape    *shape
}

func (s *shape) member(name string) *shape {
	for _, m := range s.members {
		if m.name == name {
			return m.shape
		}
	}
	return nil
}

func (s *shape) names() []string {
	names := make([]string, len(s.members))
	for i, m := range s.members {
		names[i] = m.name
	}
	return names
}

// such names a member of the object that a reader may have forgotten.
func (s *shape) such() string {
	for _, m := range s.members {
		if m.required {
			return m.name
		}
	}
	return s.members[0].name
}

// text says what is wrong with a text, or nothing.
func (s *shape) text(t string) string {
	switch {
	case len(s.choices) > 0 && !slices.Contains(s.choices, t):
		return "expected one of " + strings.Join(s.choices, ", ")
	case s.pattern != nil && !s.pattern.MatchString(t):
		return "expected " + s.expected
	case len(s.choices) == 0 && s.pattern == nil && (t == "" || int64(len(t)) > s.most):
		return fmt.Sprintf("expected 1 to %d bytes", s.most)
	case s.plain && strings.ContainsFunc(t, unreadable):
		return "expected text without control characters"
	}
	return ""
}

// unreadable tells of characters that a hub does not take in names.
func unreadable(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }

// jsonNumber is how numbers are written: as in JSON, so that no two readers read one differently.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// integer says what is wrong with an integer, or nothing.
func (s *shape) integer(t string) string {
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || !jsonNumber.MatchString(t) || n < s.least || n > s.most {
		return fmt.Sprintf("expected an integer from %d to %d", s.least, s.most)
	}
	return ""
}
