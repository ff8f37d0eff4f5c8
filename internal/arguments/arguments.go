// Package arguments passes the parameters of a session to a command: as flags, as environment
// variables, or as JSON on stdin. The hub uses it to refuse parameters that cannot be passed, and
// the runner uses it to pass them.
//
// # Forms
//
// A string is passed unchanged. Any other value is passed as compact JSON, and numbers keep their
// digits.
//
//	           flags                         env                     stdin
//	true       --key                         PARAM_KEY=true          {"key":true}
//	false      nothing                       PARAM_KEY=false         ...
//	null       nothing                       nothing
//	a list     --key=text for each item      PARAM_KEY=[...]
//	others     --key=text                    PARAM_KEY=text
//
// A flag is one argument, so that no value can pose as another flag. Flags have the order of the
// parameters. The name of a variable is the name of the parameter in capitals, with _ for . and -.
// On stdin the command reads the JSON object, compact and otherwise unchanged.
//
// # Refused parameters
//
// Flags and variables refuse parameters that the schema does not declare by name, strings with a
// NUL, a flag or variable of more than [MaxBytes], and more than [MaxTotalBytes] in total. Stdin
// accepts all of these. A repeated parameter and half a surrogate pair are refused in all forms.
package arguments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parleyhub/parley"
)

const (
	// MaxBytes limits one flag or variable with its name: the limit of Linux without the final NUL.
	MaxBytes = 128<<10 - 1
	// MaxTotalBytes limits all flags or variables together, with the overhead of each.
	MaxTotalBytes = 1 << 20
	// overhead is the size that the system adds to each argument: its NUL and its pointer.
	overhead = 9
)

// Converted has the parameters of one run in the form of its blueprint. At most one field is set.
type Converted struct {
	Flags []string
	Env   []string
	Stdin []byte
}

// Convert converts parameters to the form via. declared has the sorted names of the properties of the
// schema. parameters is an object, or empty for no parameters. wrong lists the faults of single
// parameters in their order. err means that parameters is not such an object.
func Convert(via parley.ParamsVia, declared []string, parameters json.RawMessage) (g *Converted,
	wrong []parley.ValidationError, err error) {
	members, err := split(parameters)
	if err != nil {
		return nil, nil, err
	}
	if via == parley.ParamsStdin {
		return &Converted{Stdin: stdin(parameters)}, nil, nil
	}
	b := &converter{via: via}
	for _, m := range members {
		if _, ok := slices.BinarySearch(declared, m.name); !ok {
			b.refuse(m.name, "properties", "%s is not declared: a command gets none but the properties of its parameters_schema",
				show(m.name))
			continue
		}
		b.give(m)
	}
	if len(b.wrong) > 0 {
		return nil, b.wrong, nil
	}
	return &b.Converted, nil, nil
}

// member is one parameter.
type member struct {
	name  string
	value json.RawMessage
}

var errNoObject = parley.Refuse(parley.ErrValidationFailed, "the parameters are not one JSON object",
	"an object, each name once")

// split returns the members of an object.
func split(parameters json.RawMessage) ([]member, error) {
	if len(parameters) == 0 {
		return nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(parameters))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginObject {
		return nil, errNoObject
	}
	var members []member
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, errNoObject
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, errNoObject
		}
		m.value = compact(value)
		members = append(members, m)
	}
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindEndObject {
		return nil, errNoObject
	}
	if dec.PeekKind() != jsontext.KindInvalid || len(bytes.TrimSpace(parameters[dec.InputOffset():])) > 0 {
		return nil, errNoObject
	}
	return members, nil
}

func stdin(parameters json.RawMessage) []byte {
	if len(parameters) == 0 {
		return []byte("{}")
	}
	return compact(parameters)
}

// compact removes the whitespace from JSON, and keeps the text of strings and numbers.
func compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it was read
	return b.Bytes()
}

// converter collects flags or variables.
type converter struct {
	Converted
	via   parley.ParamsVia
	total int
	wrong []parley.ValidationError
}

