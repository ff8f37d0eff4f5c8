package mcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

type agentList struct {
	Agents []struct {
		Name             string
		ParametersSchema json.RawMessage `json:"parameters_schema"`
		SchemasText      string          `json:"schemas_text"`
		Rest             string
		Next             int `json:"next_schema_offset"`
	}
	NextCursor string `json:"next_cursor"`
	Next       string
}

// largeSchema returns a schema of at least the given bytes.
func largeSchema(t *testing.T, bytes int) json.RawMessage {
	t.Helper()
	return raw(t, map[string]any{"type": "object", "description": strings.Repeat("é", bytes/2)})
}

// A page of agents is bounded in both forms, the pages together have all agents, and each schema
// can be read.
func TestAgentPageIsBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	want := []string{}
	schemas := map[string]json.RawMessage{}
	for n := range 60 {
		name := fmt.Sprintf("agent-%02d", n)
		want = append(want, name)
		size := 3000
		if n < 4 {
			size = []int{100, 7000, 12_000, 60_000}[n]
		}
		schemas[name] = largeSchema(t, size)
		h.RegisterAgent(t, parley.AgentInfo{
			Name: name, Type: parley.AgentTypeAgent, Description: strings.Repeat("d",
				900), ParametersSchema: schemas[name], OutputSchema: json.RawMessage(`{"type":"string"}`),
		})
	}
	var got []string
	args := map[string]any{}
	for page := 0; ; page++ {
		var l agentList
		r := alice.call("list_agent_blueprints", args)
		if text, structured := len([]rune(schemaText(r))), len([]rune(string(raw(t,
			r.StructuredContent)))); text > mcp.MaxChars+4000 || structured > mcp.MaxChars+4000 || page > 20 {
			t.Fatalf("page %d: %d characters of text, %d structured", page, text, structured)
		}
		if err := json.Unmarshal(raw(t, r.StructuredContent), &l); err != nil {
			t.Fatal(err)
		}
		for _, a := range l.Agents {
			got = append(got, a.Name)
			if call := fmt.Sprintf("list_agent_blueprints {agent_name: %q}", a.Name); a.ParametersSchema == nil &&
				(a.Rest != call || !strings.Contains(schemaText(r), call)) {
				t.Errorf("%s: no schema, and the rest is %q", a.Name, a.Rest)
			}
		}
		if l.NextCursor == "" {
			break
		}
		if !strings.Contains(schemaText(r), fmt.Sprintf("list_agent_blueprints {cursor: %q}", l.NextCursor)) {
			t.Errorf("the text has no next call: %.200s", l.Next)
		}
		args["cursor"] = l.NextCursor
	}
	if !slices.Equal(got, want) {
		t.Errorf("agents %v", got)
	}
	for _, name := range want[:4] {
		if read := alice.readSchema(name); string(read) != string(schemas[name]) {
			t.Errorf("%s: a schema of %d bytes, expected %d", name, len(read), len(schemas[name]))
		}
	}
	alice.refused("list_agent_blueprints", map[string]any{"schema_offset": 5}, "validation_failed", "agent_name")
}

// readSchema reads the parameters_schema of an agent in as many pieces as necessary.
func (i *ide) readSchema(name string) json.RawMessage {
	i.t.Helper()
	args, text := map[string]any{"agent_name": name}, ""
	for {
		var l agentList
		shown := i.must("list_agent_blueprints", args, &l)
		if len(l.Agents) != 1 || len([]rune(shown)) > mcp.MaxChars+4000 {
			i.t.Fatalf("%s: %d agents in %d bytes", name, len(l.Agents), len(shown))
		}
		a := l.Agents[0]
		if a.ParametersSchema != nil {
			return a.ParametersSchema
		}
		text += a.SchemasText
		if a.Next == 0 {
			break
		}
		if call := fmt.Sprintf("list_agent_blueprints {agent_name: %q, schema_offset: %d}", name,
			a.Next); !strings.Contains(shown, call) {
			i.t.Errorf("%s: the text does not have %s", name, call)
		}
		args["schema_offset"] = a.Next
	}
	var both struct {
		Parameters json.RawMessage `json:"parameters_schema"`
	}
	if err := json.Unmarshal([]byte(text), &both); err != nil {
		i.t.Fatalf("%s: %v", name, err)
	}
	return both.Parameters
}
