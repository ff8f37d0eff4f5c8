// Package toolschema adapts the schemas of tools and answers to the vendors of models. It is pure:
// the same schema always has the same result.
//
//	adapted, err := toolschema.Adapt(description, schema)
//
// Vendors refuse a whole request because of one schema. The result has only forms that the APIs of
// OpenAI, Anthropic and compatible servers accept. It may accept more values than the original,
// which the caller still has to check.
//
// | original | adapted |
// |---|---|
// | anyOf, oneOf, allOf, enum, const at the root | merged into properties, alternatives in words |
// | not, if, dependencies at the root | words in the description |
// | $ref | its target; a recursion ends at its second level |
// | null, an unknown keyword, a keyword with a value of the wrong form | removed |
// | true, a missing schema of items, an object without properties | an empty schema or object |
// | a list of types | anyOf with one type each |
// | a pattern that RE2 or another engine refuses, an unknown format | words in the description |
// | a name of a property that Anthropic refuses | an alias, see Adapted.Aliases |
// | a description over the limit of OpenAI | its end is in the description of the schema |
package toolschema

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of schemas.
const (
	// MaxBytes limits the original, and MaxAdapted the adapted schema.
	MaxBytes   = 256 << 10
	MaxAdapted = 256 << 10
	// MaxDepth limits the nesting of subschemas, and MaxSubschemas their number. The parts beyond
	// accept every value.
	MaxDepth      = 16
	MaxSubschemas = 2000
	// MaxDescription limits the description of a tool, in bytes. It is the limit of OpenAI.
	MaxDescription = 1024
	// MaxLongDescription limits the description with its end in the schema.
	MaxLongDescription = 16 << 10
	maxPattern         = 2 << 10
	maxBranches        = 100
	maxWords           = 400
	maxWarnings        = 20
)

// Adapted is a tool in the form for vendors.
type Adapted struct {
	Description string
	// Parameters is the schema of an object with properties.
	Parameters json.RawMessage
	// Aliases are the names of properties that differ from the original: the name in Parameters, and
	// the original.
	Aliases map[string]string
	// Warnings are parts of the original that the vendor does not get.
	Warnings []string
}

// ErrNotObject reports a schema that no object matches.
var ErrNotObject = errors.New("expected the schema of an object")

// schema is a JSON object that is a schema.
type schema = map[string]any

// Adapt adapts a tool. An empty schema or null is that of a tool without parameters. It returns
// ErrNotObject if the parameters cannot be an object.
func Adapt(description string, raw json.RawMessage) (*Adapted, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	_, isObject := root.(schema)
	if _, isSwitch := root.(bool); !isObject && !isSwitch {
		return nil, ErrNotObject
	}
	a := &adapter{root: root, left: MaxSubschemas, bytes: MaxAdapted, aliases: map[string]string{}}
	s, ok := a.schema(root, nil, nil)
	if !ok {
		return nil, ErrNotObject
	}
	f := &flattener{}
	o, ok := f.flatten(s)
	if !ok {
		return nil, ErrNotObject
	}
	out := o.schema()
	text, rest := splitDescription(join(description, f.text()))
	if own, _ := s["description"].(string); own != "" || rest != "" {
		out["description"] = join(rest, own)
	}
	adapted := &Adapted{Description: text, Aliases: a.aliases, Warnings: a.warnings}
	adapted.Parameters, err = marshal(out)
	if err == nil && len(adapted.Parameters) > MaxAdapted {
		err = fmt.Errorf("the schema has more than %d bytes after its references are written out", MaxAdapted)
	}
	return adapted, err
}

// Restore replaces the aliases in the arguments of a call by the original names, at any depth.
func Restore(arguments any, aliases map[string]string) any {
	switch v := arguments.(type) {
	case []any:
		for i := range v {
			v[i] = Restore(v[i], aliases)
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			value := Restore(v[name], aliases)
			original, renamed := aliases[name]
			if renamed {
				delete(v, name)
			} else {
				original = name
			}
			if _, taken := v[original]; !taken || !renamed {
				v[original] = value
			}
		}
	}
	return arguments
}

