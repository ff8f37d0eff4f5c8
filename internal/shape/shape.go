// Package shape reads files that people write, in YAML or JSON, against one table of what may stand in them.
//
// From the table come what a [Reader] takes, what it says of everything else, each fault with its place, and the JSON Schema for editors. What is taken is
// given as JSON: numbers keep their text, and nothing is taken for what it is not.
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

// The kinds, by their names in JSON Schema; a value of Anything is any JSON.
const (
	Text     Kind = "string"
	Integer  Kind = "integer"
	Boolean  Kind = "boolean"
	Object   Kind = "object"
	List     Kind = "array"
	Anything Kind = ""
)

// Shape says which values there are. What it says stands in the JSON Schema too, but for bounds in bytes, which a Schema cannot tell.
type Shape struct {
	Kind Kind
	Doc  string
	// Choices, Pattern with what it Expected, and Plain, which refuses control characters, are for texts.
	Choices  []string
	Pattern  *regexp.Regexp
	Expected string
	Plain    bool
	// Least and Most bound an integer, the items of a list, the members of an object with Item, the bytes of a text, and of anything or of an object that
	// is Open. Least of a text is 1, unless Empty.
	Least, Most int64
	Empty       bool
	// Members are those of an object; Open is an object with any members.
	Members []Member
	Open    bool
	// Item is what is in a list, or in an object whose members may have any name.
	Item *Shape
}

// Member is a member of an object.
type Member struct {
	Name     string
	Required bool
	Shape    *Shape
}

// Must is a member that has to be there.
func Must(name string, s *Shape) Member { return Member{Name: name, Required: true, Shape: s} }

// May is a member that need not be there.
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

// such names a member of the object that a reader may have forgotten.
func (s *Shape) such() string {
	for _, m := range s.Members {
		if m.Required {
			return m.Name
		}
	}
	return s.Members[0].Name
}

// text says what is wrong with a text, or nothing.
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

// unreadable tells of characters that a hub does not take in names.
func unreadable(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }

// jsonNumber is how numbers are written: as in JSON, so that no two readers read one differently.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// integer says what is wrong with an integer, or nothing.
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
	return &Shape{Kind: Text, Doc: doc, Pattern: idPattern, Expected: "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit"}
}

// Line is a text on one line, of at most so many bytes.
func Line(doc string, most int64) *Shape {
	return &Shape{Kind: Text, Doc: doc, Most: most, Plain: true}
}

// Prose is a text of at most so many bytes.
func Prose(doc string, most int64) *Shape { return &Shape{Kind: Text, Doc: doc, Most: most} }

// Number is an integer.
func Number(doc string, least, most int64) *Shape {
	return &Shape{Kind: Integer, Doc: doc, Least: least, Most: most}
}

// Switch is true or false.
func Switch(doc string) *Shape { return &Shape{Kind: Boolean, Doc: doc} }

// Among is one of some texts.
func Among[S ~string](doc string, choices ...S) *Shape {
	s := &Shape{Kind: Text, Doc: doc}
	for _, c := range choices {
		s.Choices = append(s.Choices, string(c))
	}
	return s
}

// ListOf is a list of so many items.
func ListOf(doc string, least, most int64, item *Shape) *Shape {
	return &Shape{Kind: List, Doc: doc, Least: least, Most: most, Item: item}
}

// MapOf is an object of at most so many members with any names.
func MapOf(doc string, most int64, item *Shape) *Shape {
	return &Shape{Kind: Object, Doc: doc, Most: most, Item: item}
}

// Any is any JSON, of at most so many bytes.
func Any(doc string, most int64) *Shape { return &Shape{Kind: Anything, Doc: doc, Most: most} }

// Open is an object with any members, of at most so many bytes.
func Open(doc string, most int64) *Shape {
	return &Shape{Kind: Object, Doc: doc, Open: true, Most: most}
}

// maxDepth bounds how deep a value of any JSON may nest: less than a frame, since it lies in one.
const maxDepth = limits.MaxDepth - 8
