package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
)

// maxArguments bounds what a model may give to one tool, in bytes.
const maxArguments = 256 << 10

var errNotObject = errors.New("expected one JSON object")

// marshal is json.Marshal that writes <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), err
}

// decode reads one JSON object. Numbers keep their text.
func decode(raw []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || v == nil {
		return nil, errNotObject
	}
	return v, nil
}

// noParameters are those of a tool that says nothing of its own.
var noParameters = json.RawMessage(`{"properties":{},"type":"object"}`)

// parameters gives what a tool says of its parameters; it refuses what describes no object, since no model could be given that.
func parameters(said json.RawMessage) (json.RawMessage, error) {
	if text := string(bytes.TrimSpace(said)); text == "" || text == "null" {
		return noParameters, nil
	}
	schema, err := decode(said)
	if err != nil {
		return nil, fmt.Errorf("expected the schema of an object: %w", err)
	}
	kind, typed := schema["type"]
	if several, _ := kind.([]any); typed && kind != any("object") && !slices.Contains(several, any("object")) {
		return nil, errors.New("expected the schema of an object: it has another type")
	}
	return said, nil
}

// inject makes exposed of own: with the injected arguments as optional properties, in a copy. One whose name the tool has as a property of its own is the tool's, and is not injected.
func (e *entry) inject(injected map[string]string) error {
	e.exposed = e.own
	schema, err := decode(e.own.Parameters)
	if err != nil {
		return err
	}
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	taken := slices.Collect(maps.Keys(properties))
	if e.schema != nil {
		taken = append(taken, e.schema.Properties()...)
	}
	for _, name := range slices.Sorted(maps.Keys(injected)) {
		if slices.Contains(taken, name) {
			continue
		}
		properties[name] = map[string]any{"type": "string", "description": injected[name]}
		e.injected = append(e.injected, name)
	}
	if _, ok := schema["type"]; !ok {
		schema["type"] = "object"
	}
	schema["properties"] = properties
	e.exposed.Parameters, err = marshal(schema)
	return err
}

// split takes apart what a model has written, or whoever approves: what the tool gets, and what it does not, nil where there is nothing of that. All spellings of an object give
// the same: names in order, no space.
func (e *entry) split(written string) (arguments, injected json.RawMessage, err error) {
	if written == "" {
		written = "{}"
	}
	v, err := decode([]byte(written))
	if err != nil {
		return nil, nil, err
	}
	off := map[string]any{}
	for _, name := range e.injected {
		if value, ok := v[name]; ok {
			off[name] = value
			delete(v, name)
		}
	}
	if len(off) > 0 {
		if injected, err = marshal(off); err != nil {
			return nil, nil, err
		}
	}
	arguments, err = marshal(v)
	return arguments, injected, err
}

// wrong says what is wrong with arguments; nil where nothing is.
func (e *entry) wrong(arguments json.RawMessage) *Result {
	if c, ok := e.tool.(checker); ok {
		return c.check(e, arguments)
	}
	return e.mismatch(arguments)
}

// mismatch holds arguments against the schema.
func (e *entry) mismatch(arguments json.RawMessage) *Result {
	if e.schema == nil {
		return nil
	}
	if e.fills {
		filled, err := e.schema.Fill(arguments)
		if err != nil {
			return (&problem{Error: "invalid_arguments", Message: err.Error()}).result()
		}
		arguments = filled
	}
	faults, err := e.schema.Validate(arguments)
	switch {
	case err != nil:
		return (&problem{Error: "invalid_arguments", Message: err.Error()}).result()
	case len(faults) > 0:
		return (&problem{Error: "invalid_arguments", Message: "The arguments do not match the parameters of " + e.own.Name +
			". It was not run.", Faults: faults}).result()
	}
	return nil
}

// problem is what a model reads of something that could not be done, so that it can mend its call.
type problem struct {
	Error   string                   `json:"error"`
	Message string                   `json:"message"`
	Hint    string                   `json:"hint,omitempty"`
	Faults  []parley.ValidationError `json:"validation_errors,omitempty"`
	Schema  json.RawMessage          `json:"parameters_schema,omitempty"`
}

func (p *problem) result() *Result {
	text, err := marshal(p)
	if err != nil {
		text = []byte(p.Error + ": " + p.Message)
	}
	return &Result{Text: string(text), IsError: true}
}
