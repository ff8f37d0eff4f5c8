package scenario

import "github.com/parleyhub/parley/cmd/parley/internal/yamlfile"

// Schema gives the JSON Schema (draft 7) of a scenario, as it stands in docs/scenario.schema.json.
func Schema() []byte {
	o := root.schema()
	o["title"] = "Parley scenario"
	o["description"] = "A file of parley conversation create --scenario: how a conversation begins."
	return yamlfile.EncodeSchema(o)
}

func (s *shape) schema() yamlfile.Object {
	o := yamlfile.Object{}
	if s.kind == object && !s.open {
		o = s.closed()
	} else if s.kind != anything {
		o["type"] = s.kind
	}
	if s.doc != "" {
		o["description"] = s.doc
	}
	switch {
	case len(s.choices) > 0:
		o["enum"] = s.choices
	case s.pattern != nil:
		o["pattern"] = s.pattern.String()
	case s.kind == text: // at least: a Schema counts characters, and not bytes
		o["minLength"], o["maxLength"] = 1, s.most
	case s.kind == integer:
		o["minimum"], o["maximum"] = s.least, s.most
	case s.kind == list:
		o["minItems"], o["maxItems"], o["items"] = s.least, s.most, s.item.schema()
	}
	return o
}

func (s *shape) closed() yamlfile.Object {
	members := yamlfile.Object{}
	var required []string
	for _, m := range s.members {
		members[m.name] = m.shape.schema()
		if m.required {
			required = append(required, m.name)
		}
	}
	o := yamlfile.Closed(members)
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}
