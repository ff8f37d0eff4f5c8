//go:build unix

package blueprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/internal/randomconfig"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// An agent config passes through a file, a registration, the log of the hub and a restart, and
// keeps its bytes except white space. Callers without permission do not get it.
func TestConfigThroughTheHub(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	rng := rand.New(rand.NewPCG(4, 2))
	hub := sdktest.NewHub(t)
	for round := range 12 {
		dir := t.TempDir()
		configs, texts := map[string]*parley.AgentConfig{}, map[string][]byte{}
		for i := range 4 {
			name := fmt.Sprintf("agent-%d-%d", round, i)
			configs[name] = randomconfig.New(rng)
			texts[name] = writeAgent(t, dir, name, configs[name])
		}
		set, faults := blueprint.Load(dir)
		if len(faults) > 0 || len(set.Files) != len(configs) {
			t.Fatal(faults)
		}
		register(t, hub, fmt.Sprint("box-", round), set.Blueprints())
		hub.Restart(t)
		for name, config := range agentConfigs(t, hub.Admin(t)) {
			want := configs[name]
			if want == nil {
				continue // of an earlier round
			}
			if !bytes.Equal(config, texts[name]) {
				t.Fatalf("%s came back as\n%s\nand was\n%s", name, config, texts[name])
			}
			if back, faults := parley.ParseAgentConfig(config); len(faults) > 0 || !reflect.DeepEqual(want, back) {
				t.Fatalf("%s means %+v, %v\nand meant %+v", name, back, faults, want)
			}
			delete(configs, name)
		}
		if len(configs) > 0 {
			t.Fatalf("%d agents are not there any more", len(configs))
		}
		if others := agentConfigs(t, hub.Client(t, fmt.Sprint("ann", round))); len(others) > 0 {
			t.Fatalf("ann reads %d configs", len(others))
		}
	}
}

// writeAgent writes the file of an LLM agent, on several lines or on one, and returns its compact
// config.
func writeAgent(t *testing.T, dir, name string, c *parley.AgentConfig) []byte {
	t.Helper()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(fmt.Sprintf(`{"type":"agent","name":%q,%s`, name, config[1:]))
	if len(name)%2 == 0 {
		var lines bytes.Buffer
		if err := json.Indent(&lines, text, "", "\t"); err != nil {
			t.Fatal(err)
		}
		text = lines.Bytes()
	}
	write(t, dir, name+".json", string(text))
	f, faults := blueprint.Parse(filepath.Join(dir, name+".json"), text)
	if f == nil {
		t.Fatal(faults)
	}
	var same parley.AgentConfig
	if err := json.Unmarshal(f.AgentConfig, &same); err != nil {
		t.Fatal(err)
	}
	return f.AgentConfig
}

// register registers blueprints like a runner, and disconnects.
func register(t *testing.T, hub *sdktest.Hub, id string, blueprints []parley.Blueprint) {
	t.Helper()
	client := hub.Client(t, "ops-"+id)
	for n, err := range client.RegisterExecutor(t.Context(),
		&parley.RegisterExecutorParams{ExecutorID: id, Agents: []string{}, Mode: parley.ModePush}, nil) {
		if err != nil || n.Registered == nil {
			t.Fatal(n, err)
		}
		r, err := client.RegisterBlueprints(t.Context(), &parley.RegisterBlueprintsParams{Blueprints: blueprints})
		if err != nil || len(r.Agents) != len(blueprints) {
			t.Fatal(r, err)
		}
		break
	}
}

// agentConfigs returns the configs that a caller gets.
func agentConfigs(t *testing.T, client parley.Client) map[string]json.RawMessage {
	t.Helper()
	r, err := client.ListAgents(t.Context(), &parley.ListAgentsParams{IncludeConfig: true})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]json.RawMessage{}
	for _, a := range r.Agents {
		if a.AgentConfig != nil {
			out[a.Name] = a.AgentConfig
		}
	}
	return out
}
