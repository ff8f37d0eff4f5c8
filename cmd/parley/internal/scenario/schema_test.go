package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/schematest"
)

// TestPublished: the Schema of the documents is that of the code.
func TestPublished(t *testing.T) {
	golden.Compare(t, filepath.Join("..", "..", "..", "..", "docs", "scenario.schema.json"), scenario.Schema())
}

// TestSchemaAgrees checks that Parse and the Schema accept the same files, except for rules that a
// schema cannot express.
func TestSchemaAgrees(t *testing.T) {
	s := schematest.Compile(t, scenario.Schema())
	parseOnly := []string{"alias", "anchor", "strangers", "expressions", "policies", "moderator", "needs", "himself",
		"values", "hub"}
	for _, name := range slices.Concat(files(t, "testdata", "good"), files(t, "testdata", "faults")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, parseErr := scenario.Load(name)
		schemaErr := schematest.Validate(s, text)
		if parseErr != nil && slices.Contains(parseOnly, strings.TrimSuffix(filepath.Base(name), ".yaml")) {
			continue
		}
		if (parseErr == nil) != (schemaErr == nil) {
			t.Errorf("%s: Parse says %v, the Schema says %v", name, parseErr, schemaErr)
		}
	}
}

// TestScenarioHasAllParams checks that a scenario has all params of createConversation except the
// ids and the span.
func TestScenarioHasAllParams(t *testing.T) {
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
	holds(t, "createConversation", parley.CreateConversationParams{}, append(keys(top), "conversationId",
		"clientRequestId", "traceparent"), "opening")
	holds(t, "participants", parley.Participant{}, keys(top["participants"].Items.Properties))
	holds(t, "policy", parley.Policy{}, keys(top["policy"].Properties))
	holds(t, "rules", parley.Rule{}, keys(top["policy"].Properties["rules"].Items.Properties))
	holds(t, "limits", parley.Limits{}, keys(top["limits"].Properties))
	holds(t, "opening", parley.Message{}, append(keys(top["opening"].Properties), "attachments", "parameters", "result"),
		"from", "next")
}

type object struct{ Properties map[string]any }

// holds compares the members of a type on the wire with names; more are names that the type does
// not have.
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
