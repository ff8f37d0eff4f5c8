package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/internal/toolschema"
)

// maxArguments limits the arguments of one call, in bytes.
const maxArguments = 256 << 10

var errNotObject = errors.New("expected one JSON object")

// marshal is json.Marshal without escaping of <, > and &.
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

// noParameters is the schema of a tool without parameters.
var noParameters = json.RawMessage(`{"properties":{},"type":"object"}`)

// inject adds the injected arguments to exposed as optional properties. If the tool has a property
// with the same name, it is not injected.
func (e *entry) inject(injected map[string]string) error {
	schema, err := decode(e.exposed.Parameters)
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
	schema["properties"] = properties
	e.exposed.Parameters, err = marshal(schema)
	return err
}

// split separates the arguments that the tool gets from the injected ones, which are nil if there
// are none. The result is canonical JSON: sorted names without space. It has the tool's own names of
// arguments, and no null for an argument that the schema neither requires nor accepts null for.
func (e *entry) split(written string) (arguments, injected json.RawMessage, err error) {
	switch text := strings.TrimSpace(written); {
	case text == "" || text == "null": // models write both for no arguments
		written = "{}"
	case text[0] == '"': // some models encode the object twice
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			written = inner
		}
	}
	v, err := decode([]byte(written))
	if err != nil {
		return nil, nil, err
	}
	toolschema.Restore(v, e.aliases)
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
	if arguments, err = marshal(v); err == nil && e.schema != nil {
		arguments = e.schema.DropNulls(arguments)
	}
	return arguments, injected, err
}

// checkArguments returns the error in the arguments, or nil.
func (e *entry) checkArguments(arguments json.RawMessage) *Result {
	if c, ok := e.tool.(checker); ok {
		return c.check(e, arguments)
	}
	return e.matchSchema(arguments)
}

// matchSchema checks arguments against the schema of the tool.
func (e *entry) matchSchema(arguments json.RawMessage) *Result {
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
		return (&problem{Error: "invalid_arguments", Message: "The call was not run, because the arguments do not match the parameters of " + e.own.Name +
			".", Faults: faults}).result()
	}
	return nil
}

// problem describes a failed call to the model, so that the model can correct it.
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
