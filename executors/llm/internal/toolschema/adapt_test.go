package toolschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley/executors/llm/internal/toolschema"
	"github.com/parleyhub/parley/internal/paramschema"
)

var (
	propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	lookAround   = regexp.MustCompile(`\(\?[=!<]`)
	types        = []any{"object", "array", "string", "number", "integer", "boolean", "null"}
	formats      = []any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
)

// refusals returns what OpenAI, Anthropic or a compatible server refuses in the schema of a tool.
func refusals(v any, path string, root bool) (all []string) {
	refuse := func(format string, args ...any) { all = append(all, path+": "+fmt.Sprintf(format, args...)) }
	s, ok := v.(map[string]any)
	if !ok {
		refuse("%v is not of type object", v)
		return all
	}
	if root && s["type"] != any("object") {
		refuse("the type is %v", s["type"])
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "const", "not", "if", "$ref"} {
		if _, ok := s[key]; ok && root {
			refuse("%s at the top level", key)
		}
	}
	for _, key := range []string{"$ref", "$schema", "$id", "$defs", "definitions", "prefixItems"} {
		if _, ok := s[key]; ok {
			refuse("%s is not supported", key)
		}
	}
	if t, ok := s["type"]; ok && !slices.Contains(types, t) {
		refuse("type %v", t)
	}
	if _, ok := s["properties"].(map[string]any); s["type"] == any("object") && !ok {
		refuse("object schema missing properties")
	}
	if _, ok := s["items"].(map[string]any); s["type"] == any("array") && !ok {
		refuse("array schema missing items")
	}
	if f, ok := s["format"]; ok && !slices.Contains(formats, f) {
		refuse("format %v", f)
	}
	if p, ok := s["pattern"].(string); ok && lookAround.MatchString(p) {
		refuse("look-around")
	}
	for key, value := range s {
		if value == nil {
			refuse("%s is null", key)
		}
		switch key {
		case "required", "enum", "anyOf", "oneOf", "allOf":
			list, ok := value.([]any)
			if !ok || len(list) == 0 {
				refuse("%s is no list", key)
			}
			for i, item := range list {
				if name, text := item.(string); key == "required" && (!text || !propertyName.MatchString(name)) {
					refuse("required %v", item)
				}
				if strings.HasSuffix(key, "Of") {
					all = append(all, refusals(item, fmt.Sprintf("%s.%s[%d]", path, key, i), false)...)
				}
			}
		case "properties", "patternProperties":
			named, ok := value.(map[string]any)
			if !ok {
				refuse("%s is no object", key)
			}
			for name, sub := range named {
				if key == "properties" && !propertyName.MatchString(name) {
					refuse("property key %q", name)
				}
				all = append(all, refusals(sub, path+"."+name, false)...)
			}
		case "items", "contains", "propertyNames", "not", "if", "then", "else":
			all = append(all, refusals(value, path+"."+key, false)...)
		case "additionalProperties":
			if _, isSwitch := value.(bool); !isSwitch {
				all = append(all, refusals(value, path+"."+key, false)...)
			}
		case "description", "title":
			if _, ok := value.(string); !ok {
				refuse("%s is no text", key)
			}
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength":
			if _, ok := value.(float64); !ok {
				refuse("%s is no number", key)
			}
		}
	}
	return all
}

func checkVendor(t interface{ Errorf(string, ...any) }, name string, a *toolschema.Adapted) {
	var v any
	if err := json.Unmarshal(a.Parameters, &v); err != nil {
		t.Errorf("%s: %v in %s", name, err, a.Parameters)
		return
	}
	if wrong := refusals(v, "", true); len(wrong) > 0 {
		t.Errorf("%s: %q in %s", name, wrong, a.Parameters)
	}
	if len(a.Description) > toolschema.MaxDescription {
		t.Errorf("%s: the description has %d bytes", name, len(a.Description))
	}
}

