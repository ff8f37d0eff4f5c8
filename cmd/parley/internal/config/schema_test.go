package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

var docs = filepath.Join("..", "..", "..", "..", "docs")

// TestPublished: the Schema and the table of the documents are those of the code.
func TestPublished(t *testing.T) {
	golden(t, filepath.Join(docs, "parley.schema.json"), string(config.Schema()))

	const begin, end = "<!-- settings: made from the code -->\n", "<!-- end of settings -->\n"
	name := filepath.Join(docs, "configuration.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", name)
	}
	golden(t, name, before+begin+config.Table()+end+after)
}

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, errors.New("nothing is fetched: " + url) }
	if err := c.AddResource("parley.schema.json", bytes.NewReader(config.Schema())); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("parley.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// takenBySchema says whether another reader of YAML and the Schema take a file.
func takenBySchema(s *jsonschema.Schema, text []byte) error {
	var document any
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var more any
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	asJSON, err := json.Marshal(document) // keys that are no strings are no JSON
	if err != nil {
		return err
	}
	document = nil
	if err := json.Unmarshal(asJSON, &document); err != nil {
		return err
	}
	return s.Validate(document)
}

// TestSchemaAgrees: what Load takes the Schema takes, and what Load refuses the Schema refuses, but for what it cannot tell.
func TestSchemaAgrees(t *testing.T) {
	s := compiled(t)
	loadOnly := []string{"precise", "alias", "tags", "control"}
	for _, name := range slices.Concat(files(t, "good"), files(t, "faults")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, loadErr := config.Load(config.Sources{File: name})
		schemaErr := takenBySchema(s, text)
		if base := strings.TrimSuffix(filepath.Base(name), ".yaml"); loadErr != nil && slices.Contains(loadOnly, base) {
			continue
		}
		if (loadErr == nil) != (schemaErr == nil) {
			t.Errorf("%s: Load says %v, the Schema says %v", name, loadErr, schemaErr)
		}
	}
}

// TestSchemaSeesEveryFault: each setting alone, with a value that is wrong for it, is refused by both.
func TestSchemaSeesEveryFault(t *testing.T) {
	s := compiled(t)
	for _, setting := range config.Settings {
		for _, value := range []string{"[[]]", "{a: b}", "\"\\n\"", "''", "-1", "1e30", "[1]", "~"} {
			text := asYAML(setting, "X")
			text = strings.ReplaceAll(strings.ReplaceAll(text, "['X']", value), "X", value)
			file := filepath.Join(t.TempDir(), "parley.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, loadErr := config.Load(config.Sources{File: file})
			schemaErr := takenBySchema(s, []byte(text))
			if loadErr == nil || schemaErr == nil {
				t.Errorf("%q: Load says %v, the Schema says %v", text, loadErr, schemaErr)
			}
		}
	}
}
