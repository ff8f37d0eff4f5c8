package yamlfile

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	yaml "go.yaml.in/yaml/v4"
)

// ParseJSON is Parse for text that must be JSON. Numbers of any size and escaped surrogate pairs
// keep their JSON meaning, which YAML does not know. [Members] reports duplicate names.
func ParseJSON(text []byte) (*yaml.Node, []Fault) {
	if f, ok := unreadable(text); ok {
		return nil, []Fault{f}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write it
	r := &jsonReader{text: text, dec: jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true)),
		line: 1, column: 1}
	n, err := r.value()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, []Fault{r.broken(err)}
	}
	switch _, err := r.dec.ReadToken(); {
	case err == nil:
		r.to(r.dec.InputOffset())
		return root(n), []Fault{fault(r.line, r.column, "expected one document")}
	case !errors.Is(err, io.EOF):
		return root(n), []Fault{r.broken(err)}
	}
	return root(n), nil
}

// jsonReader creates nodes from JSON.
type jsonReader struct {
	text []byte
	dec  *jsontext.Decoder

	at           int // offset of line and column
	line, column int
}

// to advances line and column to an offset.
func (r *jsonReader) to(offset int64) {
	for r.at < int(offset) {
		c, size := utf8.DecodeRune(r.text[r.at:])
		r.at += size
		r.column++
		if c == '\n' {
			r.line, r.column = r.line+1, 1
		}
	}
}

// toNext advances to the next token.
func (r *jsonReader) toNext() {
	at := r.dec.InputOffset()
	for int(at) < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	r.to(at)
}

func (r *jsonReader) value() (*yaml.Node, error) {
	r.toNext()
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.column}
	t, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case jsontext.KindBeginObject:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		return n, r.below(n, jsontext.KindEndObject)
	case jsontext.KindBeginArray:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		return n, r.below(n, jsontext.KindEndArray)
	case jsontext.KindString:
		n.Tag = "!!str"
	case jsontext.KindNull:
		n.Tag = "!!null"
	case jsontext.KindNumber:
		n.Tag = "!!int"
		if strings.ContainsAny(t.String(), ".eE") {
			n.Tag = "!!float"
		}
	default:
		n.Tag = "!!bool"
	}
	n.Value = t.String()
	return n, nil
}

// below reads the contents of an object or list. For an object, these are alternating names and
// values.
func (r *jsonReader) below(n *yaml.Node, end jsontext.Kind) error {
	for r.dec.PeekKind() != end {
		v, err := r.value()
		if err != nil {
			return err
		}
		n.Content = append(n.Content, v)
	}
	_, err := r.dec.ReadToken()
	return err
}

// expected returns what the text must have at an offset, at which a token must begin.
func (r *jsonReader) expected(at int) string {
	kind, members := r.dec.StackIndex(r.dec.StackDepth())
	rest := bytes.TrimLeft(r.text[at:], ", \t\r\n")
	trailing := len(rest) > 0 && len(rest) < len(r.text)-at && (rest[0] == '}' || rest[0] == ']')
	switch {
	case trailing:
		return "no comma before the end of an object or list"
	case kind == jsontext.KindBeginObject && members%2 == 0:
		return "a name in double quotes"
	case r.dec.StackDepth() == 0 && members > 0:
		return "nothing after the value"
	}
	return "a value"
}

// broken returns the fault of text that is not JSON.
func (r *jsonReader) broken(err error) Fault {
	at := (*jsontext.SyntacticError)(nil)
	if !errors.As(err, &at) {
		return fault(1, 1, "not JSON")
	}
	r.to(min(at.ByteOffset, int64(len(r.text))))
	what := "not JSON"
	text := at.Err.Error()
	_, expecting, found := strings.Cut(text, "(expecting ")
	switch {
	case found:
		what += ": expected " + strings.TrimSuffix(expecting, ")")
	case errors.Is(err, io.ErrUnexpectedEOF):
		what += ": it ends too early"
	case strings.Contains(text, "max depth"):
		what += ": it nests too deep"
	case strings.Contains(text, "escape sequence"):
		what += `: expected an escape such as \\ or \u0041`
	case errors.Is(err, jsontext.ErrNonStringName):
		what += ": expected a name in double quotes"
	case strings.Contains(text, "start of value"), strings.Contains(text, "missing value"):
		what += ": expected " + r.expected(int(at.ByteOffset))
	case strings.Contains(text, "surrogate"):
		what += ": expected both halves of a surrogate pair"
	}
	return fault(r.line, r.column, "%s", what)
}