func (b *converter) refuse(name, schemaPath, format string, args ...any) {
	b.wrong = append(b.wrong, parley.ValidationError{Path: path(name), Message: fmt.Sprintf(format, args...),
		SchemaPath: schemaPath})
}

func (b *converter) give(m member) {
	switch kind := m.value[0]; {
	case kind == 'n':
	case b.via == parley.ParamsEnv:
		b.add(m, VariableName(m.name)+"=", m.value)
	case kind == 't':
		b.append(m, "--"+m.name)
	case kind == 'f':
	case kind == '[':
		var items []json.RawMessage
		_ = json.Unmarshal(m.value, &items) // it was read
		for _, item := range items {
			if !b.add(m, "--"+m.name+"=", item) {
				return
			}
		}
	default:
		b.add(m, "--"+m.name+"=", m.value)
	}
}

// add adds a flag or variable with a value. It returns false if the value is refused.
func (b *converter) add(m member, begin string, value json.RawMessage) bool {
	text := string(value)
	if value[0] == '"' {
		raw, _ := jsontext.AppendUnquote(nil, value) // it was read
		text = string(raw)
	}
	if strings.ContainsRune(text, 0) {
		b.refuse(m.name, schemaPath(m.name), "%s has a NUL in it, where an argument would end", show(m.name))
		return false
	}
	return b.append(m, begin+text)
}

func (b *converter) append(m member, text string) bool {
	if len(text) > MaxBytes {
		b.refuse(m.name, schemaPath(m.name), "%s takes %d bytes with its name: a command gets at most %d in one argument",
			show(m.name), len(text), MaxBytes)
		return false
	}
	if b.total += len(text) + overhead; b.total > MaxTotalBytes {
		if b.total-len(text)-overhead <= MaxTotalBytes { // once
			b.wrong = append(b.wrong, parley.ValidationError{
				Path: "$", Message: fmt.Sprintf("the parameters take more than %d bytes as arguments of a command", MaxTotalBytes),
				SchemaPath: "properties",
			})
		}
		return false
	}
	if b.via == parley.ParamsEnv {
		b.Env = append(b.Env, text)
	} else {
		b.Flags = append(b.Flags, text)
	}
	return true
}

// VariableName returns the environment variable of a parameter.
func VariableName(name string) string {
	return "PARAM_" + strings.Map(func(r rune) rune {
		if r == '.' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToUpper(name))
}

// CheckNames refuses parameter names that cannot be passed, and names that share a variable.
func CheckNames(via parley.ParamsVia, names []string) error {
	if via == parley.ParamsStdin {
		return nil
	}
	variables := map[string]string{}
	for _, name := range names {
		if !nameable(name) {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("the parameter %s cannot be a flag or a variable",
				show(name)),
				"letters, digits, _ . and -, a letter or digit first; or params_via stdin")
		}
		variable := VariableName(name)
		if other, there := variables[variable]; there && via == parley.ParamsEnv {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("the parameters %s and %s would be one variable",
				show(other), show(name)),
				"names that differ in more than case and signs")
		}
		variables[variable] = name
	}
	return nil
}

// nameable reports whether a name can be a flag: A-Z a-z 0-9 _ . -, a letter or digit first.
func nameable(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	return name != ""
}

// maxShown limits a name in a message, in bytes.
const maxShown = 80

func show(name string) string { return "'" + clip(name) + "'" }

func clip(name string) string {
	if len(name) <= maxShown {
		return name
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n] + "…"
}

// path returns the JSON path of a parameter.
func path(name string) string {
	if plain(name) {
		return "$." + clip(name)
	}
	return "$[" + strconv.Quote(clip(name)) + "]"
}

// schemaPath returns the path of the schema of a parameter.
func schemaPath(name string) string {
	if strings.Contains(name, ".") {
		return "properties[" + strconv.Quote(clip(name)) + "]"
	}
	return "properties." + clip(name)
}

// plain reports whether a name needs no quotes in a path.
func plain(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