func TestAdapt(t *testing.T) {
	const text, whole = `{"type":"string"}`, `{"type":"integer"}`
	for _, c := range []struct{ name, schema, want, words string }{
		{"nothing", ``, `{"properties":{},"type":"object"}`, ""},
		{"null", `null`, `{"properties":{},"type":"object"}`, ""},
		{"true", `true`, `{"properties":{},"type":"object"}`, ""},
		{"an ordinary schema", `{"type":"object","required":["q"],"properties":{"q":{"type":"string","minLength":1,` +
			`"default":"x"}},"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"q":{"default":"x","minLength":1,"type":"string"}},"required":["q"],` +
				`"type":"object"}`, ""},
		{"anyOf at the root", `{"type":"object","anyOf":[{"properties":{"content":` + text + `},"required":["content"]},` +
			`{"properties":{"url":` + text + `},"required":["url"]}]}`,
			`{"properties":{"content":` + text + `,"url":` + text + `},"type":"object"}`,
			"Pass the arguments of one of these groups: {content} or {url}."},
		{"oneOf with a selector", `{"oneOf":[{"properties":{"kind":{"const":"a"},"x":` + text + `},"required":["kind"]},` +
			`{"properties":{"kind":{"const":"b"},"x":` + whole + `},"required":["kind","x"]}]}`,
			`{"properties":{"kind":{"enum":["a","b"]},"x":{"anyOf":[` + text + `,` + whole + `]}},"required":["kind"],` +
				`"type":"object"}`, `{kind="a", x?} or {kind="b", x}`},
		{"allOf at the root", `{"allOf":[{"properties":{"a":` + text + `},"required":["a"]},{"$ref":"#/$defs/b"}],` +
			`"$defs":{"b":{"properties":{"b":` + whole + `},"required":["b"]}}}`,
			`{"properties":{"a":` + text + `,"b":` + whole + `},"required":["a","b"],"type":"object"}`, ""},
		{"a reference at the root", `{"$ref":"#/definitions/o","definitions":{"o":{"type":"object",` +
			`"properties":{"a":` + text + `}}}}`, `{"properties":{"a":` + text + `},"type":"object"}`, ""},
		{"not, if and enum at the root", `{"type":"object","properties":{"a":{}},"not":{"required":["b"]},` +
			`"if":{"required":["a"]},"then":{"properties":{"c":` + whole + `}}}`,
			`{"properties":{"a":{},"c":` + whole + `},"type":"object"}`, `must not match {"required":["b"]}.`},
		{"an enumeration", `{"enum":[{"a":1},{"a":2,"b":"x"},null]}`,
			`{"properties":{"a":{"enum":[1,2]},"b":{"enum":["x"]}},"type":"object"}`, "The arguments are one of"},
		{"dependencies", `{"dependentRequired":{"a":["b"]},"dependencies":{"c":["d"]}}`,
			`{"description":"Arguments that require others: {\"c\":[\"d\"]}. ` +
				`Arguments that require others: {\"a\":[\"b\"]}.","properties":{},"type":"object"}`, ""},
		{"null members", `{"type":null,"properties":{"n":{"type":"integer","enum":null,"default":null},"l":{"type":"array",` +
			`"items":null},"o":null},"required":null,"additionalProperties":null}`,
			`{"properties":{"l":{"items":{},"type":"array"},"n":{"type":"integer"},"o":{}},"type":"object"}`, ""},
		{"booleans", `{"properties":{"a":true,"b":false,"l":{"type":"array","items":true}},"required":["a"]}`,
			`{"properties":{"a":{},"l":{"items":{},"type":"array"}},"required":["a"],"type":"object"}`, ""},
		{"several types", `{"type":["object","null"],"properties":{"a":{"type":["string","null"],"maxLength":3,` +
			`"description":"d","enum":["x",null]},"b":{"type":["array","string"]},"c":{"type":["string"]}}}`,
			`{"properties":{"a":{"anyOf":[{"enum":["x"],"maxLength":3,"type":"string"},{"type":"null"}],"description":"d"},` +
				`"b":{"anyOf":[{"items":{},"type":"array"},{"type":"string"}]},"c":` + text + `},"type":"object"}`, ""},
		{"other names of types", `{"type":"OBJECT","properties":{"a":{"type":"String"},"b":{"type":"int"},` +
			`"c":{"type":"any"},"d":{"type":"file"}}}`,
			`{"properties":{"a":` + text + `,"b":` + whole + `,"c":{},"d":{}},"type":"object"}`, ""},
		{"patterns of some engines only", `{"properties":{"a":{"pattern":"^(?<y>x)$"},"b":{"pattern":"^\\p{L}$"},` +
			`"c":{"pattern":"(?i)x"},"d":{"pattern":"^(?:x)$"}},"patternProperties":{"^(?P<n>x)":{}}}`,
			`{"patternProperties":{},"properties":{"a":{"description":"It has to match the pattern ^(?<y>x)$"},` +
				`"b":{"description":"It has to match the pattern ^\\p{L}$"},` +
				`"c":{"description":"It has to match the pattern (?i)x"},"d":{"pattern":"^(?:x)$"}},"type":"object"}`,
			""},
		{"look-ahead and a format", `{"properties":{"a":{"type":"string","pattern":"^(?!x)","format":"uint64"},` +
			`"b":{"pattern":"^x","format":"date"}}}`,
			`{"properties":{"a":{"description":"The format is uint64. It has to match the pattern ^(?!x)","type":"string"},` +
				`"b":{"format":"date","pattern":"^x"}},"type":"object"}`, ""},
		{"a list of items", `{"properties":{"l":{"type":"array","items":[` + text + `,` + whole + `,` + text + `]},` +
			`"m":{"prefixItems":[` + text + `],"items":false}}}`,
			`{"properties":{"l":{"items":{"anyOf":[` + text + `,` + whole + `]},"type":"array"},"m":{"items":` + text +
				`}},"type":"object"}`, ""},
		{"wrong forms", `{"properties":{"a":{"required":true,"minLength":"3","enum":[],"title":4,"minimum":1,` +
			`"exclusiveMinimum":true,"oneOf":{},"properties":[]}},"required":[1,"a","a"]}`,
			`{"properties":{"a":{"exclusiveMinimum":1,"properties":{}}},"required":["a"],"type":"object"}`, ""},
		{"recursion", `{"properties":{"v":` + whole + `,"next":{"$ref":"#"}}}`,
			`{"properties":{"next":{"properties":{"next":{"description":"The same form as its parent."},"v":` + whole +
				`}},"v":` + whole + `},"type":"object"}`, ""},
		{"a missing target", `{"properties":{"a":{"$ref":"https://example.com/x"},` +
			`"b":{"$ref":"#/nowhere","description":"d"}}}`,
			`{"properties":{"a":{},"b":{"description":"d"}},"type":"object"}`, ""},
		{"a single allOf", `{"properties":{"a":{"allOf":[{"$ref":"#/$defs/e"}],"description":"d"}},` +
			`"$defs":{"e":{"enum":["x"]}}}`,
			`{"properties":{"a":{"description":"d","enum":["x"]}},"type":"object"}`, ""},
		{"a required name without schema", `{"required":["a"]}`,
			`{"properties":{"a":{}},"required":["a"],"type":"object"}`, ""},
	} {
		a, err := toolschema.Adapt("d", json.RawMessage(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if string(a.Parameters) != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, a.Parameters, c.want)
		}
		if !strings.HasPrefix(a.Description, "d") || !strings.Contains(a.Description, c.words) {
			t.Errorf("%s: the description is %q, want %q", c.name, a.Description, c.words)
		}
		checkVendor(t, c.name, a)
	}
}

