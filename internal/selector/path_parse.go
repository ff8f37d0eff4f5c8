package selector

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/theory/jsonpath"
)

// Limits of paths: nested filters, and nested parentheses and functions.
const (
	maxFilters = 3
	maxNesting = 16
)

// compilePath compiles a JSONPath of RFC 9535. The library checks the syntax and reports faults.
// This package evaluates the path itself, with limits and exact numbers.
func compilePath(path string, p *patterns) (*query, error) {
	if _, err := jsonpath.Parse(path); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	r := pathReader{s: path, patterns: p}
	r.i++ // $
	q := r.query(true)
	if r.err == nil && r.i < len(r.s) {
		r.unexpected()
	}
	if r.err != nil {
		return nil, r.err
	}
	return q, nil
}

// pathReader parses a path that the library has accepted. After an error, it continues to the end
// without meaning.
type pathReader struct {
	s        string
	i        int
	filters  int
	nesting  int
	patterns *patterns
	err      error
}

func (r *pathReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.i = len(r.s)
}

func (r *pathReader) unexpected() { r.fail("unexpected text at position %d", r.i+1) }

// peek returns the next byte, or 0 at the end.
func (r *pathReader) peek() byte {
	if r.i >= len(r.s) {
		return 0
	}
	return r.s[r.i]
}

// look returns the next byte after whitespace.
func (r *pathReader) look() byte {
	for r.i < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.i]) >= 0 {
		r.i++
	}
	return r.peek()
}

// take skips the given text after whitespace, if it comes next.
func (r *pathReader) take(s string) bool {
	r.look()
	if !strings.HasPrefix(r.s[r.i:], s) {
		return false
	}
	r.i += len(s)
	return true
}

func (r *pathReader) expect(s string) {
	if !r.take(s) {
		r.unexpected()
	}
}

// query parses the rest of a query after $ or @.
func (r *pathReader) query(root bool) *query {
	q := &query{root: root, singular: true}
	for r.err == nil {
		end := r.i
		if c := r.look(); c != '.' && c != '[' {
			r.i = end
			return q
		}
		seg := r.segment()
		q.segments = append(q.segments, seg)
		if seg.descendant || len(seg.picks) != 1 || seg.picks[0].kind > pickIndex {
			q.singular = false
		}
	}
	return q
}

func (r *pathReader) segment() (seg segment) {
	seg.descendant = r.take("..")
	if !seg.descendant && r.take(".") || seg.descendant && r.peek() != '[' {
		seg.picks = []pick{r.nameOrAll()}
		return seg
	}
	r.expect("[")
	for r.err == nil {
		seg.picks = append(seg.picks, r.pick())
		if !r.take(",") {
			break
		}
	}
	r.expect("]")
	return seg
}

func (r *pathReader) nameOrAll() pick {
	if r.take("*") {
		return pick{kind: pickAll}
	}
	return pick{kind: pickName, name: r.word()}
}

// word parses an unquoted name.
func (r *pathReader) word() string {
	start := r.i
	for r.i < len(r.s) && (r.s[r.i] >= 0x80 || r.s[r.i] == '_' || letterOrDigit(r.s[r.i])) {
		r.i++
	}
	if r.i == start {
		r.unexpected()
	}
	return r.s[start:r.i]
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (r *pathReader) pick() pick {
	switch r.look() {
	case '*':
		r.i++
		return pick{kind: pickAll}
	case '"', '\'':
		return pick{kind: pickName, name: r.quoted()}
	case '?':
		r.i++
		if r.filters++; r.filters > maxFilters {
			r.fail("filters may be nested at most %d deep", maxFilters)
		}
		t := r.or()
		r.filters--
		return pick{kind: pickFilter, test: t}
	}
	first := r.integer()
	if r.look() != ':' {
		if first == nil {
			r.unexpected()
			return pick{}
		}
		return pick{kind: pickIndex, index: *first}
	}
	r.i++
	s := slice{start: first, end: r.integer(), step: 1}
	if r.take(":") {
		if step := r.integer(); step != nil {
			s.step = *step
		}
	}
	return pick{kind: pickSlice, slice: s}
}

// integer parses an integer, or returns nil.
func (r *pathReader) integer() *int64 {
	r.look()
	raw := r.number()
	if raw == "" {
		return nil
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		r.unexpected()
	}
	return &n
}

func (r *pathReader) number() string {
	start := r.i
	for r.i < len(r.s) && strings.IndexByte("+-.0123456789eE", r.s[r.i]) >= 0 {
		r.i++
	}
	return r.s[start:r.i]
}

// quoted parses a string in single or double quotes.
func (r *pathReader) quoted() string {
	quote := r.peek()
	var b strings.Builder
	for r.i++; r.peek() != quote; r.i++ {
		switch c := r.peek(); c {
		case 0:
			r.unexpected()
			return ""
		case '\\':
			r.i++
			r.escape(&b)
		default:
			b.WriteByte(c)
		}
	}
	r.i++
	return b.String()
}

// escape parses an escape after the backslash, up to its last byte.
func (r *pathReader) escape(b *strings.Builder) {
	const letters, stand = "bfnrt", "\b\f\n\r\t"
	c := r.peek()
	if c == 'u' {
		r.unicode(b)
		return
	}
	if i := strings.IndexByte(letters, c); i >= 0 && c != 0 {
		c = stand[i]
	}
	b.WriteByte(c)
}

func (r *pathReader) unicode(b *strings.Builder) {
	first := r.hex()
	if !utf16.IsSurrogate(first) {
		b.WriteRune(first)
		return
	}
	r.i += 2 // to the u of the other half
	b.WriteRune(utf16.DecodeRune(first, r.hex()))
}

// hex parses the four digits after a u, up to the last one.
func (r *pathReader) hex() rune {
	if r.i+5 > len(r.s) {
		r.unexpected()
		return 0
	}
	n, err := strconv.ParseUint(r.s[r.i+1:r.i+5], 16, 16)
	if err != nil {
		r.unexpected()
		return 0
	}
	r.i += 4
	return rune(n)
}

// jsonText returns a string as a value.
func jsonText(s string) *value {
	raw, err := json.Marshal(s)
	if err != nil { // a string can always be encoded
		raw = []byte(`""`)
	}
	return &value{kind: text, raw: string(raw), text: s}
}
