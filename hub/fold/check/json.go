package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Compact returns valid JSON without insignificant space. It returns raw if raw has no such space.
func Compact(raw json.RawMessage) (json.RawMessage, error) {
	if isCompact(raw) {
		return raw, nil
	}
	var buf bytes.Buffer
	buf.Grow(len(raw))
	if err := json.Compact(&buf, raw); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// isCompact reports whether valid JSON has no insignificant space.
func isCompact(raw json.RawMessage) bool {
	for i := 0; i < len(raw); {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
			return false
		case '"':
			i = stringEnd(raw, i)
		default:
			i++
		}
	}
	return len(raw) > 0
}

// CompactParam is Compact for a parameter of a method. Its refusal names the parameter.
func CompactParam(name string, raw json.RawMessage) (json.RawMessage, error) {
	out, err := Compact(raw)
	if err != nil {
		return nil, parley.Refuse(parley.ErrInvalidParams, name+" is not JSON", "JSON")
	}
	return out, nil
}

// JSON refuses JSON from a caller in the process that the transports refuse too: invalid UTF-8,
// half a surrogate pair, a name twice in one object, or more than limits.MaxDepth levels. outer is the
// number of levels around raw in a message of the protocol. An empty value is valid.
func JSON(raw json.RawMessage, outer int) error {
	if len(raw) == 0 {
		return nil
	}
	err := errors.New("not one value")
	if json.Valid(raw) {
		dec := jsontext.NewDecoder(bytes.NewReader(raw))
		for _, err = dec.ReadToken(); err == nil; _, err = dec.ReadToken() {
			if dec.StackDepth() > limits.MaxDepth-outer {
				return parley.Refuse(parley.ErrParse, "JSON nests too deep", fmt.Sprintf("at most %d levels", limits.MaxDepth))
			}
		}
	}
	var syntax *jsontext.SyntacticError
	switch {
	case err == io.EOF:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		name := syntax.JSONPointer.LastToken()
		return parley.Refuse(parley.ErrInvalidParams, fmt.Sprintf("the payload has %q twice", name), "each name once")
	}
	return parley.Refuse(parley.ErrInvalidParams,
		"the payload is not JSON that can be kept exactly", "JSON in UTF-8 with whole surrogate pairs")
}
