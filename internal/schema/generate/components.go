package generate

import (
	"bytes"
	"encoding/json"
)

// components are schemas as OpenRPC and AsyncAPI keep them.
type components map[string]json.RawMessage

const componentPrefix = "#/components/schemas/"

// closure gives the schemas that others refer to, and those that these refer to.
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

// inComponents writes a schema with its references as they are inside of components.
func inComponents(schema any) json.RawMessage {
	b, err := json.Marshal(schema)
	if err != nil {
		panic(err) // it is made of values that encode
	}
	return bytes.ReplaceAll(b, []byte(`"`+definitionPrefix), []byte(`"`+componentPrefix))
}

// references are the schemas that a schema refers to.
func references(schema json.RawMessage) []string {
	var names []string
	for _, part := range bytes.Split(schema, []byte(`"$ref":"`+componentPrefix))[1:] {
		name, _, _ := bytes.Cut(part, []byte{'"'})
		names = append(names, string(name))
	}
	return names
}

// pointer is a reference inside of a document.
type pointer struct {
	Ref string `json:"$ref"`
}
