package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

func agentNamed(name string) parley.AgentInfo {
	return parley.AgentInfo{Name: name, Type: parley.AgentTypeAgent, Description: "does something"}
}

func mustRegister(t *testing.T, h *hub.Hub, info parley.AgentInfo) func() {
	t.Helper()
	remove, err := h.RegisterAgent(info)
	if err != nil {
		t.Fatal(err)
	}
	return remove
}

func listed(t *testing.T, h *hub.Hub) []parley.AgentInfo {
	t.Helper()
	r, err := h.ListAgents(t.Context(), h.LocalPrincipal("anybody", parley.ScopeRead), &parley.ListAgentsParams{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Agents
}

// TestAgentsAreListed by name, online, to everybody who may read, until they are removed.
func TestAgentsAreListed(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	if got := listed(t, h); got == nil || len(got) != 0 {
		t.Errorf("a hub without agents lists %+v", got)
	}
	schema := json.RawMessage(`{"type":"object"}`)
	full := parley.AgentInfo{Name: "b", Type: parley.AgentTypeWorkflow, Description: "two\nlines", Runner: "r.1",
		ParametersSchema: schema}
	removeB := mustRegister(t, h, full)
	copy(schema, "broken")
	removeA := mustRegister(t, h, agentNamed("a"))
	want := []parley.AgentInfo{
		{Name: "a", Type: parley.AgentTypeAgent, Description: "does something", Online: true},
		{Name: "b", Type: parley.AgentTypeWorkflow, Description: "two\nlines", Runner: "r.1", ParametersSchema: json.RawMessage(`{"type":"object"}`), Online: true},
	}
	if d := cmp.Diff(want, listed(t, h)); d != "" {
		t.Errorf("listed (-want +got):\n%s", d)
	}
	listed(t, h)[1].ParametersSchema[0] = '!'
	if d := cmp.Diff(want, listed(t, h)); d != "" {
		t.Errorf("after the receiver has changed its copy (-want +got):\n%s", d)
	}
	_, err := h.ListAgents(t.Context(), h.LocalPrincipal("writer", parley.ScopeWrite), &parley.ListAgentsParams{})
	refused(t, err, parley.ErrForbidden)

	_, err = h.RegisterAgent(agentNamed("a"))
	refused(t, err, parley.ErrAlreadyExists)
	removeA()
	later := mustRegister(t, h, agentNamed("a"))
	removeA() // takes away only its own
	if got := listed(t, h); len(got) != 2 {
		t.Errorf("an old remove has taken away a later agent: %+v", got)
	}
	later()
	removeB()
	if got := listed(t, h); len(got) != 0 {
		t.Errorf("after all were removed there are %+v", got)
	}
}

// TestAgentsAreBounded: nothing is registered that the contract does not allow, nor more than one reply holds.
func TestAgentsAreBounded(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	for name, c := range map[string]struct {
		change   func(*parley.AgentInfo)
		sentinel error
	}{
		"no name":           {func(i *parley.AgentInfo) { i.Name = "" }, parley.ErrValidationFailed},
		"the hub's name":    {func(i *parley.AgentInfo) { i.Name = "hub" }, parley.ErrValidationFailed},
		"a path":            {func(i *parley.AgentInfo) { i.Name = "../x" }, parley.ErrValidationFailed},
		"a long name":       {func(i *parley.AgentInfo) { i.Name = strings.Repeat("n", 65) }, parley.ErrValidationFailed},
		"no type":           {func(i *parley.AgentInfo) { i.Type = "" }, parley.ErrValidationFailed},
		"a type of its own": {func(i *parley.AgentInfo) { i.Type = "daemon" }, parley.ErrValidationFailed},
		"broken text":       {func(i *parley.AgentInfo) { i.Description = "\xff" }, parley.ErrValidationFailed},
		"a long text":       {func(i *parley.AgentInfo) { i.Description = strings.Repeat("d", 1025) }, parley.ErrTooLarge},
		"a runner's path":   {func(i *parley.AgentInfo) { i.Runner = "a/b" }, parley.ErrValidationFailed},
		"no JSON":           {func(i *parley.AgentInfo) { i.ParametersSchema = json.RawMessage(`{"a":`) }, parley.ErrValidationFailed},
		"an open text":      {func(i *parley.AgentInfo) { i.ParametersSchema = json.RawMessage(`{"a`) }, parley.ErrValidationFailed},
		"no object":         {func(i *parley.AgentInfo) { i.ParametersSchema = json.RawMessage(`true`) }, parley.ErrValidationFailed},
		"spaces alone":      {func(i *parley.AgentInfo) { i.ParametersSchema = json.RawMessage(` `) }, parley.ErrValidationFailed},
		"a name twice":      {func(i *parley.AgentInfo) { i.ParametersSchema = json.RawMessage(`{"a":1,"a":2}`) }, parley.ErrValidationFailed},
		"a deep schema":     {func(i *parley.AgentInfo) { i.ParametersSchema = nested(61) }, parley.ErrValidationFailed},
		"a large schema":    {func(i *parley.AgentInfo) { i.ParametersSchema = schemaOf(64<<10 + 1) }, parley.ErrTooLarge},
	} {
		info := agentNamed("a")
		c.change(&info)
		if _, err := h.RegisterAgent(info); err == nil {
			t.Errorf("%s: registered", name)
		} else if parley.ErrorRowOf(err).Err != c.sentinel {
			t.Errorf("%s: %v, expected %v", name, err, c.sentinel)
		}
	}
	edge := agentNamed(strings.Repeat("n", 64))
	edge.Description, edge.ParametersSchema = strings.Repeat("d", 1024), nested(60)
	mustRegister(t, h, edge)()
	spaced := agentNamed("spaced")
	spaced.ParametersSchema = json.RawMessage(` { "a" : 1 } `)
	remove := mustRegister(t, h, spaced)
	if got := listed(t, h); len(got) != 1 || string(got[0].ParametersSchema) != `{"a":1}` {
		t.Errorf("a schema with space is kept as %s", got[0].ParametersSchema)
	}
	remove()
	if got := listed(t, h); len(got) != 0 {
		t.Fatalf("something was registered: %d agents", len(got))
	}
	large := agentNamed("")
	large.ParametersSchema = schemaOf(64 << 10)
	var removes []func()
	for {
		large.Name = fmt.Sprint("a", len(removes))
		remove, err := h.RegisterAgent(large)
		if err != nil {
			refused(t, err, parley.ErrTooLarge)
			break
		}
		removes = append(removes, remove)
	}
	b, err := json.Marshal(parley.ListAgentsResult{Agents: listed(t, h)})
	if err != nil || len(b) > limits.MaxPageBytes || len(b) < limits.MaxPageBytes/2 {
		t.Errorf("%d agents of 64 KiB make a reply of %d bytes, %v", len(removes), len(b), err)
	}
	removes[0]()
	mustRegister(t, h, large)
}

func nested(levels int) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"a":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1))
}

func schemaOf(size int) json.RawMessage {
	head, end := `{"d":"`, `"}`
	return json.RawMessage(head + strings.Repeat("d", size-len(head)-len(end)) + end)
}
