package generate

import (
	"bytes"
	"encoding/json"
)

// components has schemas in the form of OpenRPC and AsyncAPI.
type components map[string]json.RawMessage

const componentPrefix = "#/components/schemas/"

// closure returns the schemas that others refer to, directly or indirectly.
func (d *definitions) closure(names ...string) components {
	c := components{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if _, ok := c[name]; ok {
			continue
		}
		c[name] = inComponents(d.schemas[name])
		names = append(names, references(c[name])...)
	}
	return c
}

// inComponents returns a schema whose references point into components.
func inComponents(schema any) json.RawMessage {
	b, err := json.Marshal(schema)
	if err != nil {
		panic(err) // all values of a schema encode
	}
	return bytes.ReplaceAll(b, []byte(`"`+definitionPrefix), []byte(`"`+componentPrefix))
}

// references returns the schemas that a schema refers to.
func references(schema json.RawMessage) []string {
	var names []string
	for _, part := range bytes.Split(schema, []byte(`"$ref":"`+componentPrefix))[1:] {
		name, _, _ := bytes.Cut(part, []byte{'"'})
		names = append(names, string(name))
	}
	return names
}

// pointer returns a reference inside a document.
type pointer struct {
	Ref string `json:"$ref"`
}
