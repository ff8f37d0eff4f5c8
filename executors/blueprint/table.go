package blueprint

import (
	"encoding/json"
	"regexp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// table is all that a file can say. What it cannot say of a value is held against the others in check.go.
var table = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.Must("name", shape.ID("the name of the agent; not hub")),
	shape.May("description", shape.Prose("what it does, for who chooses among agents", parley.MaxAgentDescriptionBytes)),
	shape.May("command", shape.Prose("the program and its arguments, split at white space and given to no shell; this or argv", MaxArgvBytes)),
	shape.May("argv", shape.ListOf("the program and its arguments, as they are", 1, MaxArgv, &shape.Shape{Kind: shape.Text, Doc: "an argument", Empty: true, Most: MaxArgvBytes})),
	shape.Must("parameters_schema", schemaOf("a JSON Schema of what a session takes: draft 7 unless $schema says otherwise")),
	shape.May("output_schema", schemaOf("a JSON Schema of the result, which is then JSON on stdout")),
	shape.May("params_via", shape.Among("how the command gets its parameters; absent, flags", parley.ParamsFlags, parley.ParamsStdin, parley.ParamsEnv)),
	shape.May("env", shape.ListOf("variables besides PATH, HOME, TZ and LANG: a NAME gets the runner's value, NAME=VALUE that one", 0, MaxEnv, variable)),
	shape.May("cwd", shape.Line("the directory where the command runs; relative to, and absent, that of this file", 4096)),
	shape.May("timeout", shape.Line("how long it may run, such as 90s or 1h30m: 100ms to 23h; absent, 5m", 32)),
	shape.May("max_output_bytes", shape.Number("how much it may write to stdout; absent, 1048576", 1, MaxOutputBytes)),
	shape.May("idempotent", shape.Switch("whether a run that was interrupted may be begun again, at most twice; absent, false")),
	shape.May("labels", shape.MapOf("what sessions may demand of who runs it, besides the labels of the runner", parley.MaxLabels, shape.Line("a value", parley.MaxLabelBytes))),
}}

var variable = &shape.Shape{
	Kind: shape.Text, Doc: "NAME or NAME=VALUE", Most: MaxEnvBytes, Pattern: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(=[^\x00]*)?$`),
	Expected: "NAME or NAME=VALUE, the name of letters, digits and _",
}

// schemaOf is an object that paramschema looks into; white space counts for nothing in its bound there.
func schemaOf(doc string) *shape.Shape { return shape.Open(doc, parley.MaxAgentSchemaBytes) }

// Schema gives the JSON Schema (draft 7) of a blueprint, as it stands in docs/blueprint.schema.json.
func Schema() []byte {
	o := table.Schema()
	o["title"] = "Parley blueprint"
	o["description"] = "A file of parley run --blueprints: a command that is an agent."
	o["oneOf"] = []yamlfile.Object{{"required": []string{"command"}}, {"required": []string{"argv"}}}
	return yamlfile.EncodeSchema(o)
}

// content is what the table gives of a file.
type content struct {
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	Command          string            `json:"command"`
	Argv             []string          `json:"argv"`
	ParametersSchema json.RawMessage   `json:"parameters_schema"`
	OutputSchema     json.RawMessage   `json:"output_schema"`
	ParamsVia        parley.ParamsVia  `json:"params_via"`
	Env              []string          `json:"env"`
	Cwd              string            `json:"cwd"`
	Timeout          string            `json:"timeout"`
	MaxOutputBytes   int               `json:"max_output_bytes"`
	Idempotent       bool              `json:"idempotent"`
	Labels           map[string]string `json:"labels"`
}
