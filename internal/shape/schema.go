package shape

import "github.com/parleyhub/parley/internal/yamlfile"

// Schema returns the JSON Schema of the shape.
func (s *Shape) Schema() yamlfile.Object {
	o := yamlfile.Object{}
	if s.Kind == Object && !s.Open && s.Item == nil {
		o = s.closed()
	} else if s.Kind != Anything {
		o["type"] = s.Kind
	}
	if s.Doc != "" {
		o["description"] = s.Doc
	}
	switch {
	case len(s.Choices) > 0:
		o["enum"] = s.Choices
	case s.Pattern != nil:
		o["pattern"] = s.Pattern.String()
	case s.Kind == Text: // a lower bound, because a schema counts characters instead of bytes
		o["minLength"], o["maxLength"] = s.leastText(), s.Most
	case s.Kind == Integer:
		o["minimum"], o["maximum"] = s.Least, s.Most
	case s.Kind == List:
		o["minItems"], o["maxItems"], o["items"] = s.Least, s.Most, s.Item.Schema()
	case s.Item != nil:
		o["maxProperties"], o["additionalProperties"] = s.Most, s.Item.Schema()
	}
	return o
}

func (s *Shape) closed() yamlfile.Object {
	members := yamlfile.Object{}
	var required []string
	for _, m := range s.Members {
		members[m.Name] = m.Shape.Schema()
		if m.Required {
			required = append(required, m.Name)
		}
	}
	o := yamlfile.Closed(members)
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}
