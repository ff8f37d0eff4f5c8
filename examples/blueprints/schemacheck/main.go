// Command schemacheck validates a JSON document with a JSON Schema. It shows how a command reads
// its parameters from standard input, without changing a value. It also shows how a command limits
// its callers: a schema must not refer to other files or addresses.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxBytes bounds a file that is read.
const maxBytes = 16 << 20

// parameters are those of schema-check.json.
type parameters struct {
	Document     json.RawMessage `json:"document"`
	DocumentPath string          `json:"document_path"`
	Schema       json.RawMessage `json:"schema"`
	SchemaPath   string          `json:"schema_path"`
	Draft        string          `json:"draft"`
	Formats      bool            `json:"formats"`
}

// report is the result.
type report struct {
	Valid  bool    `json:"valid"`
	Errors []fault `json:"errors"`
}

type fault struct {
	At      string `json:"at"`
	Keyword string `json:"keyword"`
	Message string `json:"message"`
}

var drafts = map[string]*jsonschema.Draft{
	"4": jsonschema.Draft4, "6": jsonschema.Draft6, "7": jsonschema.Draft7, "2019-09": jsonschema.Draft2019,
	"2020-12": jsonschema.Draft2020,
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var p parameters
	if err := json.NewDecoder(in).Decode(&p); err != nil {
		return fmt.Errorf("the parameters: %w", err)
	}
	text, err := given(p.Schema, p.SchemaPath)
	if err != nil {
		return fmt.Errorf("the schema: %w", err)
	}
	schema, err := compile(text, &p)
	if err != nil {
		return fmt.Errorf("the schema: %w", err)
	}
	if text, err = given(p.Document, p.DocumentPath); err != nil {
		return fmt.Errorf("the document: %w", err)
	}
	document, err := decode(text)
	if err != nil {
		return fmt.Errorf("the document: %w", err)
	}
	r, err := check(schema, document)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// given is a document in the parameters, or in the file that they name.
func given(text json.RawMessage, path string) ([]byte, error) {
	if path == "" {
		return text, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(b) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, maxBytes)
	}
	return b, err
}

// decode keeps numbers as they are written.
func decode(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return v, nil
}

func compile(text []byte, p *parameters) (*jsonschema.Schema, error) {
	const name = "mem:///schema.json"
	c := jsonschema.NewCompiler()
	c.Draft, c.AssertFormat = drafts[p.Draft], p.Formats
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not loaded: expected a $ref into the schema itself", url)
	}
	if err := c.AddResource(name, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// check returns each place that does not match, with the keyword of the schema.
func check(schema *jsonschema.Schema, document any) (*report, error) {
	r := &report{Valid: true, Errors: []fault{}}
	err := schema.Validate(document)
	if err == nil {
		return r, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, err
	}
	r.Valid = false
	r.leaves(invalid)
	slices.SortFunc(r.Errors, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
	return r, nil
}

func (r *report) leaves(e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		r.leaves(cause)
	}
	if len(e.Causes) == 0 {
		r.Errors = append(r.Errors, fault{At: e.InstanceLocation, Keyword: e.KeywordLocation, Message: e.Message})
	}
}
