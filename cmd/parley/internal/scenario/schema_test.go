package scenario_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"
	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
)

// TestPublished: the Schema of the documents is that of the code.
func TestPublished(t *testing.T) {
	golden(t, filepath.Join("..", "..", "..", "..", "docs", "scenario.schema.json"), string(scenario.Schema()))
}

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, errors.New("nothing is fetched: " + url) }
	if err := c.AddResource("scenario.schema.json", bytes.NewReader(scenario.Schema())); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.schema.json")
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
	asJSON, err := json.Marshal(document)
	if err != nil {
		return err
	}
	document = nil
	if err := json.Unmarshal(asJSON, &document); err != nil {
		return err
	}
	return s.Validate(document)
}

// TestSchemaAgrees: what Parse takes the Schema takes, and what Parse refuses the Schema refuses, but for what it cannot tell.
func TestSchemaAgrees(t *testing.T) {
	s := compiled(t)
	parseOnly := []string{"alias", "anchor", "strangers", "expressions", "policies", "moderator", "needs", "himself", "values", "hub"}
	for _, name := range slices.Concat(files(t, "testdata", "good"), files(t, "testdata", "faults")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, parseErr := scenario.Load(name)
		schemaErr := takenBySchema(s, text)
		if parseErr != nil && slices.Contains(parseOnly, strings.TrimSuffix(filepath.Base(name), ".yaml")) {
			continue
		}
		if (parseErr == nil) != (schemaErr == nil) {
			t.Errorf("%s: Parse says %v, the Schema says %v", name, parseErr, schemaErr)
		}
	}
}

// TestAllThereIs: a scenario can say all that createConversation takes, but for the ids and the span.
func TestAllThereIs(t *testing.T) {
	var published struct {
		Properties map[string]struct {
			Properties map[string]struct{ Items object }
			Items      object
		}
	}
	if err := json.Unmarshal(scenario.Schema(), &published); err != nil {
		t.Fatal(err)
	}
	top := published.Properties
	holds(t, "createConversation", parley.CreateConversationParams{}, append(keys(top), "conversationId", "clientRequestId", "traceparent"), "opening")
	holds(t, "participants", parley.Participant{}, keys(top["participants"].Items.Properties))
	holds(t, "policy", parley.Policy{}, keys(top["policy"].Properties))
	holds(t, "rules", parley.Rule{}, keys(top["policy"].Properties["rules"].Items.Properties))
	holds(t, "limits", parley.Limits{}, keys(top["limits"].Properties))
	holds(t, "opening", parley.Message{}, append(keys(top["opening"].Properties), "attachments", "parameters", "result"), "from", "next")
}

type object struct{ Properties map[string]any }

// holds compares the members of a type on the wire with names; more are names that the type does not have.
func holds(t *testing.T, what string, of any, names []string, more ...string) {
	t.Helper()
	want := slices.Clone(more)
	for i := range reflect.TypeOf(of).NumField() {
		name, _, _ := strings.Cut(reflect.TypeOf(of).Field(i).Tag.Get("json"), ",")
		want = append(want, name)
	}
	slices.Sort(want)
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func keys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}
