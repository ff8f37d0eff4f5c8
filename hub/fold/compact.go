package fold

import (
	"bytes"
	"encoding/json"
)

// Compact gives valid JSON without insignificant space. Most programs send none, and then it is the JSON itself.
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
