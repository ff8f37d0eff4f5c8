// Package typescript writes the schemas of the protocol as TypeScript declarations, to check
// JavaScript programs against them.
package typescript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// node has the parts of a schema that affect a type. A type does not express bounds such as a
// pattern.
type node struct {
	Ref         string           `json:"$ref"`
	Type        words            `json:"type"`
	Enum        []any            `json:"enum"`
	Const       any              `json:"const"`
	AnyOf       []node           `json:"anyOf"`
	OneOf       []node           `json:"oneOf"`
	Properties  ordered          `json:"properties"`
	Required    []string         `json:"required"`
	Items       *node            `json:"items"`
	Additional  *json.RawMessage `json:"additionalProperties"`
	Description string           `json:"description"`
}

// UnmarshalJSON also accepts true and false, the schemas that match everything and nothing.
func (n *node) UnmarshalJSON(raw []byte) error {
	if raw[0] != '{' {
		return nil
	}
	type plain node
	return json.Unmarshal(raw, (*plain)(n))
}

// words is a string or a list of strings.
type words []string

func (w *words) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(w))
}

// ordered has properties in the order of the text.
type ordered []property

type property struct {
	name string
	node node
}

func (o *ordered) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		p := property{name: name.(string)} // the name of a member is a string
		if err := d.Decode(&p.node); err != nil {
			return err
		}
		*o = append(*o, p)
	}
	return nil
}

// Declarations returns the declarations of all definitions of a collection of schemas, in the order
// of their names.
func Declarations(schemas []byte) ([]byte, error) {
	var c struct {
		Definitions map[string]node `json:"$defs"`
	}
	if err := json.Unmarshal(schemas, &c); err != nil {
		return nil, fmt.Errorf("read the schemas: %w", err)
	}
	var b bytes.Buffer
	b.WriteString("// What goes over the wire. Made from the schemas of the protocol: go test " +
		"./internal/schema/typescript -update\n")
	for _, name := range slices.Sorted(maps.Keys(c.Definitions)) {
		n := c.Definitions[name]
		b.WriteByte('\n')
		comment(&b, "", n.Description)
		if n.isRecord() {
			fmt.Fprintf(&b, "export interface %s %s\n", name, n.record(""))
			continue
		}
		fmt.Fprintf(&b, "export type %s = %s;\n", name, n.text(""))
	}
	return b.Bytes(), nil
}

func (n *node) isRecord() bool {
	return len(n.Properties) > 0 && n.Ref == "" && len(n.AnyOf) == 0 && len(n.OneOf) == 0
}

// text returns the type as an expression. A schema without a type becomes any.
func (n *node) text(indent string) string {
	switch {
	case n.Ref != "":
		return n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]
	case n.Const != nil:
		return literal(n.Const)
	case len(n.Enum) > 0:
		return union(n.Enum, literal)
	case len(n.AnyOf) > 0:
		return choice(n.AnyOf, indent)
	case len(n.OneOf) > 0:
		return choice(n.OneOf, indent)
	case len(n.Type) == 0 && !n.isRecord():
		return "any"
	case n.isRecord():
		return n.record(indent)
	}
	return union(n.Type, func(word string) string { return n.plain(word, indent) })
}

// choice joins alternatives. A string next to literals covers values of later versions and does not
// replace the literals.
func choice(of []node, indent string) string {
	return union(of, func(a node) string {
		if len(a.Type) == 1 && a.Type[0] == "string" && len(a.Enum) == 0 {
			return "(string & {})"
		}
		return a.text(indent)
	})
}

func (n *node) plain(word, indent string) string {
	switch word {
	case "integer":
		return "number"
	case "array":
		if n.Items == nil {
			return "any[]"
		}
		return grouped(n.Items.text(indent)) + "[]"
	case "object":
		return n.table(indent)
	}
	return word // string, number, boolean, null
}

// table is the type of an object with arbitrary member names.
func (n *node) table(indent string) string {
	of := "any"
	if n.Additional != nil {
		var value node
		if json.Unmarshal(*n.Additional, &value) == nil { // otherwise true or false
			of = value.text(indent)
		}
	}
	return "{[name: string]: " + of + "}"
}

func (n *node) record(indent string) string {
	var b bytes.Buffer
	b.WriteString("{\n")
	inner := indent + "  "
	for _, p := range n.Properties {
		comment(&b, inner, p.node.Description)
		optional := "?"
		if slices.Contains(n.Required, p.name) {
			optional = ""
		}
		fmt.Fprintf(&b, "%s%s%s: %s;\n", inner, key(p.name), optional, p.node.text(inner))
	}
	b.WriteString(indent + "}")
	return b.String()
}

// union joins types without duplicates.
func union[T any](of []T, text func(T) string) string {
	var texts []string
	for _, one := range of {
		if t := text(one); !slices.Contains(texts, t) {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, " | ")
}

func grouped(t string) string {
	if strings.Contains(t, " | ") {
		return "(" + t + ")"
	}
	return t
}

func literal(v any) string {
	if s, ok := v.(string); ok {
		return "'" + s + "'"
	}
	return fmt.Sprint(v)
}

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

func key(name string) string {
	if plainKey.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

func comment(b *bytes.Buffer, indent, text string) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "*/", "* /")
	fmt.Fprintf(b, "%s/** %s */\n", indent, text)
}
