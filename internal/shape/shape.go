// Package shape reads files that people write in YAML or JSON according to one table of valid
// values.
//
// The table determines what a [Reader] accepts, its findings for everything else, and the JSON
// Schema for editors. Accepted values are returned as JSON. Numbers keep their text, and no value
// is converted to another type.
package shape

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley/internal/limits"
)

// Kind is a type of values.
type Kind string

// The kinds, with their names in JSON Schema. A value of Anything is any JSON.
const (
	Text     Kind = "string"
	Integer  Kind = "integer"
	Boolean  Kind = "boolean"
	Object   Kind = "object"
	List     Kind = "array"
	Anything Kind = ""
)

// Shape describes valid values. Its JSON Schema has the same rules, except limits in bytes, which a
// schema cannot express.
type Shape struct {
	Kind Kind
	Doc  string
	// Choices, Pattern with Expected, and Plain, which refuses control characters, are for strings.
	Choices  []string
	Pattern  *regexp.Regexp
	Expected string
	Plain    bool
	// Least and Most limit an integer, the items of a list, the members of an object with Item, and
	// the bytes of a string, of Anything and of an Open object. Least of a string is 1, unless Empty
	// is set.
	Least, Most int64
	Empty       bool
	// Members are those of an object. An Open object may have any members.
	Members []Member
	Open    bool
	// Item is the shape of the items of a list, or of the members of an object with any names.
	Item *Shape
}

// Member is a member of an object.
type Member struct {
	Name     string
	Required bool
	Shape    *Shape
}

// Must returns a required member.
func Must(name string, s *Shape) Member { return Member{Name: name, Required: true, Shape: s} }

// May returns an optional member.
func May(name string, s *Shape) Member { return Member{Name: name, Shape: s} }

func (s *Shape) member(name string) *Shape {
	for _, m := range s.Members {
		if m.Name == name {
			return m.Shape
		}
	}
	return nil
}

func (s *Shape) names() []string {
	names := make([]string, len(s.Members))
	for i, m := range s.Members {
		names[i] = m.Name
	}
	return names
}

// such returns the end of a message with an example of a member.
func (s *Shape) such() string {
	for _, m := range s.Members {
		if m.Required {
			return m.Name
		}
	}
	return s.Members[0].Name
}

// text returns the fault of a string, or "".
func (s *Shape) text(t string) string {
	switch {
	case len(s.Choices) > 0 && !slices.Contains(s.Choices, t):
		return "expected one of " + strings.Join(s.Choices, ", ")
	case s.Pattern != nil && !s.Pattern.MatchString(t):
		return "expected " + s.Expected
	case len(s.Choices) == 0 && s.Pattern == nil && (t == "" && !s.Empty || int64(len(t)) > s.Most):
		return fmt.Sprintf("expected %d to %d bytes", s.leastText(), s.Most)
	case s.Plain && strings.ContainsFunc(t, unreadable):
		return "expected text without control characters"
	}
	return ""
}

func (s *Shape) leastText() int {
	if s.Empty {
		return 0
	}
	return 1
}

// unreadable reports whether the hub refuses a character in names.
func unreadable(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }

// jsonNumber matches numbers as in JSON, so that all readers agree on their value.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// integer returns the fault of an integer, or "".
func (s *Shape) integer(t string) string {
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || !jsonNumber.MatchString(t) || n < s.Least || n > s.Most {
		return fmt.Sprintf("expected an integer from %d to %d", s.Least, s.Most)
	}
	return ""
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ID is the id of a participant.
func ID(doc string) *Shape {
	return &Shape{Kind: Text, Doc: doc, Pattern: idPattern,
		Expected: "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit"}
}

// Line is a string on one line, of at most the given bytes.
func Line(doc string, most int64) *Shape {
	return &Shape{Kind: Text, Doc: doc, Most: most, Plain: true}
}

// Prose is a string of at most the given bytes.
func Prose(doc string, most int64) *Shape { return &Shape{Kind: Text, Doc: doc, Most: most} }

// Number is an integer.
func Number(doc string, least, most int64) *Shape {
	return &Shape{Kind: Integer, Doc: doc, Least: least, Most: most}
}

// Switch is true or false.
func Switch(doc string) *Shape { return &Shape{Kind: Boolean, Doc: doc} }

// Among is one of the given strings.
func Among[S ~string](doc string, choices ...S) *Shape {
	s := &Shape{Kind: Text, Doc: doc}
	for _, c := range choices {
		s.Choices = append(s.Choices, string(c))
	}
	return s
}

// ListOf is a list with a limited number of items.
func ListOf(doc string, least, most int64, item *Shape) *Shape {
	return &Shape{Kind: List, Doc: doc, Least: least, Most: most, Item: item}
}

// MapOf is an object with any names, and a limited number of members.
func MapOf(doc string, most int64, item *Shape) *Shape {
	return &Shape{Kind: Object, Doc: doc, Most: most, Item: item}
}

// Any is any JSON of at most the given bytes.
func Any(doc string, most int64) *Shape { return &Shape{Kind: Anything, Doc: doc, Most: most} }

// Open is an object with any members, of at most the given bytes.
func Open(doc string, most int64) *Shape {
	return &Shape{Kind: Object, Doc: doc, Open: true, Most: most}
}

// maxDepth limits the nesting of any JSON. It is below that of a frame, which contains the value.
const maxDepth = limits.MaxDepth - 8
