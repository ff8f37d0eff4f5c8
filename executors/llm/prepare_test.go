package llm_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
)

func ptr[T any](v T) *T { return &v }

// asked runs a definition once and returns the request that the provider got.
func asked(t *testing.T, can llm.Capabilities, d *llm.Definition, o *llm.Options) llm.Request {
	t.Helper()
	a := &answers{all: []answer{says(`{}`)}}
	r := a.runtime(llm.Models{{Capabilities: can}})
	d.Model = "m"
	if _, err := r.Run(t.Context(), prepare(t, r, d, o), question("hi")); err != nil {
		t.Fatal(err)
	}
	return a.asked[0]
}

func TestPrepareFitsSampling(t *testing.T) {
	for _, c := range []struct {
		name              string
		can               llm.Capabilities
		temperature, topP *float64
		o                 llm.Options
		wantT, wantP      *float64
		wantSeed          *int64
	}{
		{name: "nothing"},
		{name: "as given", temperature: ptr(0.7), topP: ptr(0.9), o: llm.Options{Seed: ptr(int64(7))}, wantT: ptr(0.7),
			wantP: ptr(0.9), wantSeed: ptr(int64(7))},
		{name: "clamped", can: llm.Capabilities{MaxTemperature: ptr(1.0)}, temperature: ptr(1.7), wantT: ptr(1.0)},
		{name: "below the bound", can: llm.Capabilities{MaxTemperature: ptr(1.0)}, temperature: ptr(0.7), wantT: ptr(0.7)},
		{name: "fixed", can: llm.Capabilities{FixedTemperature: ptr(1.0)}, temperature: ptr(0.2), wantT: ptr(1.0)},
		{name: "fixed and absent", can: llm.Capabilities{FixedTemperature: ptr(1.0)}},
		{name: "neither", can: llm.Capabilities{NoTemperature: true, NoTopP: true, NoSeed: true}, temperature: ptr(0.2),
			topP: ptr(0.3), o: llm.Options{Seed: ptr(int64(7))}},
		{name: "one of two", can: llm.Capabilities{TemperatureOrTopP: true}, temperature: ptr(0.2), topP: ptr(0.3),
			wantT: ptr(0.2)},
		{name: "one of two, the other", can: llm.Capabilities{TemperatureOrTopP: true}, topP: ptr(0.3), wantP: ptr(0.3)},
		{name: "deterministic", temperature: ptr(0.7), o: llm.Options{Deterministic: true, Seed: ptr(int64(7))},
			wantT: ptr(0.0), wantP: ptr(1.0), wantSeed: ptr(int64(7))},
		{name: "deterministic, one of two", can: llm.Capabilities{TemperatureOrTopP: true},
			o: llm.Options{Deterministic: true}, wantT: ptr(0.0)},
		{name: "deterministic, fixed", can: llm.Capabilities{FixedTemperature: ptr(1.0)}, o: llm.Options{Deterministic: true},
			wantT: ptr(1.0), wantP: ptr(1.0)},
		{name: "deterministic, neither", can: llm.Capabilities{NoTemperature: true, NoTopP: true},
			o: llm.Options{Deterministic: true}},
		{name: "an API without seeds", can: llm.Capabilities{API: llm.APIResponses}, o: llm.Options{Seed: ptr(int64(7))}},
		{name: "an API with seeds", can: llm.Capabilities{API: llm.APIChat}, o: llm.Options{Seed: ptr(int64(7))},
			wantSeed: ptr(int64(7))},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := asked(t, c.can, &llm.Definition{Temperature: c.temperature, TopP: c.topP}, &c.o)
			if !reflect.DeepEqual(got.Temperature, c.wantT) || !reflect.DeepEqual(got.TopP, c.wantP) ||
				!reflect.DeepEqual(got.Seed, c.wantSeed) {
				t.Errorf("temperature %s, top_p %s, seed %s: expected %s, %s, %s", js(got.Temperature), js(got.TopP), js(got.Seed),
					js(c.wantT), js(c.wantP), js(c.wantSeed))
			}
			if got.API != c.can.API {
				t.Errorf("API %q", got.API)
			}
		})
	}
}

