package yamlfile

import (
	yaml "go.yaml.in/yaml/v4"
)

// Itself reports whether a value is neither an alias nor an anchor.
func Itself(n *yaml.Node) bool { return n.Kind != yaml.AliasNode && n.Anchor == "" }

// NotItself is the fault of a value that is not Itself.
const NotItself = "expected the value itself: anchors and aliases are not taken"

// IsMapping reports whether a value is a plain mapping.
func IsMapping(n *yaml.Node) bool { return n.Kind == yaml.MappingNode && n.ShortTag() == "!!map" }

// IsList reports whether a value is a plain list.
func IsList(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && n.ShortTag() == "!!seq" }

// Member is a key of a mapping with its value.
type Member struct {
	Key, Value *yaml.Node
	// Named is false if the key is not a string.
	Named bool
	// Before is the line of an earlier occurrence of the key, or 0.
	Before int
}

// Members returns the members of a mapping in order.
func Members(n *yaml.Node) []Member {
	seen := map[string]int{}
	members := make([]Member, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		m := Member{Key: n.Content[i], Value: n.Content[i+1]}
		m.Named = m.Key.Kind == yaml.ScalarNode && m.Key.ShortTag() == "!!str"
		if m.Named {
			if m.Before = seen[m.Key.Value]; m.Before == 0 {
				seen[m.Key.Value] = m.Key.Line
			}
		}
		members = append(members, m)
	}
	return members
}
