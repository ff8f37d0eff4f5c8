package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/parleyhub/parley"
)

// wrappedTimeout is how long a command may run, which is the default: it is written so that it is seen.
const wrappedTimeout = "5m"

// wrappedFile is a blueprint as it is written, in the order in which it is read best.
type wrappedFile struct {
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	Argv             []string          `json:"argv"`
	Cwd              string            `json:"cwd,omitempty"`
	Timeout          string            `json:"timeout"`
	ParametersSchema wrappedParameters `json:"parameters_schema"`
}

// wrappedParameters are all parameters.
type wrappedParameters struct {
	Type                 string          `json:"type"`
	Properties           json.RawMessage `json:"properties"`
	AdditionalProperties bool            `json:"additionalProperties"`
}

// wrappedSchema is one of them.
type wrappedSchema struct {
	Type    string          `json:"type"`
	Items   *wrappedSchema  `json:"items,omitempty"`
	Default json.RawMessage `json:"default,omitempty"`
}

// blueprint describes the command.
func (w *wrapped) blueprint(name, description string) *wrappedFile {
	about := "Runs " + clean(strings.Join(w.argv, " ")) + "."
	if len(about) > parley.MaxAgentDescriptionBytes {
		about = "Runs " + clean(w.argv[0]) + "."
	}
	return &wrappedFile{
		Name: name, Description: cmp.Or(description, about), Argv: w.argv, Timeout: wrappedTimeout,
		ParametersSchema: wrappedParameters{Type: "object", Properties: w.properties()},
	}
}

// properties are the schemas of the parameters, in the order of the options.
func (w *wrapped) properties() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, o := range w.options {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := encodePlain(o.name)         // a string
		schema, err := encodePlain(o.schema()) // numbers as they were written, and strings
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

func (f *wrappedFile) encode() ([]byte, error) {
	raw, err := encodePlain(f)
	if err != nil {
		return nil, err
	}
	return []byte(pretty(raw) + "\n"), nil
}