func js(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestPrepareFitsMaxTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		can    llm.Capabilities
		given  int
		budget int64
		want   int
	}{
		{"none", llm.Capabilities{}, 0, 0, 0},
		{"as given", llm.Capabilities{MaxTokensParam: "max_completion_tokens"}, 100, 0, 100},
		{"the model's bound", llm.Capabilities{MaxOutputTokens: 50}, 100, 0, 50},
		{"the model's default", llm.Capabilities{DefaultMaxTokens: 70, MaxOutputTokens: 80}, 0, 0, 70},
		{"no default where there is one", llm.Capabilities{DefaultMaxTokens: 70}, 90, 0, 90},
		{"no bound where none is given", llm.Capabilities{MaxOutputTokens: 80}, 0, 0, 0},
		{"the budget", llm.Capabilities{MaxOutputTokens: 80}, 0, 60, 60 - 9},
		{"the budget below", llm.Capabilities{MaxOutputTokens: 80}, 70, 60, 60 - 9},
		{"the budget above", llm.Capabilities{MaxOutputTokens: 80}, 70, 600, 70},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := asked(t, c.can, &llm.Definition{MaxTokens: c.given}, &llm.Options{Budget: llm.Budget{Tokens: c.budget}})
			if got.MaxTokens != c.want || got.MaxTokensParam != c.can.MaxTokensParam {
				t.Errorf("%s %d: expected %d", got.MaxTokensParam, got.MaxTokens, c.want)
			}
		})
	}
}

func TestPreparePassesOn(t *testing.T) {
	tools := []llm.ToolSpec{{Name: "look", Parameters: schema(`{"type":"object"}`)}}
	got := asked(t, llm.Capabilities{API: llm.APIChat}, &llm.Definition{Instructions: "Be kind.", Tools: tools},
		&llm.Options{
			ResponsesUseInstructions: true, IdempotencyKey: "k", TraceID: "t", Metadata: map[string]string{"a": "b"},
			ToolChoice: llm.ToolsRequired,
		})
	want := llm.Request{
		Model: "m", API: llm.APIChat, Instructions: "Be kind.", Messages: question("hi").Messages, Tools: tools,
		ToolChoice:      llm.ToolsRequired,
		UseInstructions: true, IdempotencyKey: "k", TraceID: "t", Metadata: map[string]string{"a": "b"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("asked %s: expected %s", js(got), js(want))
	}
}

func TestPrepareRefuses(t *testing.T) {
	object := schema(`{"type":"object"}`)
	for _, c := range []struct {
		name string
		d    llm.Definition
		o    llm.Options
		want string
	}{
		{"no model", llm.Definition{}, llm.Options{}, "model:"},
		{"temperature", llm.Definition{Temperature: ptr(-1.0)}, llm.Options{}, "temperature:"},
		{"temperature that is no number", llm.Definition{Temperature: ptr(math.NaN())}, llm.Options{}, "temperature:"},
		{"top_p", llm.Definition{TopP: ptr(0.0)}, llm.Options{}, "top_p:"},
		{"max_tokens", llm.Definition{MaxTokens: -1}, llm.Options{}, "max_tokens:"},
		{"a tool's name", llm.Definition{Tools: []llm.ToolSpec{{Name: "a b", Parameters: object}}}, llm.Options{},
			`tools[0]: invalid name "a b"`},
		{"two tools", llm.Definition{Tools: []llm.ToolSpec{{Name: "a", Parameters: object}, {Name: "a", Parameters: object}}},
			llm.Options{}, `tools[1]: duplicate name "a"`},
		{"a tool's parameters", llm.Definition{Tools: []llm.ToolSpec{{Name: "a", Parameters: schema(`[]`)}}}, llm.Options{},
			"tools[0]: parameters of a"},
		{"no parameters", llm.Definition{Tools: []llm.ToolSpec{{Name: "a"}}}, llm.Options{}, "tools[0]: parameters of a"},
		{"a model without tools", llm.Definition{Model: "bare", Tools: []llm.ToolSpec{{Name: "a", Parameters: object}}},
			llm.Options{}, "tools: the model bare does not support tools"},
		{"a schema", llm.Definition{OutputSchema: schema(`{"type":"thing"}`)}, llm.Options{}, "output_schema: "},
		{"a schema that is no JSON", llm.Definition{OutputSchema: schema(`{`)}, llm.Options{}, "output_schema: "},
		{"a template", llm.Definition{UserTemplate: "{a b}"}, llm.Options{}, "user_template:"},
		{"a budget of tokens", llm.Definition{}, llm.Options{Budget: llm.Budget{Tokens: -1}}, "budget.tokens:"},
		{"a budget of time", llm.Definition{}, llm.Options{Budget: llm.Budget{Time: -1}}, "budget.time:"},
		{"retries", llm.Definition{}, llm.Options{MaxRetries: -1}, "max_retries:"},
		{"calls of tools", llm.Definition{}, llm.Options{MaxToolCalls: -1}, "max_tool_calls:"},
		{"a choice", llm.Definition{}, llm.Options{ToolChoice: "some"}, "tool_choice:"},
		{"a tool is required", llm.Definition{}, llm.Options{ToolChoice: llm.ToolsRequired},
			"tool_choice: required requires at least one tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := (&answers{}).runtime(llm.Models{{Prefix: "bare", Capabilities: llm.Capabilities{NoTools: true}}})
			if c.d.Model == "" && c.name != "no model" {
				c.d.Model = "m"
			}
			_, err := r.Prepare(t.Context(), &c.d, &c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "prepare fake") {
				t.Errorf("error %v: expected one that says %q", err, c.want)
			}
		})
	}
}

