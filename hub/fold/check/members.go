package check

import (
	"bytes"
	"encoding/json"

	"github.com/parleyhub/parley"
)

// eachMember calls f with the name, unquoted, and the value of each member of an object. The
// payload is valid compact JSON, so it only looks for the ends of values, and allocates nothing.
func eachMember(payload []byte, f func(name, value []byte)) error {
	if k := jsonKind(payload); k != "an object" {
		return invalid("an object", "the payload is %s", k)
	}
	for i := 1; i < len(payload) && payload[i] == '"'; {
		colon := stringEnd(payload, i)
		end := valueEnd(payload, colon+1)
		if end <= colon+1 || end >= len(payload) {
			return errNotJSON
		}
		name := payload[i+1 : colon-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var s string
			if err := json.Unmarshal(payload[i:colon], &s); err != nil {
				return errNotJSON
			}
			name = []byte(s)
		}
		f(name, payload[colon+1:end])
		i = end + 1 // after the comma, or the brace
	}
	return nil
}

var errNotJSON = parley.Refuse(parley.ErrInvalidParams, "the payload is not JSON", "an object")

// stringEnd returns the index after the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		escapes := 0
		for b[i-escapes-1] == '\\' { // ends at the quote before the string
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// valueEnd returns the index after the value that begins at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of the object or array around a number or literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}
