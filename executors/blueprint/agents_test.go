//go:build unix

package blueprint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Every fault of an LLM agent's file is reported with its position.
func TestAgentFaults(t *testing.T) {
	withPrograms(t, "python")
	t.Chdir("testdata")
	set, faults := blueprint.Load("agent-faults")
	golden.CompareLines(t, "agent-faults.txt", faults)
	if len(set.Files) != 1 || set.Files[0].Name != "t" {
		t.Errorf("loaded: %v", set.Files)
	}
}

// The example of seed 002 is loaded, with declared tools.
func TestAgentSeed(t *testing.T) {
	set, faults := blueprint.Load(filepath.Join("testdata", "agents"))
	f := set.File("ops-supervisor")
	if f == nil {
		t.Fatal(faults)
	}
	text, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	var said, config map[string]any
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	b := f.Blueprint()
	if err := json.Unmarshal(b.AgentConfig, &config); err != nil {
		t.Fatal(err)
	}
	delete(said, "name")
	delete(said, "type")
	if diff := cmp.Diff(said, config); diff != "" {
		t.Error(diff)
	}
	if !f.IsAgent() || b.Type != parley.AgentTypeAgent || f.Config.MaxParallelSubagents != 4 || b.TimeoutMs != 0 ||
		b.ParamsVia != "" || string(b.ParametersSchema) != string(paramschema.Prompt().Raw()) {
		t.Errorf("%+v", b)
	}
}

// The values of a file are passed on unchanged and in order.
func TestAgentFile(t *testing.T) {
	set, faults := blueprint.Load(filepath.Join("testdata", "agents"))
	if len(faults) > 0 || set.File("refund") == nil {
		t.Fatal(faults)
	}
	got := set.File("refund").Blueprint()
	want := parley.Blueprint{
		Name: "refund", Type: parley.AgentTypeAgent, Description: "Gives money back.",
		TimeoutMs: (10 * time.Minute).Milliseconds(), Labels: map[string]string{"zone": "eu"},
		AgentConfig: json.RawMessage(
			`{"model":"scripted:refund","instructions":"Look <first>, & then pay.\n","planning_model":null,` +
				`"temperature":0.10,"agents":["ledger"],"hitl_tools":["ledger"],` +
				`"mcp_servers":{"files":{"command":"mcp-files","args":["--root","${ROOT}"],"tools":[]}},"run_options":{"seed":7,` +
				`"budget":{"tokens":50000,"on_exceeded":"partial"}}}`),
		ParametersSchema: json.RawMessage(`{"type":"object","required":["order"],"properties":{"order":{"type":"string"}}}`),
		OutputSchema:     json.RawMessage(`{"type":"object","required":["refunded"]}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A file can have every member of an agent config.
func TestConfigKeys(t *testing.T) {
	var published struct {
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(blueprint.Schema(), &published); err != nil {
		t.Fatal(err)
	}
	same := func(of reflect.Type, properties map[string]json.RawMessage) {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if properties[name] == nil {
				t.Errorf("%s: %s cannot be said", of.Name(), name)
			}
		}
	}
	same(reflect.TypeFor[parley.AgentConfig](), published.Properties)
	var options, servers struct {
		Properties           map[string]json.RawMessage
		AdditionalProperties struct{ Properties map[string]json.RawMessage }
	}
	for name, to := range map[string]any{"run_options": &options, "mcp_servers": &servers} {
		_ = json.Unmarshal(published.Properties[name], to) // false is no struct: a schema that is closed says so
	}
	same(reflect.TypeFor[parley.AgentRunOptions](), options.Properties)
	same(reflect.TypeFor[parley.MCPServer](), servers.AdditionalProperties.Properties)
}
