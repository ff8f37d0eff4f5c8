package parley_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/randomconfig"
	"github.com/parleyhub/parley/internal/toolnames"
)

// faultsOf returns the errors of a config, one per line.
func faultsOf(t *testing.T, raw string) []string {
	t.Helper()
	c, faults := parley.ParseAgentConfig(json.RawMessage(raw))
	if (c == nil) != (len(faults) > 0) {
		t.Fatalf("%s: a config %v and %d faults", raw, c != nil, len(faults))
	}
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.Path + ": " + f.Message
	}
	return lines
}

// with is a config with these members besides its model.
func with(members string) string {
	if members == "" {
		return `{"model":"openai:gpt-4o"}`
	}
	return `{"model":"openai:gpt-4o",` + members + `}`
}

// TestSeedConfig: the example of seed 002 is valid if its tools are declared, and its fields are
// read.
func TestSeedConfig(t *testing.T) {
	c, faults := parley.ParseAgentConfig(json.RawMessage(`{
		"model": "openai:gpt-4o",
		"instructions": "Plan first, execute carefully, and escalate dangerous actions.",
		"max_steps": 12, "temperature": 0.2, "max_tokens": 4096,
		"planning_enabled": true, "planning_model": "openai:gpt-4o-mini",
		"planning_instructions": "Return a short numbered execution plan before acting.",
		"budget_awareness": "limit:70",
		"hitl_tools": ["deploy_service", "rotate_credentials"],
		"emit_mcp_progress": true,
		"injected_tool_args": {
			"ui_request_id": "Opaque UI correlation id exposed only in tool schemas.",
			"run_origin": "Short label for the caller surface, such as playground or workflow."
		},
		"allow_parallel_subagents": true, "max_parallel_subagents": 4,
		"tools": ["deploy_service", "rotate_credentials"]
	}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	percent, limited := c.BudgetLimit()
	switch {
	case c.MaxSteps != 12,
		*c.Temperature != 0.2,
		c.MaxTokens != 4096,
		!c.PlanningEnabled,
		c.PlanningModel != "openai:gpt-4o-mini",
		percent != 70,
		!limited,
		!slices.Equal(
			c.HITLTools,
			[]string{"deploy_service", "rotate_credentials"},
		),
		!c.EmitsMCPProgress(),
		len(c.InjectedToolArgs) != 2,
		!c.Spawns(),
		c.Subagents() != 4:
		t.Errorf("%+v", c)
	}
}

// TestConfigDefaults: an absent field has its default, and null is an absent one.
func TestConfigDefaults(t *testing.T) {
	bare, faults := parley.ParseAgentConfig(json.RawMessage(with("")))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var nulls []string
	for _, name := range members(reflect.TypeFor[parley.AgentConfig]()) {
		if name != "model" {
			nulls = append(nulls, fmt.Sprintf("%q: null", name))
		}
	}
	absent, faults := parley.ParseAgentConfig(json.RawMessage(with(strings.Join(nulls, ","))))
	if len(faults) > 0 || !reflect.DeepEqual(bare, absent) {
		t.Errorf("%+v, %v", absent, faults)
	}
	if _, limited := bare.BudgetLimit(); limited || !bare.EmitsMCPProgress() || bare.Spawns() || bare.Subagents() != 3 ||
		bare.RunOptions != nil {
		t.Errorf("%+v", bare)
	}
}

// members are the names of what a struct has in JSON.
func members(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestConfigFaults: invalid values are refused with their path and the expected value.
func TestConfigFaults(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                                         "$: expected an object",
		`null`:                                       "$: expected an object",
		`{}`:                                         "$.model: expected a runtime, a colon and a model, such as openai:gpt-4o",
		`{"model":"gpt-4o"}`:                         "$.model: expected a runtime",
		`{"model":":x"}`:                             "$.model: expected a runtime",
		`{"model":"openai:"}`:                        "$.model: expected a runtime",
		`{"model":"openai:a b"}`:                     "$.model: expected a runtime",
		`{"model":"openai:a\u0000"}`:                 "$.model: expected a runtime",
		with(`"Model":"openai:gpt-4o"`):              "$.Model: there is no such field: expected model",
		with(`"modell":1`):                           "$.modell: there is no such field",
		with(`"MAX_STEPS":3`):                        "$.MAX_STEPS: there is no such field",
		with(`"max_steps":0`):                        "$.max_steps: expected at least 1",
		with(`"max_steps":101`):                      "$.max_steps: expected 1 to 100",
		with(`"max_steps":1.5`):                      "$.max_steps: expected an integer",
		with(`"max_steps":"12"`):                     "$.max_steps: expected an integer",
		with(`"temperature":2.1`):                    "$.temperature: expected 0 to 2",
		with(`"temperature":-0.1`):                   "$.temperature: expected 0 to 2",
		with(`"temperature":"low"`):                  "$.temperature: expected a number",
		with(`"top_p":0`):                            "$.top_p: expected more than 0 and at most 1",
		with(`"top_p":1.01`):                         "$.top_p: expected more than 0 and at most 1",
		with(`"max_tokens":0`):                       "$.max_tokens: expected at least 1",
		with(`"context_window":0`):                   "$.context_window: expected at least 1",
		with(`"context_window":255`):                 "$.context_window: expected 256 to",
		with(`"planning_enabled":"yes"`):             "$.planning_enabled: expected true or false",
		with(`"planning_model":"gpt"`):               "$.planning_model: expected a runtime",
		with(`"budget_awareness":"limit:x"`):         "$.budget_awareness: expected per-message, or limit: and a percentage from 0 to 100",
		with(`"budget_awareness":"limit:101"`):       "$.budget_awareness: expected per-message",
		with(`"budget_awareness":"limit:-1"`):        "$.budget_awareness: expected per-message",
		with(`"budget_awareness":"limit:07"`):        "$.budget_awareness: expected per-message",
		with(`"budget_awareness":"limit:7.5"`):       "$.budget_awareness: expected per-message",
		with(`"budget_awareness":"limit:70\n"`):      "$.budget_awareness: expected per-message",
		with(`"hitl_tools":["refund"]`):              "$.hitl_tools[0]: expected a tool of this agent: it has none",
		with(`"tools":["a"],"hitl_tools":["a","b"]`): "$.hitl_tools[1]: expected a tool of this agent: a",
		with(`"tools":["a"],"hitl_tools":["a","a"]`): "$.hitl_tools[1]: expected each name once",
		with(`"hitl_tools":["spawn_self"]`):          "$.hitl_tools[0]: expected a tool of this agent",
		with(`"mcp_servers":{"s":{"command":"x"}},"hitl_tools":["t__x"]`):               "$.hitl_tools[0]: expected a tool of this agent: s__...",
		with(`"mcp_servers":{"s":{"command":"x","tools":["a"]}},"hitl_tools":["s__b"]`): "$.hitl_tools[0]: expected a tool of this agent: s__...",
		with(`"mcp_servers":{"s":{"command":"x","tools":[]}},"hitl_tools":["s__b"]`):    "$.hitl_tools[0]: expected a tool of this agent: s__...",
		with(`"hitl_timeout_ms":0`):                                           "$.hitl_timeout_ms: expected at least 1",
		with(`"hitl_timeout_ms":99`):                                          "$.hitl_timeout_ms: expected 100 to",
		with(`"injected_tool_args":{"a b":"x"}`):                              "$.injected_tool_args.a b: expected a name of",
		with(`"injected_tool_args":{"a":1}`):                                  "$.injected_tool_args.a: expected a text",
		with(`"injected_tool_args":{"a":null}`):                               "$.injected_tool_args.a: expected a text",
		with(`"injected_tool_args":["a"]`):                                    "$.injected_tool_args: expected an object of texts",
		with(`"max_parallel_subagents":0`):                                    "$.max_parallel_subagents: expected at least 1",
		with(`"max_parallel_subagents":8`):                                    "$.max_parallel_subagents: expected 1 to 7",
		with(`"tools":["a b"]`):                                               "$.tools[0]: expected a name of 1 to 64",
		with(`"tools":["spawn_self"]`):                                        "$.tools[0]: expected a name of 1 to 64",
		with(`"tools":["a",null]`):                                            "$.tools: expected a list of texts",
		with(`"tools":"a"`):                                                   "$.tools: expected a list of texts",
		with(`"agents":["no name"]`):                                          "$.agents[0]: expected the name of an agent",
		with(`"mcp_servers":{"s":{}}`):                                        "$.mcp_servers.s: expected either command or url",
		with(`"mcp_servers":{"s":{"command":"x","url":"https://a"}}`):         "$.mcp_servers.s: expected either command or url",
		with(`"mcp_servers":{"s":{"url":"https://a","args":["x"]}}`):          "$.mcp_servers.s: expected args, env,",
		with(`"mcp_servers":{"s":{"command":"x","headers":{"a":"b"}}}`):       "$.mcp_servers.s: expected headers with url only",
		with(`"mcp_servers":{"s":{"url":"ftp://a"}}`):                         "$.mcp_servers.s.url: expected an address",
		with(`"mcp_servers":{"s":{"url":"https://a","headers":{"a":"b\n"}}}`): "$.mcp_servers.s.headers.a: expected a header",
		with(`"mcp_servers":{"s":{"command":"x","env":{"A=B":"c"}}}`):         "$.mcp_servers.s.env.A=B: expected a variable",
		with(`"mcp_servers":{"s":{"comand":"x"}}`):                            "$.mcp_servers.s.comand: there is no such field: expected command",
		with(`"mcp_servers":{"s":null}`):                                      "$.mcp_servers.s: expected an object",
		with(`"mcp_servers":{"a__b":{"command":"x"}}`):                        "$.mcp_servers.a__b: expected a name",
		with(`"mcp_servers":{"a_":{"command":"x"}}`):                          "$.mcp_servers.a_: expected a name",
		with(`"tools":["s__t"],"mcp_servers":{"s":{"command":"x"}}`):          "$.mcp_servers.s: expected another name",
		with(`"tools":["a"],"child_tools":["b"]`):                             "$.child_tools[0]: expected a tool of this agent: a",
		with(`"allow_self_spawn":true,"child_tools":["spawn_self"]`):          "$.child_tools[0]: expected a tool of this agent",
		with(`"run_options":[]`):                                              "$.run_options: expected an object",
		with(`"run_options":{"sed":1}`):                                       "$.run_options.sed: there is no such field",
		with(`"run_options":{"seed":1.5}`):                                    "$.run_options.seed: expected an integer",
		with(`"run_options":{"max_retries":11}`):                              "$.run_options.max_retries: expected 0 to 10",
		with(`"run_options":{"max_retries":-1}`):                              "$.run_options.max_retries: expected 0 to 10",
		with(`"run_options":{"max_tool_calls":0}`):                            "$.run_options.max_tool_calls: expected at least 1",
		with(`"run_options":{"budget":{}}`):                                   "$.run_options.budget: expected tokens, ms or both",
		with(`"run_options":{"budget":{"tokens":0}}`):                         "$.run_options.budget.tokens: expected at least 1",
		with(`"run_options":{"budget":{"ms":1}}`):                             "$.run_options.budget.ms: expected 100 to",
		with(`"run_options":{"budget":{"tokens":9,"on_exceeded":"ignore"}}`):  "$.run_options.budget.on_exceeded: expected abort or partial",
		with(`"run_options":{"metadata":{"a":"` + strings.Repeat("x", 513) +
			`"}}`): "$.run_options.metadata.a: expected at most 512 characters",
		with(`"run_options":{"metadata":{"` + strings.Repeat("k", 65) + `":"v"}}`): "$.run_options.metadata.kkkk",
		with(`"planning_enabled":true,"max_steps":1`):                              "$.max_steps: expected at least 2 with planning_enabled",
		with(`"run_options":{"user_template":"a {"}`):                              "$.run_options.user_template: expected {, a name and } at byte 2, or {{ for a brace",
		with(`"run_options":{"user_template":"{}"}`):                               "$.run_options.user_template: expected {, a name and } at byte 0",
		with(`"run_options":{"user_template":"{a b}"}`):                            "$.run_options.user_template: expected {, a name and } at byte 0",
		with(`"run_options":{"user_template":"{a{b}"}`):                            "$.run_options.user_template: expected {, a name and } at byte 0",
		with(`"run_options":{"user_template":"{{a}"}`):                             "$.run_options.user_template: expected }} for a brace at byte 3",
		with(`"instructions":"` + strings.Repeat("x", limits.MaxInstructionsBytes+1) +
			`"`): "$.instructions: expected at most 65536 bytes",
		with(`"instructions":1`): "$.instructions: expected a text",
		with(`"instructions":"` + strings.Repeat("\\u0020", limits.MaxAgentConfigBytes) +
			`"`): "$: expected at most 262144 bytes",
	} {
		got := faultsOf(t, raw)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%.90s: %q, expected one that begins with %q", raw, got, want)
		}
	}
	for _, good := range []string{
		with(`"agents":["run_parallel_subagents"]`), // its tool gets another name
		with(`"run_options":{"user_template":"{{{a}}} of {b.c-d}"}`),
		with(`"run_options":{"user_template":"{{Say}} {what}"}`), with(`"planning_enabled":true,"max_steps":2`),
		with(`"max_steps":1`),
		with(`"run_options":{"metadata":{"` + strings.Repeat("ä", 64) + `":"` + strings.Repeat("ä", 512) + `"}}`),
		with(`"budget_awareness":"limit:0"`), with(`"budget_awareness":"limit:100"`),
		with(`"budget_awareness":"per-message"`), with(`"temperature":0`), with(`"top_p":1`),
		with(`"max_parallel_subagents":7`), with(`"run_options":{"max_retries":0,"seed":0}`), with(`"child_tools":[]`),
		`{"model":"ollama:llama3:8b-q4"}`,
		with(`"allow_self_spawn":true,"hitl_tools":["spawn_self"]`), with(`"agents":["a.b@box"],"hitl_tools":["a_b_box"]`),
		with(`"mcp_servers":{"s":{"url":"${BASE}/mcp","headers":{"Authorization":"Bearer ${KEY}"}}},"hitl_tools":["s__any.x"]`),
	} {
		if strings.Contains(good, "any.x") {
			good = strings.ReplaceAll(good, "any.x", "any_x")
		}
		if got := faultsOf(t, good); len(got) > 0 {
			t.Errorf("%s: %q", good, got)
		}
	}
}

// TestAllConfigFaults: one call reports all errors, each once. Errors that depend on a value that
// could not be decoded are not reported.
func TestAllConfigFaults(t *testing.T) {
	got := faultsOf(
		t,
		`{"model":7,"max_steps":0,"temperature":9,"tools":[1],"hitl_tools":["a"],"run_options":{"budget":{"tokens":"x"},"max_retries":99},"nope":1}`,
	)
	want := []string{
		"$.max_steps",
		"$.model",
		"$.nope",
		"$.run_options.budget.tokens",
		"$.tools",
		"$.temperature",
		"$.run_options.max_retries",
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]+": ") {
			t.Errorf("%q, expected %s", got[i], want[i])
		}
	}
}