func TestPrepareStrictSchema(t *testing.T) {
	const simple = `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a","b"],` +
		`"additionalProperties":false}`
	const round = `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],` +
		`"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],` +
		`"additionalProperties":false}},"additionalProperties":false}`
	openai := llm.Capabilities{StrictSchema: llm.SchemasOpenAI}
	with := func(a string) string {
		return `{"type":"object","properties":{"a":` + a + `},"required":["a"],"additionalProperties":false}`
	}
	for _, c := range []struct {
		name   string
		can    llm.Capabilities
		lax    bool
		given  string
		want   string // empty means the given schema
		strict bool
	}{
		{"strict already", llm.Capabilities{}, false, simple, "", true},
		{"lax", llm.Capabilities{}, true, simple, "", false},
		{"closed in a copy, in its order", llm.Capabilities{}, false,
			`{"type":"object","properties":{"z":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]},` +
				`"a":{"type":"array","items":{"type":"object"}}},"required":["z","a"]}`,
			`{"type":"object","properties":{"z":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],` +
				`"additionalProperties":false},` +
				`"a":{"type":"array","items":{"type":"object","properties":{},"required":[],"additionalProperties":false}}},` +
				`"required":["z","a"],"additionalProperties":false}`, true},
		{"a property that may be left out", llm.Capabilities{}, false,
			`{"type":"object","properties":{"a":{"type":"string"}}}`, "", false},
		{"one inside", llm.Capabilities{}, false,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"x":{}}},{"type":"null"}]}},` +
				`"required":["a"]}`, "", false},
		{"open", llm.Capabilities{}, false, `{"type":"object","additionalProperties":true}`, "", false},
		{"open with a schema", llm.Capabilities{}, false, `{"type":"object","additionalProperties":{"type":"string"}}`, "",
			false},
		{"no object", llm.Capabilities{}, false, `{"type":"array","items":{"type":"string"}}`, "", false},
		{"another keyword", llm.Capabilities{}, false,
			`{"type":"object","properties":{"a":{"type":"string","minLength":3}},"required":["a"]}`, "", false},
		{"bounds of a number", llm.Capabilities{}, false, with(`{"type":"integer","minimum":1}`), "", false},
		{"bounds of a number, openai", openai, false, with(`{"type":"integer","minimum":1}`), "", true},
		{"bounds of a list", llm.Capabilities{}, false, with(`{"type":"array","items":{"type":"string"},"maxItems":3}`), "",
			false},
		{"bounds of a list, openai", openai, false, with(`{"type":"array","items":{"type":"string"},"maxItems":3}`), "",
			true},
		{"a format", llm.Capabilities{}, false, with(`{"type":"string","format":"date"}`), "", true},
		{"a format that vendors do not know", openai, false, with(`{"type":"string","format":"uri"}`), "", false},
		{"a list of anything", openai, false, with(`{"type":"array"}`), "", false},
		{"anything", openai, false, with(`{}`), "", false},
		{"values that are no scalars", openai, false, with(`{"enum":[["x"]]}`), "", false},
		{"a pattern", llm.Capabilities{}, false, with(`{"type":"string","pattern":"^a"}`), "", false},
		{"a pattern, openai", openai, false, with(`{"type":"string","pattern":"^a"}`), "", true},
		{"one that names itself", llm.Capabilities{}, false, round, "", false},
		{"one that names itself, openai", openai, false, round, "", true},
		{"true", llm.Capabilities{}, false, `{"type":"object","properties":{"a":true},"required":["a"]}`, "", false},
		{"null members and look-ahead", openai, false,
			`{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"(?!x)","enum":null}},` +
				`"additionalProperties":null}`,
			`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object","additionalProperties":false}`, true},
		{"required and not there", llm.Capabilities{}, false, `{"type":"object","required":["a"]}`, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &answers{all: []answer{says("no JSON")}}
			r := a.runtime(llm.Models{{Capabilities: c.can}})
			p := prepare(t, r, &llm.Definition{Model: "m", OutputSchema: schema(c.given)}, &llm.Options{Lax: c.lax})
			if _, err := r.Run(t.Context(), p, question("hi")); err == nil {
				t.Fatal("expected a check of the answer")
			}
			if c.want == "" {
				c.want = c.given
			}
			if out := a.asked[0].Output; out == nil || out.Strict != c.strict || string(out.Schema) != c.want ||
				out.Name != llm.OutputName {
				t.Errorf("the output %s: expected %s, strict %t", js(out), c.want, c.strict)
			}
		})
	}
	t.Run("a model without schemas", func(t *testing.T) {
		got := asked(t, llm.Capabilities{NoSchema: true},
			&llm.Definition{Instructions: "Be kind.", OutputSchema: schema(`{"type": "object"}`)}, nil)
		if got.Output != nil || !strings.HasPrefix(got.Instructions, "Be kind.") ||
			!strings.HasSuffix(got.Instructions, `{"type":"object"}`) {
			t.Errorf("asked %s: expected the schema in the instructions", js(got))
		}
	})
}

