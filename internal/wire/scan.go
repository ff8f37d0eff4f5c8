package wire

import (
	"github.com/parleyhub/parley/internal/limits"
)

// ScanRequest finds the parts of a frame in the usual form in one pass: the four members of an
// envelope, each at most once, without escapes. It does not validate the params, so its result is
// valid only if Decode accepts them. If it returns false, or Decode fails, the caller must use
// ReadRequest and discard the result.
func ScanRequest(frame []byte) (r Request, ok bool) {
	s := scan{b: frame}
	if !s.token('{') {
		return Request{}, false
	}
	var seen [4]bool
	for more := true; more; more = s.token(',') {
		name, ok := s.text()
		member := memberOf(name)
		if !ok || member < 0 || seen[member] || !s.token(':') || !s.member(member, &r) {
			return Request{}, false
		}
		seen[member] = true
	}
	ok = s.token('}') && s.ended() && seen[memberVersion] && seen[memberID] && seen[memberMethod]
	return r, ok
}

// scan is a position in a text.
type scan struct {
	b []byte
	i int
}

func (s *scan) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r' || s.b[s.i] == '\n') {
		s.i++
	}
}

// token skips a character after whitespace.
func (s *scan) token(c byte) bool {
	if s.space(); s.i >= len(s.b) || s.b[s.i] != c {
		return false
	}
	s.i++
	return true
}

func (s *scan) ended() bool {
	s.space()
	return s.i == len(s.b)
}

// text skips a string of ASCII without escapes, and returns it with its quotes.
func (s *scan) text() ([]byte, bool) {
	s.space()
	start := s.i
	if !s.token('"') {
		return nil, false
	}
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start:s.i], true
		case c < 0x20, c >= 0x7f, c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// member reads the value of a member.
func (s *scan) member(member int, r *Request) (ok bool) {
	switch member {
	case memberVersion:
		version, ok := s.text()
		return ok && string(version) == `"2.0"`
	case memberID:
		r.ID, ok = s.id()
		return ok && validID(r.ID)
	case memberMethod:
		method, ok := s.text()
		if ok {
			r.Method = method[1 : len(method)-1]
		}
		return ok
	}
	r.Params, ok = s.object()
	return ok
}

// id reads a string or an integer.
func (s *scan) id() ([]byte, bool) {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == '"' {
		return s.text()
	}
	start := s.i
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	first := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	n := s.i - first
	return s.b[start:s.i], n == 1 || n > 1 && s.b[first] != '0'
}

// object skips an object within the nesting limit, without validating it.
func (s *scan) object() ([]byte, bool) {
	s.space()
	start, depth := s.i, 1 // the envelope
	if s.i >= len(s.b) || s.b[s.i] != '{' {
		return nil, false
	}
	for ; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '{', '[':
			if depth++; depth > limits.MaxDepth {
				return nil, false
			}
		case '}', ']':
			if depth--; depth == 1 {
				s.i++
				return s.b[start:s.i], true
			}
		case '"':
			s.i = endOfString(s.b, s.i+1)
		}
	}
	return nil, false
}