// TestConfigRoundTrip: a valid config says in JSON what it is, and is read as it was. A field that
// no member of the table reads would be lost here.
func TestConfigRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	filled := map[string]bool{}
	for range 3000 {
		c := randomconfig.New(r)
		if faults := c.Validate(); len(faults) > 0 {
			t.Fatalf("%+v: %v", c, faults)
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		back, faults := parley.ParseAgentConfig(raw)
		if len(faults) > 0 || !reflect.DeepEqual(c, back) {
			t.Fatalf("%s\nis read as %+v, %v\nand was     %+v", raw, back, faults, c)
		}
		for i, v := 0, reflect.ValueOf(*c); i < v.NumField(); i++ {
			filled[v.Type().Field(i).Name] = filled[v.Type().Field(i).Name] || !v.Field(i).IsZero()
		}
	}
	for name, was := range filled {
		if !was {
			t.Errorf("%s was never set", name)
		}
	}
}

// TestToolNames: what tools are called by is a name that models take.
func TestToolNames(t *testing.T) {
	for agent, want := range map[string]string{"csv-profile": "csv-profile", "a.b@box": "a_b_box",
		"spawn_self": "spawn_self_427a138f", strings.Repeat("n", 64): strings.Repeat("n", 64),
		strings.Repeat("n", 70): strings.Repeat("n", 55) + "_85069ddf"} {
		if got := toolnames.ForAgent(agent); got != want {
			t.Errorf("%s is %s", agent, got)
		}
	}
	if got := toolnames.ForMCP("files", "read/all.now"); got != "files__read_all_now" {
		t.Error(got)
	}
	got := toolnames.ForAgents([]string{"a.b", "a_b", "a@b", "c.d", "free"}, []string{"c_d"})
	if want := []string{"a_b_", "a_b", "a_b_", "c_d_", "free"}; !slices.EqualFunc(got, want, func(name, begin string) bool {
		return name == begin || strings.HasSuffix(begin, "_") && strings.HasPrefix(name, begin) && len(name) == len(begin)+8
	}) || got[0] == got[2] {
		t.Errorf("%q", got)
	}
}
