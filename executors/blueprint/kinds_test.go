//go:build unix

package blueprint_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Every fault of functions, workflows and subscriptions is reported with its position, and no such
// file is loaded.
func TestKindFaults(t *testing.T) {
	withPrograms(t, "python")
	t.Chdir("testdata")
	set, faults := blueprint.Load("kind-faults")
	golden.CompareLines(t, "kind-faults.txt", faults)
	if len(set.Files) != 0 {
		t.Errorf("loaded: %v", set.Files)
	}
}

// The examples of seed 004, with their comments, are loaded as functions with seats. Functions that
// the program does not have are removed.
func TestSubscriptionSeed(t *testing.T) {
	set, faults := blueprint.Load(filepath.Join("testdata", "seed"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	names := []string{"browser-context-capture", "context-builder", "default-chat-assistant", "smart-search",
		"web-analyzer"}
	if diff := cmp.Diff(names, set.Seats()); diff != "" {
		t.Error(diff)
	}
	comments := regexp.MustCompile(`(?m) // .*$`)
	for _, f := range set.Files {
		text, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Subscriptions any }
		var kept any
		b := f.Blueprint()
		if err := json.Unmarshal(comments.ReplaceAll(text, nil), &said); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Subscriptions, &kept); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(said.Subscriptions, kept); diff != "" || b.Type != parley.AgentTypeFunction {
			t.Errorf("%s is a %s: %s", f.Name, b.Type, diff)
		}
	}
	missing := set.NeedFunctions(
		function.Set{"smart-search": func(context.Context, *work.Job) (any, error) { return nil, nil }})
	if len(missing) != 4 ||
		!strings.HasSuffix(missing[0].String(),
			"browser-context-capture.json:2:11: name: unknown function browser-context-capture") {
		t.Errorf("%v", missing)
	}
	if diff := cmp.Diff([]string{"smart-search"}, set.Seats()); diff != "" {
		t.Error(diff)
	}
}

// A comment in JSON ends with its line, and a string contains no comment. Later faults keep their
// positions.
func TestComments(t *testing.T) {
	for text, want := range map[string]string{
		"// a \" é\n{\"name\":\"a\", // b\n \"description\": \"http://x \\\" // y\", \"subscriptions\":[{}]} // c": "",
		"{\"name\":\"a\",\n// ü\n /*\"b\"*/ \"subscriptions\":[{}]}":                                               "a.json:3:2: not JSON",
		"{\"name\":\"a\", // ü\r\n \"subscriptions\":[{\"role\":\"x\"}]}":                                          "a.json:2:27: subscriptions[0].role",
		"{\"name\":\"a\", / \"subscriptions\":[{}]}":                                                               "a.json:1:14: not JSON",
	} {
		f, faults := blueprint.Parse("a.json", []byte(text))
		if (f != nil) != (want == "") || f == nil && !strings.HasPrefix(faults[0].String(), want) ||
			f != nil && f.Description != `http://x " // y` {
			t.Errorf("%q: %+v %v, want %s", text, f, faults, want)
		}
	}
}

// TestKinds has files with the types that the loader and the schema for editors derive.
func TestKinds(t *testing.T) {
	withPrograms(t, "python")
	for text, want := range map[string]parley.AgentType{
		`{"agent_id":"a","argv":["python"],"parameters_schema":{}}`:                                             parley.AgentTypeDeterministic,
		`{"agent_id":"a","name":"a","argv":["python"],"parameters_schema":{},"subscriptions":[{}]}`:             parley.AgentTypeDeterministic,
		`{"name":"a","subscriptions":[{}]}`:                                                                     parley.AgentTypeFunction,
		`{"name":"a","type":"function"}`:                                                                        parley.AgentTypeFunction,
		`{"name":"a","type":"agent","model":"o:x","subscriptions":{"selectors":[{}]}}`:                          parley.AgentTypeAgent,
		`{"name":"a","type":"workflow","steps":[{"name":"b","agent":"c"}]}`:                                     parley.AgentTypeWorkflow,
		`{"name":"a","type":"workflow","steps":[{"name":"b","agent":"c"}],"output":"$.steps.b","timeout":"1m"}`: parley.AgentTypeWorkflow,
		`{"name":"a","type":"workflow","steps":[]}`:                                                             "",
		`{"name":"a","type":"workflow"}`:                                                                        "",
		`{"name":"a","type":"function","steps":[{"name":"b","agent":"c"}]}`:                                     "",
		`{"name":"a","type":"deterministic","subscriptions":[{}]}`:                                              "",
		`{"name":"a","type":"agent","model":"o:x","steps":[{"name":"b","agent":"c"}]}`:                          "",
		`{"type":"function"}`: "",
		`{"name":"a","type":"workflow","model":"o:x","steps":[{"name":"b","agent":"c"}]}`:                         "",
		`{"name":"a","argv":["python"],"parameters_schema":{},"output":"$.x"}`:                                    "",
		`{"name":"a","type":"function","idempotent":true,"parameters_schema":{},"output_schema":{}}`:              "",
		`{"name":"a","type":"function","parameters_schema":{},"output_schema":{},"labels":{},"description":"An"}`: parley.AgentTypeFunction,
	} {
		f, faults := blueprint.Parse(filepath.Join(t.TempDir(), "a.json"), []byte(text))
		if (f == nil) != (want == "") || f != nil && f.Type != want {
			t.Errorf("%s: %v %v", text, f, faults)
		}
		wrong, err := published(t).Validate(json.RawMessage(text))
		if err != nil || (len(wrong) == 0) != (want != "") {
			t.Errorf("%s: the Schema says %v, %v", text, wrong, err)
		}
	}
}

func published(t *testing.T) *paramschema.Schema {
	t.Helper()
	s, err := paramschema.Compile(blueprint.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
