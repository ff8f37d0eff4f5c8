package arguments_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/arguments"
)

var declared = []string{"A", "a-b", "b", "c.d", "n", "o", "s", "x"}

// TestGive: each value has one form in each way, and arrives in the order of the parameters.
func TestGive(t *testing.T) {
	for _, c := range []struct {
		parameters string
		flags, env []string
		stdin      string
	}{
		{``, nil, nil, `{}`},
		{` { } `, nil, nil, `{}`},
		{`{"s":"x y","b":true,"A":false,"n":null}`, []string{"--s=x y", "--b"}, []string{"PARAM_S=x y", "PARAM_B=true",
			"PARAM_A=false"}, `{"s":"x y","b":true,"A":false,"n":null}`},
		{`{"x":["a,b","",1,true,false,null,[1, 2],{"k": "v"}]}`,
			[]string{"--x=a,b", "--x=", "--x=1", "--x=true", "--x=false", "--x=null", "--x=[1,2]", `--x={"k":"v"}`},
			[]string{`PARAM_X=["a,b","",1,true,false,null,[1,2],{"k":"v"}]`},
			`{"x":["a,b","",1,true,false,null,[1,2],{"k":"v"}]}`},
		{`{"x":[]}`, nil, []string{"PARAM_X=[]"}, `{"x":[]}`},
		{`{"s":""}`, []string{"--s="}, []string{"PARAM_S="}, `{"s":""}`},
		{`{"s":"\u00e9\ud83d\ude00\n\"<"}`, []string{"--s=é😀\n\"<"}, []string{"PARAM_S=é😀\n\"<"},
			`{"s":"\u00e9\ud83d\ude00\n\"<"}`},
		{`{"n":12345678901234567890,"x":1e400,"o":-0.10}`, []string{"--n=12345678901234567890", "--x=1e400", "--o=-0.10"},
			[]string{"PARAM_N=12345678901234567890", "PARAM_X=1e400", "PARAM_O=-0.10"},
			`{"n":12345678901234567890,"x":1e400,"o":-0.10}`},
		{`{"o":{"a" : "\u0000", "__proto__":[1]},"c.d":1,"a-b":2}`, []string{`--o={"a":"\u0000","__proto__":[1]}`, "--c.d=1",
			"--a-b=2"},
			[]string{`PARAM_O={"a":"\u0000","__proto__":[1]}`, "PARAM_C_D=1", "PARAM_A_B=2"},
			`{"o":{"a":"\u0000","__proto__":[1]},"c.d":1,"a-b":2}`},
		{`{"s":"--n=1","x":["-rf","--"]}`, []string{"--s=--n=1", "--x=-rf", "--x=--"}, []string{"PARAM_S=--n=1",
			`PARAM_X=["-rf","--"]`}, `{"s":"--n=1","x":["-rf","--"]}`},
	} {
		for via, want := range map[parley.ParamsVia]arguments.Converted{
			parley.ParamsFlags: {Flags: c.flags}, "": {Flags: c.flags}, parley.ParamsEnv: {Env: c.env},
			parley.ParamsStdin: {Stdin: []byte(c.stdin)},
		} {
			got, wrong, err := arguments.Convert(via, declared, json.RawMessage(c.parameters))
			if err != nil || wrong != nil {
				t.Errorf("%s by %s: %v, %v", c.parameters, via, wrong, err)
				continue
			}
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Errorf("%s by %s: %s", c.parameters, via, diff)
			}
		}
	}
}

