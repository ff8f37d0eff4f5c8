package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
)

// Object reads a JSON object and leaves what its members hold as it is written, numbers with all their digits. Nothing at all is an object of no properties.
func Object(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{"type": "object", "properties": map[string]any{}}, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, errors.New("it is no JSON object")
	}
	o := make(map[string]any, len(members))
	for k, v := range members {
		o[k] = v
	}
	return o, nil
}

// Parameters reads the schema of the parameters of a tool, and gives it a type and properties where it has none: some vendors refuse it else.
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

// IsParameter reports whether a text is the name of a parameter of a vendor, and no path into one.
func IsParameter(name string) bool { return parameter.MatchString(name) }
