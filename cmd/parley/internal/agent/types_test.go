package agent

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// typedSchema has a property for each way in which a type is named.
const typedSchema = `{
	"definitions": {"count": {"type": "integer"}, "loop": {"$ref": "#/definitions/loop"}, "a/b": {"type": "boolean"}},
	"properties": {
		"text": {"type": "string"}, "n": {"type": "integer"}, "ratio": {"type": "number"}, "flag": {"type": "boolean"},
		"object": {"type": "object"}, "list": {"type": "array"}, "texts": {"type": "array",
"items": {"type": "string"}}, "numbers": {"type": "array", "items": {"type": "number"}},
		"lists": {"type": "array", "items": {"type": "array"}}, "either": {"type": ["integer", "string"]},
"maybe": {"type": ["integer", "null"]},
		"few": {"type": ["array", "string"]}, "one_or_more": {"anyOf": [{"type": "integer"}, {"type": "array",
"items": {"type": "integer"}}]}, "levels": {"enum": [1, 2, "all"]}, "numbered": {"enum": [1, 2]},
		"fixed": {"const": true}, "ref": {"$ref": "#/definitions/count"}, "slash": {"$ref": "#/definitions/a~1b"},
"loop": {"$ref": "#/definitions/loop"},
		"remote": {"$ref": "http://127.0.0.1/x"}, "anything": {}, "wild": true, "both": {"allOf": [{"minimum": 1},
{"type": "integer"}]}
	},
	"allOf": [{"properties": {"late": {"type": "integer"}}}]
}`

// TestParamTypes: the text of a --param becomes a value of the schema's type. A text of no such
// type stays a text, which the hub refuses.
func TestParamTypes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ params, want string }{
		{`text=5`, `{"text":"5"}`}, {`text=true`, `{"text":"true"}`}, {`text=`, `{"text":""}`},
		{`text=a=b`, `{"text":"a=b"}`}, {`text= x `, `{"text":" x "}`},
		{`text=<&>`, `{"text":"<&>"}`}, {`text="quoted"`, `{"text":"\"quoted\""}`},
		{`n=5`, `{"n":5}`}, {`n= 5 `, `{"n":5}`}, {`n=12345678901234567890`, `{"n":12345678901234567890}`},
		{`n=deep`, `{"n":"deep"}`}, {`n=1e400`, `{"n":1e400}`}, {`n=05`, `{"n":"05"}`}, {`n=`, `{"n":""}`},
		{`ratio=1.50`, `{"ratio":1.50}`}, {`flag=true`, `{"flag":true}`}, {`flag=yes`, `{"flag":"yes"}`},
		{`object={"a":1}`, `{"object":{"a":1}}`}, {`object=a`, `{"object":"a"}`},
		{`list=[1,"a"]`, `{"list":[1,"a"]}`}, {`list=a`, `{"list":["a"]}`}, {`texts=5`, `{"texts":["5"]}`},
		{`texts=["a"]`, `{"texts":["a"]}`}, {`texts=a|texts=b,c`, `{"texts":["a","b,c"]}`},
		{`texts=["a"]|texts=b`, `{"texts":["[\"a\"]","b"]}`}, {`numbers=1|numbers=2.0`, `{"numbers":[1,2.0]}`},
		{`numbers=1`, `{"numbers":[1]}`}, {`lists=[1]|lists=[2]`, `{"lists":[[1],[2]]}`},
		{`texts:="a"|texts=b`, `{"texts":["a","b"]}`}, {`texts:="a"`, `{"texts":"a"}`},
		{`either=5`, `{"either":"5"}`}, {`either:=5`, `{"either":5}`}, {`maybe=null`, `{"maybe":null}`},
		{`maybe=5`, `{"maybe":5}`}, {`few=a`, `{"few":"a"}`}, {`few=a|few=b`, `{"few":["a","b"]}`},
		{`one_or_more=[1]`, `{"one_or_more":[1]}`}, {`one_or_more=1`, `{"one_or_more":1}`},
		{`levels=1`, `{"levels":"1"}`}, {`numbered=2`, `{"numbered":2}`}, {`fixed=true`, `{"fixed":true}`},
		{`ref=5`, `{"ref":5}`}, {`slash=true`, `{"slash":true}`}, {`loop=5`, `{"loop":"5"}`}, {`remote=5`, `{"remote":"5"}`},
		{`both=5`, `{"both":5}`}, {`late=5`, `{"late":5}`},
		{`anything=5`, `{"anything":"5"}`}, {`wild=5`, `{"wild":"5"}`}, {`unknown=5`, `{"unknown":"5"}`},
		{`unknown:={"a":[]}`, `{"unknown":{"a":[]}}`}, {`__proto__=x`, `{"__proto__":"x"}`},
	} {
		got, err := assembled(t, "", typedSchema, strings.Split(row.params, "|")...)
		if err != nil || got != row.want {
			t.Errorf("%s: %s, %v; expected %s", row.params, got, err, row.want)
		}
	}
}

