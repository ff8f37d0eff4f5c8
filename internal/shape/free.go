package shape

import (
	"encoding/json"
	"fmt"

	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley/internal/yamlfile"
)

// any reads any JSON value, or an object of any values.
func (r *Reader) any(path string, s *Shape, n *yaml.Node) json.RawMessage {
	if s.Kind == Object && !yamlfile.IsMapping(n) {
		r.fault(path, n, "expected members below it")
		return nil
	}
	before := len(r.Findings)
	value := r.free(path, n, 1)
	if len(r.Findings) > before {
		return nil
	}
	if int64(len(value)) > s.Most {
		r.fault(path, n, "expected at most %d bytes as JSON", s.Most)
		return nil
	}
	return value
}

// free reads any JSON value. depth is its nesting depth.
func (r *Reader) free(path string, n *yaml.Node, depth int) json.RawMessage {
	r.places[path] = place{n.Line, n.Column}
	switch {
	case !yamlfile.Itself(n):
		r.fault(path, n, yamlfile.NotItself)
	case depth > maxDepth:
		r.fault(path, n, "expected values nested at most %d deep", maxDepth)
	case yamlfile.IsMapping(n):
		var b builder
		for _, m := range r.members(path, n) {
			b.add(m.Key.Value, r.free(join(path, yamlfile.Brief(m.Key.Value)), m.Value, depth+1))
		}
		return b.object()
	case yamlfile.IsList(n):
		items := make([]json.RawMessage, len(n.Content))
		for i, item := range n.Content {
			items[i] = r.free(fmt.Sprintf("%s[%d]", path, i), item, depth+1)
		}
		return array(items)
	case n.Kind == yaml.ScalarNode:
		return r.scalar(path, n)
	default:
		r.fault(path, n, "expected what JSON has")
	}
	return nil
}

func (r *Reader) scalar(path string, n *yaml.Node) json.RawMessage {
	switch tag := n.ShortTag(); {
	case tag == "!!str":
		return quote(n.Value)
	case tag == "!!null":
		return json.RawMessage("null")
	case tag == "!!bool" && (n.Value == "true" || n.Value == "false"):
		return json.RawMessage(n.Value)
	case tag == "!!bool":
		r.fault(path, n, "expected true or false, or a string in quotes")
	case (tag == "!!int" || tag == "!!float") && jsonNumber.MatchString(n.Value):
		return json.RawMessage(n.Value)
	case tag == "!!int", tag == "!!float":
		r.fault(path, n, "expected a number as JSON writes it, or a string in quotes")
	default:
		r.fault(path, n, "expected a string: put it in quotes")
	}
	return nil
}
