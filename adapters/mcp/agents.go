package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

type agentsArgs struct {
	AgentName    string `json:"agent_name,omitempty" jsonschema:"list only this agent"`
	Cursor       string `json:"cursor,omitempty" jsonschema:"next_cursor of the previous page"`
	SchemaOffset int    `json:"schema_offset,omitempty"`
}

func refineAgents(a *arguments) {
	a.textLength(0, 256, "agent_name", "cursor")
	a.nonNegative("schema_offset")
	a.describe("schema_offset", "with agent_name: characters of the JSON text of its schemas to skip, to read on after "+
		"a cut")
}

type agentList struct {
	Agents     []agentView `json:"agents"`
	NextCursor string      `json:"next_cursor,omitempty" jsonschema:"present if there is another page"`
	Next       string      `json:"next" jsonschema:"the call to make next"`
}

type agentView struct {
	Name             string `json:"name" jsonschema:"agent_name for start_agent_session"`
	Type             string `json:"type"`
	Description      string `json:"description"`
	ParametersSchema any    `json:"parameters_schema,omitempty"`
	OutputSchema     any    `json:"output_schema,omitempty" jsonschema:"JSON Schema of result_data"`
	SchemasText      string `json:"schemas_text,omitempty"`
	CutChars         int    `json:"cut_chars,omitempty" jsonschema:"characters of both schemas that are left out"`
	NextOffset       int    `json:"next_schema_offset,omitempty" jsonschema:"schema_offset of the rest"`
	Rest             string `json:"rest,omitempty" jsonschema:"the call that reads the rest of the schemas"`
	Online           bool   `json:"online" jsonschema:"if false, a session waits until its runner is connected, or fails"`

	offset int
}

func listAgents(ctx context.Context, c *call, in *agentsArgs) (*agentList, error) {
	if in.SchemaOffset > 0 && in.AgentName == "" {
		return nil, explain(parley.Refuse(parley.ErrValidationFailed, "schema_offset without agent_name",
			"agent_name, the agent with the schemas"), hints{})
	}
	r, err := c.client.ListAgents(ctx, &parley.ListAgentsParams{})
	if err != nil {
		return nil, explain(err, hints{})
	}
	if in.AgentName == "" {
		return agentPage(r.Agents, in.Cursor), nil
	}
	i := slices.IndexFunc(r.Agents, func(a parley.AgentInfo) bool { return a.Name == in.AgentName })
	if i < 0 {
		return nil, explain(parley.Refuse(parley.ErrNotFound, fmt.Sprintf("there is no agent %.64q", in.AgentName), ""),
			hints{})
	}
	v := viewAgent(&r.Agents[i])
	v.setSchemas(&r.Agents[i], in.SchemaOffset, MaxChars)
	return &agentList{Agents: []agentView{v}, Next: "Next: start_agent_session with this name."}, nil
}

// agentPage returns the agents after a name that fit into a result. It leaves out schemas that do
// not fit, but no agent.
func agentPage(all []parley.AgentInfo, after string) *agentList {
	l := &agentList{Agents: []agentView{}, Next: "Next: start_agent_session with one of the names."}
	room := MaxChars
	for i := range all {
		a := &all[i]
		if a.Name <= after {
			continue
		}
		v := viewAgent(a)
		if room -= v.size(); room < 0 && len(l.Agents) > 0 {
			l.NextCursor = l.Agents[len(l.Agents)-1].Name
			l.Next = fmt.Sprintf("There are more: list_agent_blueprints {cursor: %q}.", l.NextCursor)
			break
		}
		if size := schemaChars(a); size <= min(room, maxTextChars) {
			v.ParametersSchema, v.OutputSchema = valueOrNil(a.ParametersSchema), valueOrNil(a.OutputSchema)
			room -= size
		} else {
			v.leaveOut(size, 0)
		}
		l.Agents = append(l.Agents, v)
	}
	return l
}

func viewAgent(a *parley.AgentInfo) agentView {
	return agentView{Name: a.Name, Type: string(a.Type), Description: a.Description, Online: a.Online}
}

// size returns about how many characters an agent takes without its schemas.
func (v *agentView) size() int {
	return 2*utf8.RuneCountInString(v.Name) + utf8.RuneCountInString(v.Description) + 150
}

func schemaChars(a *parley.AgentInfo) int {
	return utf8.RuneCount(a.ParametersSchema) + utf8.RuneCount(a.OutputSchema)
}

// setSchemas sets both schemas, or a piece of their JSON text that starts at offset.
func (v *agentView) setSchemas(a *parley.AgentInfo, offset, chars int) {
	if offset == 0 && schemaChars(a) <= chars {
		v.ParametersSchema, v.OutputSchema = valueOrNil(a.ParametersSchema), valueOrNil(a.OutputSchema)
		return
	}
	both := jsonText(struct {
		Parameters json.RawMessage `json:"parameters_schema,omitempty"`
		Output     json.RawMessage `json:"output_schema,omitempty"`
	}{a.ParametersSchema, a.OutputSchema})
	var left int
	v.offset = offset
	if v.SchemasText, left = textWindow(both, offset, chars); left > 0 {
		v.leaveOut(left, offset+utf8.RuneCountInString(v.SchemasText))
	}
}

// leaveOut records how many characters of the schemas are left out, and where they begin.
func (v *agentView) leaveOut(chars, offset int) {
	v.CutChars, v.NextOffset = chars, offset
	v.Rest = fmt.Sprintf("list_agent_blueprints {agent_name: %q}", v.Name)
	if offset > 0 {
		v.Rest = fmt.Sprintf("list_agent_blueprints {agent_name: %q, schema_offset: %d}", v.Name, offset)
	}
}

// valueOrNil returns raw, or nil if raw is nil.
func valueOrNil(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return raw
}

func (l *agentList) text() string {
	if len(l.Agents) == 0 {
		return "No agents are available at the moment."
	}
	var b strings.Builder
	for i := range l.Agents {
		b.WriteString(l.Agents[i].lines())
	}
	return b.String() + l.Next
}

func (v *agentView) lines() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s", v.Name, v.Type)
	if !v.Online {
		b.WriteString(", offline")
	}
	fmt.Fprintf(&b, "): %s\n", v.Description)
	if raw, ok := v.ParametersSchema.(json.RawMessage); ok {
		fmt.Fprintf(&b, "  parameters_schema: %s\n", raw)
	} else if v.offset == 0 && v.SchemasText == "" && v.CutChars == 0 {
		b.WriteString("  parameters: {prompt: text}\n")
	}
	if raw, ok := v.OutputSchema.(json.RawMessage); ok {
		fmt.Fprintf(&b, "  output_schema: %s\n", raw)
	}
	if v.SchemasText != "" {
		fmt.Fprintf(&b, "  both schemas, from character %d: %s\n", v.offset, v.SchemasText)
	}
	if v.CutChars > 0 {
		fmt.Fprintf(&b, "  [%d more characters of schemas: %s]\n", v.CutChars, v.Rest)
	}
	return b.String()
}
