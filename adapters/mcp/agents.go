package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

type agentsArgs struct {
	AgentName string `json:"agent_name,omitempty" jsonschema:"only this one"`
}

func refineAgents(a *arguments) { a.length(0, 256, "agent_name") }

type agentList struct {
	Agents []agentView `json:"agents"`
}

type agentView struct {
	Name        string `json:"name" jsonschema:"the agent_name of start_agent_session"`
	Type        string `json:"type"`
	Description string `json:"description"`
	// ParametersSchema is what parameters must match.
	ParametersSchema any  `json:"parameters_schema,omitempty" jsonschema:"JSON Schema of parameters; without one the agent takes a prompt"`
	OutputSchema     any  `json:"output_schema,omitempty" jsonschema:"JSON Schema of result_data"`
	Online           bool `json:"online" jsonschema:"false: a session waits until its runner is back, or fails"`
}

func listAgents(ctx context.Context, c *call, in *agentsArgs) (*agentList, error) {
	r, err := c.client.ListAgents(ctx, &parley.ListAgentsParams{})
	if err != nil {
		return nil, explained(err, hints{})
	}
	out := &agentList{Agents: []agentView{}}
	for _, a := range r.Agents {
		if in.AgentName != "" && a.Name != in.AgentName {
			continue
		}
		out.Agents = append(out.Agents, agentView{a.Name, string(a.Type), a.Description, given(a.ParametersSchema), given(a.OutputSchema), a.Online})
	}
	if in.AgentName != "" && len(out.Agents) == 0 {
		return nil, explained(parley.Refuse(parley.ErrNotFound, fmt.Sprintf("there is no agent %.64q", in.AgentName), ""), hints{})
	}
	return out, nil
}

// given is raw, or nothing.
func given(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return raw
}

func (l *agentList) text() string {
	if len(l.Agents) == 0 {
		return "There is no agent at the moment."
	}
	var b strings.Builder
	shown := 0
	for _, a := range l.Agents {
		fmt.Fprintf(&b, "%s (%s", a.Name, a.Type)
		if !a.Online {
			b.WriteString(", offline")
		}
		fmt.Fprintf(&b, "): %s\n", a.Description)
		raw, ok := a.ParametersSchema.(json.RawMessage)
		switch {
		case !ok:
			b.WriteString("  parameters: {prompt: text}\n")
		case shown+len(raw) > MaxChars:
			fmt.Fprintf(&b, "  parameters_schema: left out here; list_agent_blueprints {agent_name: %q} shows it\n", a.Name)
		default:
			shown += len(raw)
			b.WriteString("  parameters_schema: " + string(raw) + "\n")
		}
	}
	b.WriteString("Next: start_agent_session with one of the names.")
	return b.String()
}