// TestRefused checks that flags and variables refuse parameters that they cannot express, with
// their paths. Stdin accepts all of them.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", arguments.MaxBytes-len("--s="))
	for parameters, want := range map[string]string{
		`{"s":"a\u0000b"}`:                 `$.s: 's' has a NUL in it, where an argument would end (properties.s)`,
		`{"x":["ok","a\u0000b","\u0000"]}`: `$.x: 'x' has a NUL in it, where an argument would end (properties.x)`,
		`{"c.d":"\u0000"}`: `$["c.d"]: 'c.d' has a NUL in it, where an argument would end ` +
			`(properties["c.d"])`,
		`{"s":"` + long + `y"}`: `$.s: 's' takes 131072 bytes with its name: a command gets at most 131071 in ` +
			`one argument (properties.s)`,
		`{"z":1,"s":"x","é":"","":null}`: `$.z: 'z' is not declared: a command gets none but the properties of its ` +
			`parameters_schema (properties); ` +
			`$["é"]: 'é' is not declared: a command gets none but the properties of its parameters_schema (properties); ` +
			`$[""]: '' is not declared: a command gets none but the properties of its parameters_schema (properties)`,
		`{"__proto__":{"s":1}}`: `$.__proto__: '__proto__' is not declared: a command gets none but the properties of its ` +
			`parameters_schema (properties)`,
		`{"s":"` + long + `","x":["` + strings.Repeat(long[3:]+`","`, 8) +
			`"]}`: `$: the parameters take more than 1048576 bytes as arguments of a command (properties)`,
		`{"x":[` + strings.Repeat(`"",`, 90_000) + `""]}`: `$: the parameters take more than ` +
			`1048576 bytes as arguments of a command (properties)`,
	} {
		if _, wrong, err := arguments.Convert(parley.ParamsStdin, declared, json.RawMessage(parameters)); err != nil ||
			wrong != nil {
			t.Errorf("%.60s by stdin: %v, %v", parameters, wrong, err)
		}
		g, wrong, err := arguments.Convert(parley.ParamsFlags, declared, json.RawMessage(parameters))
		var told []string
		for _, w := range wrong {
			told = append(told, fmt.Sprintf("%s: %s (%s)", w.Path, w.Message, w.SchemaPath))
		}
		if got := strings.Join(told, "; "); got != want || g != nil || err != nil {
			t.Errorf("%.60s: %s, %v; expected %s", parameters, got, err, want)
		}
	}
	fitting := json.RawMessage(`{"s":"` + long + `"}`)
	if g, wrong, err := arguments.Convert(parley.ParamsFlags, declared, fitting); err != nil || wrong != nil ||
		len(g.Flags[0]) != arguments.MaxBytes {
		t.Errorf("the longest: %v, %v", wrong, err)
	}
}

// TestNoObject: parameters that are read in two ways, or in none, are refused as a whole.
func TestNoObject(t *testing.T) {
	for _, parameters := range []string{`[]`, `null`, `"x"`, `{`, `{"s":1`, `{"s":1,"s":2}`, `{"s":"\ud800"}`,
		`{"s":"\xff"}`, `{} {}`, `{}x`, `{"s":01}`, `{"s":tru}`, "\x00"} {
		for _, via := range []parley.ParamsVia{parley.ParamsFlags, parley.ParamsEnv, parley.ParamsStdin} {
			g, wrong, err := arguments.Convert(via, declared, json.RawMessage(parameters))
			if err == nil || g != nil || wrong != nil {
				t.Errorf("%s by %s: %v, %v, %v", parameters, via, g, wrong, err)
			}
		}
	}
}

func TestCheckNames(t *testing.T) {
	for _, c := range []struct {
		names          []string
		asFlag, asName bool
	}{
		{[]string{"a", "A1", "a-b", "x.y_z"}, true, true},
		{[]string{"a", "A"}, true, false},
		{[]string{"a", "b-c"}, true, true},
		{[]string{"a-b", "a_b"}, true, false},
		{[]string{""}, false, false},
		{[]string{"-a"}, false, false},
		{[]string{"_a"}, false, false},
		{[]string{"a=b"}, false, false},
		{[]string{"a b"}, false, false},
		{[]string{"é"}, false, false},
		{nil, true, true},
	} {
		flag, name := arguments.CheckNames(parley.ParamsFlags, c.names), arguments.CheckNames(parley.ParamsEnv, c.names)
		if (flag == nil) != c.asFlag || (name == nil) != c.asName {
			t.Errorf("%q: %v, %v", c.names, flag, name)
		}
		if err := arguments.CheckNames(parley.ParamsStdin, c.names); err != nil {
			t.Errorf("%q by stdin: %v", c.names, err)
		}
	}
}

// FuzzGive: flags name what is declared and nothing else, no argument has a NUL, and what was a
// string comes out as it was.
func FuzzGive(f *testing.F) {
	for _, p := range []string{`{"s":"x","x":["--n",1]}`, `{"n":1e400,"b":true}`, `{"s":"\u0000"}`, `{"z":1}`, `[]`} {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, parameters []byte) {
		g, wrong, err := arguments.Convert(parley.ParamsFlags, declared, parameters)
		if err != nil || wrong != nil {
			return
		}
		var object map[string]json.RawMessage
		if len(parameters) > 0 {
			if err := json.Unmarshal(parameters, &object); err != nil {
				t.Fatalf("taken, and no object: %v", err)
			}
		}
		given := map[string]string{}
		for _, flag := range g.Flags {
			name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
			if _, there := object[name]; !there || !strings.HasPrefix(flag, "--") || strings.ContainsRune(flag, 0) {
				t.Errorf("the flag %q", flag)
			}
			given[name] = value
		}
		for name, value := range object {
			var s string
			if value[0] == '"' && json.Unmarshal(value, &s) == nil && given[name] != s {
				t.Errorf("%s is %q, expected %q", name, given[name], s)
			}
		}
	})
}