func parse(raw json.RawMessage) (any, error) {
	text := bytes.TrimSpace(raw)
	if len(text) == 0 || string(text) == "null" {
		return schema{}, nil
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the schema has %d bytes: expected at most %d", len(text), MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the schema is not JSON: expected one value")
	}
	return v, nil
}

func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// adapter adapts the subschemas of one schema.
type adapter struct {
	root     any
	left     int // remaining subschemas
	bytes    int // remaining bytes of texts and values
	aliases  map[string]string
	warnings []string
}

func (a *adapter) warn(path []string, format string, args ...any) {
	if len(a.warnings) == maxWarnings {
		return
	}
	where := cmp.Or(strings.Join(path, "."), "the schema")
	a.warnings = append(a.warnings, clip(where, 200)+": "+fmt.Sprintf(format, args...))
}

// schema adapts one schema. refs are the references on the way to it. It returns false for the
// schema that accepts no value.
func (a *adapter) schema(v any, path, refs []string) (schema, bool) {
	if a.left--; a.left < 0 || len(path) > 2*MaxDepth {
		a.warn(path, "the schema is too large, so the model does not see this part")
		return schema{}, true
	}
	in, ok := v.(schema)
	if !ok {
		if v != nil && v != any(true) && v != any(false) {
			a.warn(path, "expected a schema")
		}
		return schema{}, v != any(false)
	}
	out := schema{}
	if ref, ok := in["$ref"].(string); ok {
		target, possible := a.reference(ref, path, refs)
		if !possible {
			return nil, false
		}
		out = target
	}
	var hints []string
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if keep, hint := a.keyword(out, name, in[name], path, refs); hint != "" {
			hints = append(hints, hint)
		} else if !keep {
			a.warn(append(slices.Clone(path), name), "the value of this keyword is invalid and is not sent")
		}
	}
	convertBounds(in, out)
	if len(hints) > 0 {
		text, _ := out["description"].(string)
		out["description"] = join(text, strings.Join(hints, " "))
	}
	a.setTypes(in, out)
	complete(out)
	return out, true
}

// reference returns a copy of the target of a reference. At the second level of a recursion, it has
// the type only.
func (a *adapter) reference(ref string, path, refs []string) (target schema, possible bool) {
	v, ok := a.resolve(ref)
	if !ok {
		a.warn(path, "the reference %q has no target in the schema, so the model does not see its type", clip(ref, 100))
		return schema{}, true
	}
	if slices.Contains(refs, ref) {
		out := schema{"description": "The same form as its parent."}
		if in, ok := v.(schema); ok {
			a.setTypes(in, out)
		}
		complete(out)
		return out, true
	}
	return a.schema(v, path, append(slices.Clone(refs), ref))
}

