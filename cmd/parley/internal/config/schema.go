package config

import (
	"strings"

	"github.com/parleyhub/parley/internal/yamlfile"
)

type object = yamlfile.Object

// Schema returns the JSON Schema (draft 7) of the configuration file, the content of
// docs/parley.schema.json.
func Schema() []byte {
	top := object{}
	for _, s := range Settings {
		group, name, grouped := strings.Cut(s.Name, ".")
		if !grouped {
			top[s.Name] = s.schema()
			continue
		}
		if top[group] == nil {
			top[group] = yamlfile.Closed(object{})
		}
		top[group].(object)["properties"].(object)[name] = s.schema()
	}
	root := yamlfile.Closed(top)
	root["title"] = "Parley configuration"
	root["description"] = "The file of parley serve --config. A file that is empty sets nothing."
	root["type"] = []string{"object", "null"}
	return yamlfile.EncodeSchema(root)
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
