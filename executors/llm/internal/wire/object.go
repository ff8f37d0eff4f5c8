package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
)

// Object parses a JSON object. It keeps the JSON of the members, including all digits of numbers.
// Empty JSON is the schema of an object without properties.
func Object(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{"type": "object", "properties": map[string]any{}}, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, errors.New("expected a JSON object")
	}
	o := make(map[string]any, len(members))
	for k, v := range members {
		o[k] = v
	}
	return o, nil
}

// Parameters parses the schema of the parameters of a tool. It adds a missing type and missing
// properties, because some vendors require them.
func Parameters(raw json.RawMessage) (map[string]any, error) {
	o, err := Object(raw)
	if err != nil {
		return nil, err
	}
	if o["type"] == nil {
		o["type"] = "object"
	}
	if o["properties"] == nil {
		o["properties"] = map[string]any{}
	}
	return o, nil
}

var parameter = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// IsParameter reports whether a text is the name of a parameter, and not a path.
func IsParameter(name string) bool { return parameter.MatchString(name) }
