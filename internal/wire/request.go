package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Request is the envelope of one call. Its slices point into the frame.
type Request struct {
	// ID is the id as it was written, or nil if none exists that can be returned.
	ID []byte
	// Method is not unescaped, because no method name needs escapes.
	Method []byte
	// Params are the exact bytes of params, or nil.
	Params []byte
}

// ReadRequest reads one frame. Its error is a *parley.Error: ErrParse without an ID for text that
// is not valid JSON of this protocol, or ErrInvalidRequest, with the ID if it could be read.
func ReadRequest(frame []byte) (Request, error) {
	if err := checkText(frame, limits.MaxDepth); err != nil {
		return Request{}, err
	}
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	s.reset(frame, lenient...)
	var e envelope
	if err := s.envelope(&e); err != nil {
		return Request{}, errNotOneValue
	}
	return e.check()
}

// envelope has the members of a frame before their check.
type envelope struct {
	Request
	object           bool
	version          []byte
	seen             [4]bool
	twice, strangers bool
}

// The members of an envelope.
const (
	memberVersion = iota
	memberID
	memberMethod
	memberParams
)

// check checks an envelope.
func (e *envelope) check() (Request, error) {
	switch {
	case !e.object:
		return Request{}, invalid("one request is one JSON object; batches are not taken", "an object")
	case e.twice:
		return Request{}, invalid("a member of the request is there twice", "")
	case !validID(e.ID):
		e.ID = nil
		return e.Request, invalid("the request has no id that can be answered",
			fmt.Sprintf("id: a string or an integer of at most %d bytes", limits.MaxIDBytes))
	case e.strangers:
		return e.Request, invalid("the request has an unknown member", "jsonrpc, id, method and params")
	case string(e.version) != `"2.0"`:
		return e.Request, invalid("this is not JSON-RPC 2.0", `jsonrpc: "2.0"`)
	case len(e.Method) < 2 || e.Method[0] != '"':
		return e.Request, invalid("the request has no method", "method: a string")
	}
	e.Method = e.Method[1 : len(e.Method)-1]
	return e.Request, nil
}

func invalid(message, expected string) error {
	return parley.Refuse(parley.ErrInvalidRequest, message, expected)
}

// validID reports whether the text of an id is a string or an integer within the limit.
func validID(id []byte) bool {
	if len(id) == 0 || len(id) > limits.MaxIDBytes {
		return false
	}
	if id[0] == '"' {
		return true
	}
	digits := bytes.TrimPrefix(id, []byte{'-'})
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(digits) > 0
}

// scanner is a reusable decoder over bytes.
type scanner struct {
	dec *jsontext.Decoder
	buf bytes.Buffer
}

var scanners = sync.Pool{New: func() any {
	s := &scanner{}
	s.dec = jsontext.NewDecoder(&s.buf)
	return s
}}

// The envelope is scanned leniently: Decode reports a fault inside params, with the id and the name
// of the param.
var (
	lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	strict  = []jsontext.Options{jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)}
)

func (s *scanner) reset(b []byte, opts ...jsontext.Options) {
	s.buf = *bytes.NewBuffer(b)
	s.dec.Reset(&s.buf, opts...)
}

// end checks that nothing follows.
func (s *scanner) end() error {
	if _, err := s.dec.ReadToken(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

func (s *scanner) envelope(e *envelope) error {
	if s.dec.PeekKind() != '{' {
		if err := s.dec.SkipValue(); err != nil {
			return err
		}
		return s.end()
	}
	e.object = true
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		member := memberOf(name)
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		e.set(member, value)
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	return s.end()
}

// memberOf returns the member with a name, or -1 if it is unknown.
func memberOf(name []byte) int {
	switch string(name) {
	case `"jsonrpc"`:
		return memberVersion
	case `"id"`:
		return memberID
	case `"method"`:
		return memberMethod
	case `"params"`:
		return memberParams
	}
	return -1
}

func (e *envelope) set(member int, value []byte) {
	if member < 0 {
		e.strangers = true
		return
	}
	e.twice = e.twice || e.seen[member]
	e.seen[member] = true
	switch member {
	case memberVersion:
		e.version = value
	case memberID:
		e.ID = value
	case memberMethod:
		e.Method = value
	case memberParams:
		e.Params = value
	}
}

// deeperThan reports whether brackets outside of strings nest more deeply than limit. It runs
// before any parser, so the text may be invalid.
func deeperThan(text []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			if depth > limit {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			i = endOfString(text, i+1)
		}
	}
	return false
}

// endOfString returns the index of the closing quote of a string whose content begins at i.
func endOfString(text []byte, i int) int {
	for i < len(text) {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		slashes := 0
		for i-slashes > 0 && text[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
		i++
	}
	return i
}
