// Package schematest validates files in tests with a library for JSON Schema that shares no code
// with the loaders:
//
//	err := schematest.Validate(schematest.Compile(t, config.Schema()), text)
package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v4"
)

// Compile compiles a schema. It fetches none that the schema refers to.
func Compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, errors.New("nothing is fetched: " + url) }
	if err := c.AddResource("document.json", bytes.NewReader(schema)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("document.json")
	if err != nil {
		t.Fatalf("%#v\n%s", err, schema)
	}
	return s
}

// Validate validates a text in YAML or JSON, which has one document.
func Validate(s *jsonschema.Schema, text []byte) error {
	var document, more any
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	asJSON, err := json.Marshal(document) // fails for keys that are not strings
	if err != nil {
		return err
	}
	document = nil
	if err := json.Unmarshal(asJSON, &document); err != nil {
		return err
	}
	return s.Validate(document)
}
