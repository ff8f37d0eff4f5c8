package agent

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// TestAgentTable: the state of an agent is one word, and texts of others are one harmless line.
func TestAgentTable(t *testing.T) {
	t.Parallel()
	agents := []parley.AgentInfo{
		{Name: "a", Type: parley.AgentTypeDeterministic, RunnerID: "r1", Runner: "host", Online: true,
			Description: "\nDoes a.\nAnd more."},
		{Name: "b", Type: parley.AgentTypeDeterministic, RunnerID: "r1", Runner: "host"},
		{Name: "c@r2", Type: parley.AgentTypeDeterministic, RunnerID: "r2", Stale: true, Description: "red \x1b[31m"},
		{Name: "d", Type: parley.AgentTypeAgent, Runner: "host", Online: true},
		{Name: "e", Type: parley.AgentTypeAgent},
	}
	const want = `NAME  TYPE           STATE    RUNNER  DESCRIPTION
a     deterministic  online   r1      Does a.
b     deterministic  away     r1      
c@r2  deterministic  stale    r2      red \x1b[31m
d     agent          online   host    
e     agent          offline          
`
	var out, said bytes.Buffer
	a := &cli.App{Out: cli.NewStream(&out), Err: cli.NewStream(&said)}
	if err := printTable(a, agents); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" || said.Len() > 0 {
		t.Error(diff, said.String())
	}
}

// TestShowExecutors: an executor is a line, with what it holds of what it may.
func TestShowExecutors(t *testing.T) {
	t.Parallel()
	const want = `EXECUTOR      OF       MODE  CLAIMS   AGENTS  LABELS
local-runner  the hub  push  0 of 16          
r1\x1b[31m    host     pull  2 of 3   a b     room=4
`
	var out, said bytes.Buffer
	a := &cli.App{Out: cli.NewStream(&out), Err: cli.NewStream(&said)}
	err := printExecutors(a, &parley.ListAgentsResult{ExecutorsMore: 2, Executors: []parley.ExecutorInfo{
		{ExecutorID: "local-runner", RegisteredBy: "local-runner", Internal: true, Mode: parley.ModePush, Capacity: 16},
		{ExecutorID: "r1\x1b[31m", RegisteredBy: "host", Mode: parley.ModePull, Agents: []string{"a", "b"},
			Labels: map[string]string{"room": "4"}, Claims: 2, Capacity: 3},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" || said.String() != "2 more executors are not listed\n" {
		t.Error(diff, said.String())
	}
}

// TestShowAgent: a schema is shown as one line for each parameter, in the order of the text. A
// schema without properties is shown unchanged.
func TestShowAgent(t *testing.T) {
	t.Parallel()
	const parameters = `{"required":["z","both"],"properties":{
		"z":{"type":"string","format":"uri","description":"where\nto begin"},"a":{"type":["integer","null"],
"default":2,"minimum":1},
		"list":{"type":"array","items":{"$ref":"#/definitions/item"},"default":[]},"kind":{"enum":["x",1]},
"both":{"anyOf":[{"type":"string","pattern":"^a"},{"const":true}]},"any":true,"one":{},"other":{"type":"string"}
	},"oneOf":[{"required":["one"]},{"required":["other"]}],"allOf":[{"required":["kind"]}],
"definitions":{"item":{"type":"object"}}}`
	info := &parley.AgentInfo{
		Name: "a", Type: parley.AgentTypeDeterministic, Online: true, RunnerID: "r1", Runner: "host",
		Labels:           map[string]string{"os": "linux", "gpu": ""},
		ParametersSchema: json.RawMessage(parameters),
		OutputSchema:     json.RawMessage(`{"type":"array","items":{"type":"string"}}`),
	}
	const want = `name    a
type    deterministic
state   online
runner  r1 of host
labels  gpu= os=linux

parameters
  z      string             required     where\nto begin; format uri
  a      integer or null    default 2    minimum 1
  list   list of object     default []
  kind   string or number   required     one of x, 1
  both   string or boolean  required     pattern ^a; const true
  any    any
  one    any                alternative
  other  string             alternative

result_data
  {
    "type": "array",
    "items": {
      "type": "string"
    }
  }
`
	var out bytes.Buffer
	a := &cli.App{Out: cli.NewStream(&out), Err: cli.NewStream(&out)}
	if err := printAgent(a, info); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