// resolve follows a pointer from the root.
func (a *adapter) resolve(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil, false
	}
	at := a.root
	if pointer == "" {
		return at, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case schema:
			if at, ok = v[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// The keywords by the form of their values.
var (
	texts    = []string{"description", "title"}
	counts   = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
	numbers  = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	nested   = []string{"not", "if", "then", "else", "propertyNames", "contains"}
	branches = []string{"anyOf", "oneOf", "allOf"}
	// hidden keywords are not sent, without a warning: they are handled elsewhere, or no model needs
	// them.
	hidden = []string{"type", "$ref", "$defs", "definitions", "$schema", "$id", "id", "$comment", "$anchor", "$vocabulary",
		"$dynamicAnchor", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "example", "nullable", "deprecated",
		"readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "minContains", "maxContains",
		"discriminator", "xml", "externalDocs", "dependencies", "dependentRequired", "dependentSchemas"}
	formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
)

// keyword sets a keyword of the adapted schema. It returns false if the value is invalid, and a hint
// for the model if the vendor does not get the keyword.
func (a *adapter) keyword(out schema, name string, v any, path, refs []string) (valid bool, hint string) {
	below := func(more ...string) []string { return append(append(slices.Clone(path), name), more...) }
	switch {
	case v == nil && name != "const":
		return true, ""
	case name == "dependencies" || name == "dependentRequired":
		return true, describe("Arguments that require others: ", v)
	case slices.Contains(hidden, name) || strings.HasPrefix(name, "x-"):
		return true, ""
	case name == "$dynamicRef" || name == "$recursiveRef":
		a.warn(path, "the model does not see the type behind %s", name)
		return true, ""
	case slices.Contains(texts, name):
		_, valid = v.(string)
	case slices.Contains(counts, name):
		n, ok := v.(json.Number)
		valid = ok && count.MatchString(n.String())
	case slices.Contains(numbers, name):
		if _, valid = v.(bool); valid {
			return true, "" // draft 4, see convertBounds
		}
		_, valid = v.(json.Number)
	case name == "uniqueItems":
		_, valid = v.(bool)
	case name == "pattern":
		return a.pattern(out, v)
	case name == "format":
		f, ok := v.(string)
		if ok && f != "" && !slices.Contains(formats, f) {
			return true, "The format is " + clip(f, 60) + "."
		}
		valid = ok && f != ""
	case name == "enum":
		list, ok := v.([]any)
		valid = ok && len(list) > 0
	case name == "const":
		out["enum"] = []any{v}
		return true, ""
	case name == "default" || name == "examples":
		valid = true
	case name == "required":
		v, valid = a.required(v)
	case name == "properties":
		v, valid = a.named(v, below, refs)
		out[name] = v
		a.dropImpossible(out)
		return valid, ""
	case name == "patternProperties":
		v, valid = a.patterns(v, below, refs)
	case name == "additionalProperties":
		if _, valid = v.(bool); !valid {
			v, valid = a.schema(v, below(), refs)
		}
	case name == "items" || name == "prefixItems":
		return a.items(out, v, below(), refs), ""
	case slices.Contains(branches, name):
		return a.branches(out, name, v, below, refs), ""
	case slices.Contains(nested, name):
		if s, ok := v.(schema); ok {
			v, _ = a.schema(s, below(), refs)
			out[name] = v
		}
		return true, ""
	default:
		return true, "" // unknown keywords have no meaning for a model
	}
	if valid && a.affords(v) {
		out[name] = v
	}
	return valid, ""
}

// affords reports whether a text or a list of values is within the remaining bytes. References may
// repeat it.
func (a *adapter) affords(v any) bool {
	switch v.(type) {
	case string, []any:
		if a.bytes > 0 {
			a.bytes -= len(compact(v))
		}
	}
	return a.bytes > 0
}

var count = regexp.MustCompile(`^[0-9]{1,15}$`)

// ownSyntax matches what only some regular expression engines know: named groups, flags, classes of
// Unicode, and anchors other than ^ and $.
var ownSyntax = regexp.MustCompile(`\(\?[^:]|\\[pPAzZQECGkK]|\[\[:`)

// isPortable reports whether the engines of all vendors accept a pattern.
func isPortable(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil && len(pattern) <= maxPattern && !ownSyntax.MatchString(pattern)
}

func (a *adapter) pattern(out schema, v any) (valid bool, hint string) {
	p, ok := v.(string)
	if !ok {
		return false, ""
	}
	if !isPortable(p) {
		return true, "It has to match the pattern " + clip(p, 200)
	}
	out["pattern"] = p
	return true, ""
}

func (a *adapter) required(v any) (any, bool) {
	list, ok := v.([]any)
	names := []any{}
	for _, item := range list {
		name, isText := item.(string)
		if isText && !slices.Contains(names, any(a.alias(name))) {
			names = append(names, a.alias(name))
		}
	}
	return names, ok
}

// propertyName is the form of names of properties that Anthropic accepts.
var (
	propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	notAllowed   = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)
)

// alias returns the name of a property that the vendor gets.
func (a *adapter) alias(name string) string {
	if propertyName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	short := notAllowed.ReplaceAllString(name, "_")
	short = short[:min(len(short), 55)] + "_" + hex.EncodeToString(sum[:4])
	a.aliases[short] = name
	return short
}

func (a *adapter) named(v any, below func(...string) []string, refs []string) (any, bool) {
	in, ok := v.(schema)
	out := schema{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		s, possible := a.schema(in[name], below(name), refs)
		if !possible {
			out[a.alias(name)] = nil // see dropImpossible
			continue
		}
		if short := a.alias(name); short != name {
			text, _ := s["description"].(string)
			s["description"] = join("The name of this argument is "+clip(name, 200)+".", text)
			name = short
		}
		out[name] = s
	}
	return out, ok
}

// dropImpossible removes properties whose schema is false, which no object may have.
func (a *adapter) dropImpossible(out schema) {
	properties, _ := out["properties"].(schema)
	for name, s := range properties {
		if s == nil {
			delete(properties, name)
		}
	}
}

func (a *adapter) patterns(v any, below func(...string) []string, refs []string) (any, bool) {
	in, ok := v.(schema)
	out := schema{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !isPortable(name) {
			a.warn(below(), "the pattern %q cannot be sent", clip(name, 100))
			continue
		}
		if s, possible := a.schema(in[name], below(name), refs); possible {
			out[name] = s
		}
	}
	return out, ok
}

// items adapts the schema of items. Positions of a list are alternatives.
func (a *adapter) items(out schema, v any, path, refs []string) bool {
	list, ok := v.([]any)
	if !ok {
		out["items"], _ = a.schema(v, path, refs)
		return true
	}
	merged, _ := out["items"].(schema) // prefixItems follows items
	if len(merged) == 0 {
		merged = nil
	}
	for _, item := range list {
		if s, possible := a.schema(item, path, refs); possible {
			merged = either(merged, s)
		}
	}
	if merged != nil {
		out["items"] = merged
	}
	return true
}

// branches adapts anyOf, oneOf and allOf. Vendors know anyOf best, so oneOf becomes anyOf.
func (a *adapter) branches(out schema, name string, v any, below func(...string) []string, refs []string) bool {
	list, ok := v.([]any)
	all := []any{}
	for i, item := range list {
		if len(all) == maxBranches {
			a.warn(below(), "the model sees only %d of %d schemas", maxBranches, len(list))
			break
		}
		if s, possible := a.schema(item, below(strconv.Itoa(i)), refs); possible && item != nil {
			all = append(all, s)
		}
	}
	if name == "allOf" && len(all) == 1 {
		for k, v := range all[0].(schema) {
			if _, ok := out[k]; !ok {
				out[k] = v
			}
		}
		return ok
	}
	if name == "oneOf" && out["anyOf"] == nil {
		name = "anyOf"
	}
	if len(all) > 0 {
		out[name] = all
	}
	return ok
}

// convertBounds converts the exclusive bounds of draft 4.
func convertBounds(in, out schema) {
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if in[exclusive] == any(true) && out[inclusive] != nil {
			out[exclusive] = out[inclusive]
			delete(out, inclusive)
		}
	}
}