func TestAdaptRefuses(t *testing.T) {
	for _, raw := range []string{
		`{"type":"string"}`, `false`, `[]`, `1`, `{"type":["array","null"]}`, `{"anyOf":[{"type":"string"},false]}`,
		`{"enum":["a"]}`,
		`{"$ref":"#/$defs/s","$defs":{"s":{"type":"string"}}}`, `{"$ref":"#/$defs/s","$defs":{"s":false}}`,
	} {
		if a, err := toolschema.Adapt("", json.RawMessage(raw)); !errors.Is(err, toolschema.ErrNotObject) {
			t.Errorf("%s: %v %v", raw, a, err)
		}
	}
	for _, raw := range []string{`{`, `{} {}`, `{"description":"` + strings.Repeat("x", toolschema.MaxBytes) + `"}`} {
		if a, err := toolschema.Adapt("", json.RawMessage(raw)); err == nil {
			t.Errorf("%.40s: %.80s", raw, a.Parameters)
		}
	}
}

// Names that Anthropic refuses get an alias, at any depth. The arguments of a call get them back.
func TestAliases(t *testing.T) {
	long := strings.Repeat("n", 70)
	a, err := toolschema.Adapt("", json.RawMessage(`{"required":["filter[name]"],`+
		`"properties":{"filter[name]":{"type":"string"},`+
		`"filter(name)":{},"o":{"properties":{"größe":{"type":"integer"},"`+long+`":{}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	checkVendor(t, "aliases", a)
	back := map[string]string{}
	for alias, name := range a.Aliases {
		back[name] = alias
	}
	if len(back) != 4 || !strings.Contains(string(a.Parameters), `"required":["`+back["filter[name]"]+`"]`) {
		t.Fatalf("%v %s", a.Aliases, a.Parameters)
	}
	arguments := map[string]any{back["filter[name]"]: "x", "o": map[string]any{back["größe"]: 1, back[long]: 2, "z": 3},
		"l": []any{map[string]any{back["filter(name)"]: 4}}}
	got, err := json.Marshal(toolschema.Restore(arguments, a.Aliases))
	if err != nil || string(got) != `{"filter[name]":"x","l":[{"filter(name)":4}],"o":{"größe":1,"`+long+`":2,"z":3}}` {
		t.Errorf("%s %v", got, err)
	}
}

// The end of a long description is in the schema, so that no part of it is lost.
func TestLongDescription(t *testing.T) {
	words := strings.Repeat("word ", 1000) + "end"
	a, err := toolschema.Adapt(words, json.RawMessage(`{"description":"own"}`))
	if err != nil {
		t.Fatal(err)
	}
	checkVendor(t, "long", a)
	var s struct{ Description string }
	if err := json.Unmarshal(a.Parameters, &s); err != nil || a.Description+" "+s.Description != words+" own" {
		t.Errorf("%v %q", err, s.Description)
	}
}

// References that double, and values that references repeat, do not make the result large.
func TestAdaptIsBounded(t *testing.T) {
	double := make([]string, 40)
	for i := range double {
		double[i] = fmt.Sprintf(`"a%d":{"properties":{"x":{"$ref":"#/$defs/a%d"},"y":{"$ref":"#/$defs/a%d"}}}`, i, i+1, i+1)
	}
	uses := make([]string, 1000)
	for i := range uses {
		uses[i] = fmt.Sprintf(`"p%d":{"$ref":"#/$defs/e"}`, i)
	}
	branches := make([]string, 1000)
	for i := range branches {
		branches[i] = fmt.Sprintf(`{"properties":{"x":{"maximum":%d}}}`, i)
	}
	for name, raw := range map[string]string{
		"doubling": `{"$ref":"#/$defs/a0","$defs":{` + strings.Join(double, ",") + `,"a40":{}}}`,
		"large enum": `{"properties":{` + strings.Join(uses, ",") + `},"$defs":{"e":{"enum":["` +
			strings.Repeat("x", 60_000) + `"]}}}`,
		"nesting":      strings.Repeat(`{"items":`, 2000) + `{}` + strings.Repeat(`}`, 2000),
		"alternatives": `{"anyOf":[` + strings.Join(branches, ",") + `]}`,
		"a long chain": `{"$ref":"#/$defs/0","$defs":{` + chain(3000) + `}}`,
	} {
		a, err := toolschema.Adapt("", json.RawMessage(raw))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkVendor(t, name, a)
		if len(a.Warnings) == 0 && name != "large enum" {
			t.Errorf("%s: no warning", name)
		}
	}
}

func chain(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i+1)
	}
	return strings.Join(all, ",")
}

// drawJSON draws what a faulty generator may write at the place of a schema.
func drawJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.SampledFrom([]any{nil, true, false, 1.5, "string", "object", "#", "#/$defs/a", "(?=x)", []any{},
		map[string]any{}})
	if depth == 0 {
		return leaf
	}
	keys := rapid.SampledFrom([]string{
		"type", "properties", "required", "items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "enum",
		"const", "$ref", "$defs", "a", "b c", "additionalProperties", "patternProperties", "pattern", "format", "minimum",
		"exclusiveMinimum", "description", "default", "minLength", "dependencies", "x[]", "contains", "uniqueItems",
	})
	below := drawJSON(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(below, 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(keys, below, 0, 4), func(m map[string]any) any { return m }),
		rapid.Map(rapid.MapOfN(keys, below, 1, 5), func(m map[string]any) any { return m }),
		rapid.Map(rapid.SampledFrom([]string{"object", "array", "string"}),
			func(s string) any { return map[string]any{"type": s} }))
}

// Vendors accept every adapted schema, and adapting it again changes nothing that vendors refuse.
func TestVendorsAcceptAdaptedSchemas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(drawJSON(5).Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := toolschema.Adapt("d", raw)
		if err != nil {
			return
		}
		checkVendor(t, string(raw), a)
		again, err := toolschema.Adapt("d", raw)
		if err != nil || string(again.Parameters) != string(a.Parameters) || again.Description != a.Description {
			t.Fatalf("%s: the result differs: %s and %s (%v)", raw, a.Parameters, again.Parameters, err)
		}
		if _, err := paramschema.Compile(a.Parameters); err != nil {
			t.Fatalf("%s: %s does not compile: %v", raw, a.Parameters, err)
		}
	})
}

func TestCleanOutput(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"object","required":null,"properties":{"pattern":{"type":"string","pattern":"(?!a)"},` +
			`"n":null}}`: `{"properties":{"n":{},"pattern":{"type":"string"}},"type":"object"}`,
		`{"b":1, "type":"object","default":null}`: `{"b":1, "type":"object","default":null}`,
		`{"items":[{"pattern":"(?=a)"}],` +
			`"enum":[{"pattern":"(?=a)","x":null}]}`: `{"enum":[{"pattern":"(?=a)","x":null}],"items":[{}]}`,
		`true`: `true`,
	} {
		if got := string(toolschema.CleanOutput(json.RawMessage(raw))); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", raw, got, want)
		}
	}
}
