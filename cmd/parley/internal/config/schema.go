package config

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object of the Schema. It is written with its keys in the order of the alphabet.
type object map[string]any

// Schema gives the JSON Schema (draft 7) of the configuration file, as it stands in docs/parley.schema.json.
func Schema() []byte {
	top := object{}
	for _, s := range Settings {
		group, name, grouped := strings.Cut(s.Name, ".")
		if !grouped {
			top[s.Name] = s.schema()
			continue
		}
		if top[group] == nil {
			top[group] = closed(object{})
		}
		top[group].(object)["properties"].(object)[name] = s.schema()
	}
	root := closed(top)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Parley configuration"
	root["description"] = "The file of parley serve --config. A file that is empty sets nothing."
	root["type"] = []string{"object", "null"}

	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // strings and numbers only
	}
	return b.Bytes()
}

// closed is the Schema of an object with these members and no other.
func closed(properties object) object {
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func (s Setting) schema() object {
	o := s.rule.schema()
	switch kind := s.kind(); kind {
	case "list":
		o["type"] = "string"
		o = object{"type": "array", "items": o, "maxItems": maxItems, "uniqueItems": true}
	default:
		o["type"] = kind
		if v := s.Value(&defaults); s.shown == "" && v != "" {
			o["default"] = v
		}
	}
	o["description"] = s.Doc
	return o
}

func (r rule) schema() object {
	o := object{}
	if r.pattern != nil {
		o["pattern"] = r.pattern.String()
	}
	if len(r.choices) > 0 {
		o["enum"] = r.choices
	}
	if r.most > 0 {
		o["minimum"], o["maximum"] = r.least, r.most
	}
	return o
}
