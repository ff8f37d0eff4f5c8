package wrap

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/internal/limits"
)

// defaultTimeout is how long a command may run, which is the default: it is written so that it is
// seen.
const defaultTimeout = "5m"

// blueprintFile is a blueprint as it is written, in the order in which it is read best.
type blueprintFile struct {
	Name             string           `json:"name"`
	Description      string           `json:"description"`
	Argv             []string         `json:"argv"`
	Cwd              string           `json:"cwd,omitempty"`
	Timeout          string           `json:"timeout"`
	ParametersSchema parametersSchema `json:"parameters_schema"`
}

// parametersSchema are all parameters.
type parametersSchema struct {
	Type                 string          `json:"type"`
	Properties           json.RawMessage `json:"properties"`
	AdditionalProperties bool            `json:"additionalProperties"`
}

// valueSchema is one of them.
type valueSchema struct {
	Type    string          `json:"type"`
	Items   *valueSchema    `json:"items,omitempty"`
	Default json.RawMessage `json:"default,omitempty"`
}

// newBlueprint describes the command.
func (w *commandLine) newBlueprint(name, description string) *blueprintFile {
	about := "Runs " + cli.Clean(strings.Join(w.argv, " ")) + "."
	if len(about) > limits.MaxAgentDescriptionBytes {
		about = "Runs " + cli.Clean(w.argv[0]) + "."
	}
	return &blueprintFile{
		Name: name, Description: cmp.Or(description, about), Argv: w.argv, Timeout: defaultTimeout,
		ParametersSchema: parametersSchema{Type: "object", Properties: w.properties()},
	}
}

// properties are the schemas of the parameters, in the order of the options.
func (w *commandLine) properties() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, o := range w.options {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := cli.EncodeJSON(o.name)         // a string
		schema, err := cli.EncodeJSON(o.schema()) // numbers as they were written, and strings
		if err != nil {
			panic(err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(schema)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (f *blueprintFile) encode() ([]byte, error) {
	raw, err := cli.EncodeJSON(f)
	if err != nil {
		return nil, err
	}
	return []byte(cli.IndentJSON(raw) + "\n"), nil
}