func TestUserTemplate(t *testing.T) {
	variables := map[string]any{
		"name": "Ann <b>", "n": 3, "list": []any{"a", 1.5}, "map": map[string]any{"b": 1, "a": "<"},
		"raw": json.RawMessage(`"text"`), "object": json.RawMessage(` {"x": 1} `), "null": nil,
	}
	for _, c := range []struct{ template, want, fault string }{
		{template: "Hello {name}!", want: "Hello Ann <b>!"},
		{template: "{n}{n} {list} {map}", want: `33 ["a",1.5] {"a":"<","b":1}`},
		{template: "{raw} {object} {null}", want: `text {"x": 1} null`},
		{template: "{{name}} {{{name}}}", want: "{name} {Ann <b>}"},
		{template: "{{ }} {{}}", want: "{ } {}"},
		{template: "{nobody}", fault: `unknown variable "nobody"`},
		{template: "{}", fault: "at byte 0"},
		{template: "a{name", fault: "at byte 1"},
		{template: "name}", fault: "at byte 4"},
		{template: "{name!r}", fault: "at byte 0"},
		{template: "{name:>10}", fault: "at byte 0"},
		{template: "{a.b}", fault: `unknown variable "a.b"`},
		{template: `{"a": 1}`, fault: "at byte 0"},
	} {
		a := &answers{all: []answer{says("ok")}}
		r := a.runtime(nil)
		p, err := r.Prepare(t.Context(), &llm.Definition{Model: "m", UserTemplate: c.template}, nil)
		if err == nil {
			in := question("and this")
			in.Variables = variables
			_, err = r.Run(t.Context(), p, in)
		}
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), "user_template") || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: error %v: expected %q", c.template, err, c.fault)
			}
		case err != nil:
			t.Errorf("%s: %v", c.template, err)
		default:
			if got := a.asked[0].Messages; len(got) != 2 || got[0].Text != c.want || got[0].Role != llm.RoleUser ||
				got[1].Text != "and this" {
				t.Errorf("%s: messages %s: expected %q first", c.template, js(got), c.want)
			}
		}
	}
}

func TestRunRequiresMessage(t *testing.T) {
	a := &answers{all: []answer{says("ok")}}
	r := a.runtime(nil)
	p := prepare(t, r, &llm.Definition{Model: "m", Instructions: "Be kind."}, nil)
	h := &heard{t: t}
	if _, err := r.RunStream(t.Context(), p, nil, h.sink); err == nil || len(h.events) != 0 || len(a.asked) != 0 {
		t.Errorf("error %v, %d events: expected an error and no stream", err, len(h.events))
	}
}

// TestPrepareRefusesWhatVendorsDo has metadata and limits that vendors refuse.
func TestPrepareRefusesWhatVendorsDo(t *testing.T) {
	r := (&answers{}).runtime(llm.Models{{Capabilities: llm.Capabilities{MinOutputTokens: 16}}})
	many := map[string]string{}
	for i := range 17 {
		many[strings.Repeat("k", i+1)] = "v"
	}
	for _, c := range []struct {
		most     int
		metadata map[string]string
		fault    string
	}{
		{16, map[string]string{strings.Repeat("é", 64): strings.Repeat("é", 512)}, ""},
		{15, nil, "max_tokens: the model m takes at least 16"},
		{0, map[string]string{strings.Repeat("k", 65): "v"}, "metadata.kkkk"},
		{0, map[string]string{"": "v"}, "metadata."},
		{0, map[string]string{"k": strings.Repeat("v", 513)}, "metadata.k:"},
		{0, many, "metadata: expected at most 16"},
	} {
		_, err := r.Prepare(t.Context(), &llm.Definition{Model: "m", MaxTokens: c.most}, &llm.Options{Metadata: c.metadata})
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%v: expected %q", err, c.fault)
		}
	}
}
