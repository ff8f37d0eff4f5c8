//go:build unix

package blueprint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Every fault of every file is reported with its position and the expected value, without values of
// the file. Valid files are loaded.
func TestFaults(t *testing.T) {
	withPrograms(t, "python")
	t.Chdir("testdata")
	set, faults := blueprint.Load("faults")
	if lines := golden.CompareLines(t, "faults.txt", faults); strings.Contains(lines, "canary") {
		t.Error("a value is repeated")
	}
	if len(set.Files) != 1 || set.Files[0].Name != "taken" {
		t.Errorf("loaded: %v", set.Files)
	}
}

// All members of a file are loaded.
func TestGood(t *testing.T) {
	withPrograms(t, "python")
	set, faults := blueprint.Load(filepath.Join("testdata", "good"))
	if len(faults) > 0 || len(set.Files) != 3 {
		t.Fatalf("%v, %v", set.Files, faults)
	}
	dir, err := filepath.Abs(filepath.Join("testdata", "good"))
	if err != nil {
		t.Fatal(err)
	}
	all := set.File("profile.v2")
	if all == nil {
		t.Fatal("profile.v2 was not loaded")
	}
	if diff := cmp.Diff([]string{"./profile.sh", "--deep", "", `a "b" $(c)`}, all.Argv); diff != "" {
		t.Error(diff)
	}
	if all.Dir != filepath.Join(dir, "scripts") || all.Program != filepath.Join(dir, "scripts", "profile.sh") ||
		all.MaxOutputBytes != 16<<20 {
		t.Errorf("%+v", all)
	}
	if diff := cmp.Diff([]string{"TOKEN", "MODE=fast", "EMPTY=", "TEXT=a=b c"}, all.Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(parley.Blueprint{
		Name: "profile.v2", Description: "Profiles a table.\n", ParamsVia: parley.ParamsStdin, TimeoutMs: 5_400_500,
		Idempotent: true,
		Labels:     map[string]string{"gpu": "true", "zone/a": "eu"},
		ParametersSchema: json.RawMessage(
			`{"type":"object","properties":{"file":{"type":"string"},"limit":{"type":"integer",` +
				`"default":1000000000000000000000}}}`),
		OutputSchema: json.RawMessage(`{"type":"object","required":["rows"]}`),
	}, all.Blueprint()); diff != "" {
		t.Error(diff)
	}
	smile := set.File("smile").Blueprint()
	if smile.Description != "😀 /" ||
		string(smile.ParametersSchema) != `{"properties":{"weight":{"maximum":1e300,"enum":[1E5,1e300]}}}` {
		t.Errorf("%+v", smile)
	}
}

// The example of the seed is loaded unchanged, with the defaults.
func TestSeed(t *testing.T) {
	withPrograms(t, "python")
	set, _ := blueprint.Load(filepath.Join("testdata", "good"))
	f := set.File("web-crawler")
	if f == nil {
		t.Fatal("it was not loaded")
	}
	if diff := cmp.Diff([]string{"python", "-m", "crawler.main"}, f.Argv); diff != "" {
		t.Error(diff)
	}
	if f.Timeout != 5*time.Minute || f.MaxOutputBytes != 1<<20 || f.Idempotent || filepath.Base(f.Dir) != "good" {
		t.Errorf("%+v", f)
	}
	want := parley.Blueprint{
		Name: "web-crawler", Description: "Crawls websites to specified depth", ParamsVia: parley.ParamsFlags,
		TimeoutMs: 300_000,
		ParametersSchema: json.RawMessage(
			`{"type":"object","required":["url"],"properties":{"url":{"type":"string","format":"uri"},` +
				`"depth":{"type":"integer","default":2}}}`),
	}
	if diff := cmp.Diff(want, f.Blueprint()); diff != "" {
		t.Error(diff)
	}
}

// Files that are not blueprints are reported or ignored, and none blocks.
func TestDirectory(t *testing.T) {
	withPrograms(t, "python")
	dir := t.TempDir()
	if set, faults := blueprint.Load(dir); len(set.Files) != 0 || len(faults) != 0 {
		t.Errorf("an empty one: %v, %v", set.Files, faults)
	}
	if set, faults := blueprint.Load(filepath.Join(dir, "none")); set == nil || len(faults) != 1 ||
		!strings.Contains(faults[0].String(), "expected a directory of blueprints") {
		t.Errorf("none: %v, %v", set, faults)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "large.yaml", "#"+strings.Repeat("x", blueprint.MaxFileBytes))
	write(t, dir, "loop.yaml", "")
	if err := os.Remove(filepath.Join(dir, "loop.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "UPPER.JSON", `{"name":"upper","argv":["python"],"parameters_schema":{}}`)
	set, faults := blueprint.Load(dir)
	var told []string
	for _, f := range faults {
		told = append(told, strings.TrimPrefix(f.String(), dir+"/"))
	}
	want := []string{
		"large.yaml:1:1: expected a file of at most 1048576 bytes",
		"loop.yaml: the file cannot be read: too many levels of symbolic links", "pipe.json: expected a regular file",
	}
	if diff := cmp.Diff(want, told); diff != "" || len(set.Files) != 1 {
		t.Errorf("%v %s", set.Files, diff)
	}
}

// A directory must not have more blueprints than a hub accepts.
func TestTooMany(t *testing.T) {
	withPrograms(t, "python")
	dir := t.TempDir()
	for i := range limits.MaxBlueprints + 1 {
		write(t, dir, fmt.Sprintf("b%03d.json", i),
			fmt.Sprintf(`{"name":"b%03d","argv":["python"],"parameters_schema":{}}`, i))
	}
	set, faults := blueprint.Load(dir)
	if len(set.Files) != limits.MaxBlueprints || len(faults) != 1 ||
		!strings.HasSuffix(faults[0].String(), "b256.json: expected at most 256 blueprints in a directory") {
		t.Errorf("%d files, %v", len(set.Files), faults)
	}
}

// A file can express every field of a registered blueprint, with the same names.
func TestTable(t *testing.T) {
	var published struct{ Properties map[string]any }
	if err := json.Unmarshal(blueprint.Schema(), &published); err != nil {
		t.Fatal(err)
	}
	wire := reflect.TypeFor[parley.Blueprint]()
	for i := range wire.NumField() {
		name, _, _ := strings.Cut(wire.Field(i).Tag.Get("json"), ",")
		if name == "timeout_ms" { // people write 5m
			name = "timeout"
		}
		if name == "agent_config" { // its keys are on the same level as the others
			name = "model"
		}
		if published.Properties[name] == nil {
			t.Errorf("%s cannot be said", name)
		}
	}
	golden.Compare(t, filepath.Join("..", "..", "docs", "blueprint.schema.json"), blueprint.Schema())
	schema, err := paramschema.Compile(blueprint.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for text, right := range map[string]bool{
		seedFile(t): true,
		`{"name":"a","argv":["b"],"parameters_schema":{}}`:                             true,
		`{"name":"a","argv":["b"],"command":"b","parameters_schema":{}}`:               false,
		`{"name":"a","parameters_schema":{}}`:                                          false,
		`{"name":"a","argv":["b"]}`:                                                    false,
		`{"name":"a","argv":["b"],"parameters_schema":{},"prompt":"x"}`:                false,
		`{"name":"a","argv":["b"],"parameters_schema":{},"labels":{"a":true}}`:         false,
		`{"name":"a","argv":["b"],"parameters_schema":{},"idempotent":1}`:              false,
		`{"name":"a","argv":["b",""],"parameters_schema":{},"idempotent":true}`:        true,
		`{"name":"a","argv":["b"],"parameters_schema":{},"env":["A","B=c"]}`:           true,
		`{"name":"a","argv":["b"],"parameters_schema":{},"env":["A-B"]}`:               false,
		`{"name":"a","argv":["b"],"parameters_schema":{},"max_output_bytes":16777217}`: false,
		`{"type":"deterministic","name":"a","argv":["b"],"parameters_schema":{}}`:      true,
		`{"type":"agent","name":"a","model":"openai:x"}`:                               true,
		`{"type":"agent","name":"a"}`:                                                  false,
		`{"type":"agent","name":"a","model":"openai:x","argv":["b"]}`:                  false,
		`{"type":"workflow","name":"a","model":"openai:x"}`:                            false,
		`{"name":"a","argv":["b"],"parameters_schema":{},"model":"openai:x"}`:          false,
		`{"type":"agent","name":"a","model":"x","max_steps":null}`:                     false,
		`{"type":"agent","name":"a","model":"o:x","max_steps":null,"temperature":0.2}`: true,
		`{"type":"agent","name":"a","model":"o:x","max_parallel_subagents":8}`:         false,
		`{"type":"agent","name":"a","model":"o:x","budget_awareness":"limit:101"}`:     false,
		`{"type":"agent","name":"a","model":"o:x","mcp_servers":{"s":{"x":1}}}`:        false,
		`{"type":"agent","name":"a","model":"o:x","run_options":{"budget":{"ms":1}}}`:  false,
		`{"type":"agent","name":"a","model":"o:x","run_options":{"seed":7}}`:           true,
	} {
		wrong, err := schema.Validate(json.RawMessage(text))
		if err != nil || (len(wrong) == 0) != right {
			t.Errorf("%.100s: the Schema says %v, %v", text, wrong, err)
		}
	}
}

func seedFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "good", "web-crawler.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Any text is a file or faults with positions. A valid file can be registered and written again.
func FuzzParse(f *testing.F) {
	withPrograms(f, "python")
	patterns := map[string][]string{"good": {"*.json", "*.y*ml"}, "faults": {"*.json", "*.y*ml"}, "seed": {"*.json"},
		"kind-faults": {"*.y*ml"}}
	for _, dir := range []string{"good", "faults", "seed", "kind-faults"} {
		for _, pattern := range patterns[dir] {
			names, err := filepath.Glob(filepath.Join("testdata", dir, pattern))
			if err != nil || len(names) == 0 {
				f.Fatal(names, err)
			}
			for _, name := range names {
				text, err := os.ReadFile(name)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(text, strings.HasSuffix(name, ".json"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, asJSON bool) {
		path := "b.yaml"
		if asJSON {
			path = "b.json"
		}
		file, faults := blueprint.Parse(path, text)
		if (file == nil) != (len(faults) > 0) {
			t.Fatalf("%v, %v", file, faults)
		}
		for _, fault := range faults {
			if fault.Line < 1 || fault.Column < 1 || fault.What == "" {
				t.Errorf("%+v has no place", fault)
			}
		}
		if file == nil {
			return
		}
		b := file.Blueprint()
		if !parley.ValidParticipantID(b.Name) || !json.Valid(b.ParametersSchema) ||
			b.TimeoutMs < limits.MinDurationMs && (file.IsCommand() || b.TimeoutMs != 0) ||
			b.TimeoutMs > limits.MaxSessionTimeoutMs {
			t.Errorf("%+v", b)
		}
		if (file.Plan != nil) != (file.Type == parley.AgentTypeWorkflow) ||
			file.Subscriptions != nil && !json.Valid(file.Subscriptions) {
			t.Errorf("%+v", file)
		}
		if !file.IsCommand() {
			return
		}
		if len(file.Argv) == 0 || file.Program == "" || file.MaxOutputBytes < 1 {
			t.Errorf("%+v", file)
		}
	})
}