// typeNames are the types, and other names that generators write.
var typeNames = map[string]string{
	"object": "object", "array": "array", "string": "string", "number": "number", "integer": "integer",
	"boolean": "boolean", "null": "null", "str": "string", "text": "string", "int": "integer", "long": "integer",
	"float": "number", "double": "number", "bool": "boolean", "dict": "object", "map": "object", "list": "array",
	"tuple": "array", "none": "null",
}

// setTypes sets type. Several types become anyOf.
func (a *adapter) setTypes(in, out schema) {
	list, ok := in["type"].([]any)
	if !ok {
		list = []any{in["type"]}
	}
	var types []string
	for _, item := range list {
		name, _ := item.(string)
		if item == nil && ok { // YAML reads null as a value
			name = "null"
		}
		if t := typeNames[strings.ToLower(name)]; t != "" && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	switch {
	case len(types) == 1:
		out["type"] = types[0]
	case len(types) > 1 && out["anyOf"] == nil:
		splitTypes(types, out)
	}
}

// forTypes has the keywords for one type.
var forTypes = map[string][]string{
	"string": {"minLength", "maxLength", "pattern", "format"},
	"number": numbers, "integer": numbers,
	"array":  {"items", "minItems", "maxItems", "uniqueItems", "contains"},
	"object": append([]string{"properties", "required"}, ofObjects...),
}

// ofObjects are the keywords of objects that are sent at the root as they are.
var ofObjects = []string{
	"additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
}

// splitTypes moves the keywords of each type to a branch of anyOf.
func splitTypes(types []string, out schema) {
	values, _ := out["enum"].([]any)
	var all []any
	for _, t := range types {
		branch := schema{"type": t}
		for _, k := range forTypes[t] {
			if v, ok := out[k]; ok {
				branch[k] = v
			}
		}
		if own := valuesOf(t, values); len(own) > 0 && t != "null" {
			branch["enum"] = own
		} else if len(values) > 0 && len(own) == 0 {
			continue // no value of this type is allowed
		}
		complete(branch)
		all = append(all, branch)
	}
	for _, keywords := range forTypes {
		for _, k := range keywords {
			delete(out, k)
		}
	}
	delete(out, "enum")
	switch len(all) {
	case 0:
	case 1:
		maps.Copy(out, all[0].(schema))
	default:
		out["anyOf"] = all
	}
}

func valuesOf(t string, values []any) (own []any) {
	for _, v := range values {
		kind := ""
		switch n := v.(type) {
		case nil:
			kind = "null"
		case bool:
			kind = "boolean"
		case string:
			kind = "string"
		case []any:
			kind = "array"
		case schema:
			kind = "object"
		case json.Number:
			kind = "number"
			if _, err := n.Int64(); err == nil && t == "integer" {
				kind = t
			}
		}
		if kind == t {
			own = append(own, v)
		}
	}
	return own
}

// complete adds the keywords that vendors require.
func complete(s schema) {
	if s["type"] == "array" && s["items"] == nil {
		s["items"] = schema{}
	}
	if s["type"] == "object" && s["properties"] == nil {
		s["properties"] = schema{}
	}
	if list, ok := s["required"].([]any); ok && len(list) == 0 {
		delete(s, "required")
	}
}

// objectSchema is the schema of an object without alternatives.
type objectSchema struct {
	rest       schema
	properties schema
	required   []any
}

// schema returns the object as a schema. A required name that is not declared accepts any value.
func (o *objectSchema) schema() schema {
	out := o.rest
	out["type"], out["properties"] = "object", o.properties
	for _, name := range o.required {
		if o.properties[name.(string)] == nil {
			o.properties[name.(string)] = schema{}
		}
	}
	if len(o.required) > 0 {
		out["required"] = o.required
	}
	return out
}

// flattener merges the alternatives of a root, and describes in words what cannot be merged.
type flattener struct{ words []string }

func (f *flattener) text() string { return clip(strings.Join(f.words, " "), 2*maxWords) }

// flatten returns the object that a schema describes, and false if it describes none.
func (f *flattener) flatten(s schema) (*objectSchema, bool) {
	if t := s["type"]; t != nil && t != any("object") {
		return nil, false
	}
	o := &objectSchema{rest: schema{}, properties: schema{}}
	for _, k := range ofObjects {
		if v, ok := s[k]; ok {
			o.rest[k] = v
		}
	}
	if p, ok := s["properties"].(schema); ok {
		maps.Copy(o.properties, p)
	}
	o.required, _ = s["required"].([]any)
	for _, branch := range listOf(s, "allOf") {
		if b, ok := f.flatten(branch); ok {
			o.addAll(b)
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if all := listOf(s, k); len(all) > 0 && !f.alternatives(o, all) {
			return nil, false
		}
	}
	if values, ok := s["enum"].([]any); ok && !f.values(o, values) {
		return nil, false
	}
	f.conditions(o, s)
	return o, true
}

func listOf(s schema, keyword string) (all []schema) {
	list, _ := s[keyword].([]any)
	for _, v := range list {
		all = append(all, v.(schema))
	}
	return all
}

// addAll adds an object that applies too.
func (o *objectSchema) addAll(b *objectSchema) {
	for name, s := range b.properties {
		o.properties[name] = both(o.properties[name], s)
	}
	for _, name := range b.required {
		if !slices.Contains(o.required, name) {
			o.required = append(slices.Clone(o.required), name)
		}
	}
	for k, v := range b.rest {
		if _, ok := o.rest[k]; !ok && k != "additionalProperties" {
			o.rest[k] = v
		}
	}
}

// alternatives adds the properties of all branches. Only names that all require are required. It
// returns false if no branch describes an object.
func (f *flattener) alternatives(o *objectSchema, all []schema) bool {
	merged := schema{}
	var required []any
	var groups []string
	found := false
	for _, branch := range all {
		b, ok := f.flatten(branch)
		if !ok {
			continue
		}
		for name, s := range b.properties {
			before, _ := merged[name].(schema)
			merged[name] = either(before, s.(schema))
		}
		if !found {
			required = slices.Clone(b.required)
		} else {
			required = slices.DeleteFunc(required, func(n any) bool { return !slices.Contains(b.required, n) })
		}
		found = true
		groups = append(groups, groupOf(b))
	}
	for name, s := range merged {
		o.properties[name] = both(o.properties[name], s)
	}
	for _, name := range required {
		if !slices.Contains(o.required, name) {
			o.required = append(slices.Clone(o.required), name)
		}
	}
	if len(groups) > 1 {
		all := strings.Join(groups, " or ")
		f.words = append(f.words, clip("Pass the arguments of one of these groups: "+all, maxWords)+".")
	}
	if _, ok := o.rest["additionalProperties"].(bool); ok && len(merged) > 0 {
		delete(o.rest, "additionalProperties") // it would not count the properties of the branches
	}
	return found
}

// groupOf lists the arguments of a branch: the required ones and the values that select it.
func groupOf(b *objectSchema) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.properties)) {
		text := name
		if s, ok := b.properties[name].(schema); ok {
			if values, ok := s["enum"].([]any); ok && len(values) == 1 {
				text += "=" + compact(values[0])
			}
		}
		if !slices.Contains(b.required, any(name)) {
			text += "?"
		}
		names = append(names, text)
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// values adds the properties of an enumeration of objects.
func (f *flattener) values(o *objectSchema, values []any) bool {
	found := false
	for _, v := range values {
		object, ok := v.(map[string]any)
		if !ok {
			continue
		}
		found = true
		for name, value := range object {
			before, _ := o.properties[name].(schema)
			o.properties[name] = either(before, schema{"enum": []any{value}})
		}
	}
	f.words = append(f.words, describe("The arguments are one of ", values))
	return found
}

// conditions describes the keywords that depend on the values of arguments.
func (f *flattener) conditions(o *objectSchema, s schema) {
	for _, k := range []string{"then", "else"} {
		branch, ok := s[k].(schema)
		if !ok {
			continue
		}
		if b, isObject := f.flatten(branch); isObject {
			for name, p := range b.properties {
				if o.properties[name] == nil {
					o.properties[name] = p
				}
			}
		}
	}
	if s["if"] != nil {
		condition := schema{"if": s["if"]}
		for _, k := range []string{"then", "else"} {
			if s[k] != nil {
				condition[k] = s[k]
			}
		}
		f.words = append(f.words, describe("A condition of the arguments: ", condition))
	}
	if s["not"] != nil {
		f.words = append(f.words, describe("The arguments must not match ", s["not"]))
	}
}

// both merges two schemas of a property that both apply. The first one has precedence.
func both(first, second any) any {
	a, ok := first.(schema)
	b, _ := second.(schema)
	if !ok {
		return second
	}
	out := maps.Clone(b)
	if out == nil {
		out = schema{}
	}
	maps.Copy(out, a)
	if x, ok := a["enum"].([]any); ok {
		if y, ok := b["enum"].([]any); ok {
			shared := slices.DeleteFunc(slices.Clone(x), func(v any) bool { return !contains(y, v) })
			if len(shared) > 0 {
				out["enum"] = shared
			}
		}
	}
	complete(out)
	return out
}

// either merges two schemas of a property of which one applies.
func either(a, b schema) schema {
	switch {
	case a == nil || reflect.DeepEqual(a, b):
		return b
	case isOnly(a, "enum", "type") && isOnly(b, "enum", "type") && a["enum"] != nil && b["enum"] != nil &&
		reflect.DeepEqual(a["type"], b["type"]):
		out := maps.Clone(a)
		values := slices.Clone(a["enum"].([]any))
		for _, v := range b["enum"].([]any) {
			if !contains(values, v) {
				values = append(values, v)
			}
		}
		out["enum"] = values
		return out
	}
	all := slices.Clone(alternativesOf(a))
	for _, v := range alternativesOf(b) {
		if len(all) < maxBranches && !contains(all, v) {
			all = append(all, v)
		}
	}
	if len(all) == 1 {
		return all[0].(schema)
	}
	return schema{"anyOf": all}
}

// alternativesOf returns the schemas of anyOf if the schema has nothing else.
func alternativesOf(s schema) []any {
	if list, ok := s["anyOf"].([]any); ok && isOnly(s, "anyOf") {
		return list
	}
	return []any{s}
}

func contains(all []any, v any) bool {
	return slices.ContainsFunc(all, func(w any) bool { return reflect.DeepEqual(v, w) })
}

func isOnly(s schema, keywords ...string) bool {
	for k := range s {
		if !slices.Contains(keywords, k) {
			return false
		}
	}
	return true
}

// describe returns words and a value as JSON, as a sentence of a limited length.
func describe(words string, v any) string { return clip(words+compact(v), maxWords) + "." }

func compact(v any) string {
	text, err := marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}

// splitDescription cuts a description at a word. The rest is for the description of the schema.
func splitDescription(text string) (first, rest string) {
	text = clip(text, MaxLongDescription)
	if len(text) <= MaxDescription {
		return text, ""
	}
	end := MaxDescription
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if at := strings.LastIndexAny(text[:end], " \n"); at > MaxDescription/2 {
		end = at
	}
	return text[:end], strings.TrimSpace(text[end:])
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// clip cuts a text at a limit in bytes.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// CleanOutput returns the schema of an answer without members that are null and without patterns
// that RE2 refuses. It returns other schemas unchanged.
func CleanOutput(raw json.RawMessage) json.RawMessage {
	v, err := parse(raw)
	s, ok := v.(schema)
	if err != nil || !ok || !clean(s) {
		return raw
	}
	text, err := marshal(s)
	if err != nil {
		return raw
	}
	return text
}

// byName are keywords whose members are schemas.
var byName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}

// clean cleans a schema in place, and reports whether it changed.
func clean(s schema) (changed bool) {
	for name, v := range s {
		p, isText := v.(string)
		_, err := regexp.Compile(p)
		if v == nil && name != "default" && name != "const" || name == "pattern" && isText && err != nil {
			delete(s, name)
			changed = true
			continue
		}
		if name == "enum" || name == "const" || name == "default" || name == "examples" {
			continue
		}
		list, _ := v.([]any)
		below, ok := v.(schema)
		if ok && slices.Contains(byName, name) {
			for key, one := range below {
				if one == nil {
					below[key] = schema{}
					changed = true
				}
				list = append(list, below[key])
			}
		} else if ok {
			list = []any{below}
		}
		for _, item := range list {
			if o, ok := item.(schema); ok {
				changed = clean(o) || changed
			}
		}
	}
	return changed
}