// TestParamsWithoutSchema: an agent without a schema, or with an invalid one, takes texts.
func TestParamsWithoutSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", "null", "true", "[]", `{"properties": []}`,
		`{"type": 5, "properties": {"n": {"type": 5}}}`, "{"} {
		if got, err := assembled(t, "", schema, "n=5"); err != nil || got != `{"n":"5"}` {
			t.Errorf("%q: %s, %v", schema, got, err)
		}
	}
}

// TestParamsOverFile: what --param says is stronger, and what it does not say stays as it is.
func TestParamsOverFile(t *testing.T) {
	t.Parallel()
	const file = `{"n": 1.0, "text": "<a>", "big": 12345678901234567890}`
	got, err := assembled(t, file, typedSchema, "n=2")
	if err != nil || got != `{"big":12345678901234567890,"n":2,"text":"<a>"}` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := assembled(t, file, typedSchema); err != nil || got != file {
		t.Errorf("the file alone: %s, %v", got, err)
	}
}

// TestParamsRefused: invalid parameters are refused before the command calls a hub.
func TestParamsRefused(t *testing.T) {
	t.Parallel()
	latin := filepath.Join(t.TempDir(), "latin.txt")
	if err := os.WriteFile(latin, []byte("caf\xe9"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), "long.txt")
	if err := os.WriteFile(long, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ params, want string }{
		{"name", "expected NAME=VALUE"}, {"=x", "expected NAME=VALUE"}, {":=1", "expected NAME=VALUE"},
		{"", "expected NAME=VALUE"},
		{"n:=x", "expected JSON"}, {"n:=", "expected JSON"}, {"n:=1 2", "expected JSON"},
		{"text=1|text=2", "--param text is given 2 times, and is no list"}, {"unknown=1|unknown=2", "is no list"},
		{"text=@", "the name of the file is empty"}, {"text=@" + latin, "not UTF-8"},
		{"text=@" + long, "does not fit into a call"}, {"text=a\xff", "not UTF-8"},
	} {
		var usage *exit.UsageError
		got, err := assembled(t, "", typedSchema, strings.Split(row.params, "|")...)
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%.20q: %s, %v; expected %s", row.params, got, err, row.want)
		}
	}
}

// TestParamOfFile: a file is a text where a text is wanted, and JSON where that is; stdin is a file
// too.
func TestParamOfFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "v.json")
	if err := os.WriteFile(name, []byte("{\"a\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for params, want := range map[string]string{
		"text=@" + name: `{"text":"{\"a\":1}\n"}`, "object=@" + name: `{"object":{"a":1}}`, "unknown:=@" +
			name: `{"unknown":{"a":1}}`, "n=@-": `{"n":7}`,
	} {
		if got, err := assembled(t, "", typedSchema, params); err != nil || got != want {
			t.Errorf("%s: %s, %v; expected %s", params, got, err, want)
		}
	}
}

// assembled returns the parameters of a command line. Stdin is 7.
func assembled(t *testing.T, file, schema string, params ...string) (string, error) {
	t.Helper()
	a := &cli.App{In: strings.NewReader("7\n")}
	var given []Parameter
	for _, text := range params {
		p, err := ParseParameter(a, text)
		if err != nil {
			return "", err
		}
		given = append(given, p)
	}
	got, err := AssembleParameters(json.RawMessage(file), given, json.RawMessage(schema))
	if err == nil && len(got) > 0 && !json.Valid(got) {
		t.Errorf("%q made %s, which is no JSON", params, got)
	}
	return string(got), err
}

// FuzzParams: whatever is given becomes JSON, or is refused; and whatever a schema is it can be
// shown.
func FuzzParams(f *testing.F) {
	f.Add("n=5", typedSchema)
	f.Add("a=1",
		`{"properties":{"a":{"type":["array","null"],"items":{"$ref":"#/properties/a"},"allOf":[{"$ref":"#"}],`+
			`"required":["a"]}},"allOf":[{"$ref":"#"}]}`)
	f.Add("texts:=[1]", `{"properties":{"texts":{"$ref":"#"}}}`)
	f.Add("a=@-", `{"anyOf":[{"$ref":"#"},{"$ref":"#"}],"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"}]}}}`)
	f.Fuzz(func(t *testing.T, params, schema string) {
		a := &cli.App{Out: cli.NewStream(io.Discard)}
		if err := printSchema(a, json.RawMessage(schema)); err != nil {
			t.Error(err)
		}
		if name, _, _ := strings.Cut(params, "="); strings.Contains(params, "=@") && name != "" {
			t.Skip("it would read files")
		}
		_, _ = assembled(t, "", schema, params)
	})
}
