package blueprint

import (
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/workflow"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/selector"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// kind determines the type of a file, and returns its table and its check. Without a type, the file
// is a command. If it has subscriptions, and no member of another type, it is a function.
func (c *checker) kind(members []yamlfile.Member) (*shape.Shape, func()) {
	c.of = parley.AgentTypeDeterministic
	if t := typeOf(members); t != "" {
		c.of = t
	} else if isFunction(members) {
		c.of = parley.AgentTypeFunction
	}
	c.Hint = c.elsewhere
	switch c.of {
	case parley.AgentTypeAgent:
		return agentTable, c.checkAgent
	case parley.AgentTypeFunction:
		return functionTable, c.checkHosted
	case parley.AgentTypeWorkflow:
		return workflowTable, c.checkWorkflow
	}
	c.of = parley.AgentTypeDeterministic // for an unknown type, only that is reported
	return table, c.checkCommand
}

// typeOf returns the type in a file.
func typeOf(members []yamlfile.Member) parley.AgentType {
	i := slices.IndexFunc(members, isType)
	if i < 0 {
		return ""
	}
	return parley.AgentType(members[i].Value.Value)
}

func isType(m yamlfile.Member) bool { return m.Named && m.Before == 0 && m.Key.Value == "type" }

// isFunction reports whether a file without a type is a function.
func isFunction(members []yamlfile.Member) bool {
	subscribes := false
	for _, m := range members {
		if !m.Named {
			continue
		}
		name := m.Key.Value
		if name == "type" || name == "steps" || slices.Contains(commandKeys, name) || isConfigKey(name) {
			return false
		}
		subscribes = subscribes || name == "subscriptions"
	}
	return subscribes
}

// untyped reports whether the type of a file is unknown.
func (c *checker) untyped(members []yamlfile.Member) bool {
	if !slices.ContainsFunc(c.Findings, func(f yamlfile.Finding) bool { return f.Field == "type" }) {
		return false
	}
	return slices.ContainsFunc(members, func(m yamlfile.Member) bool {
		return isType(m) && !slices.Contains(parley.AgentTypes, parley.AgentType(m.Value.Value))
	})
}

// kinds has the names of the types in faults.
var kinds = map[parley.AgentType]string{
	parley.AgentTypeDeterministic: "a command", parley.AgentTypeAgent: "an LLM agent (type: agent)",
	parley.AgentTypeFunction: "a function", parley.AgentTypeWorkflow: "a workflow (type: workflow)",
}

// elsewhere returns the end of a fault for a key that belongs to another type.
func (c *checker) elsewhere(path, name string) string {
	if path != "" {
		return ""
	}
	of, expected := "", ""
	switch {
	case slices.Contains(commandKeys, name):
		of = "commands"
	case isConfigKey(name):
		of, expected = "LLM agents", ": expected type: agent"
	case slices.ContainsFunc(workflowMembers, func(m shape.Member) bool { return m.Name == name }):
		of, expected = "workflows", ": expected type: workflow"
	default:
		return ""
	}
	return ": this key is for " + of + ", but the file is " + kinds[c.of] + expected
}

// checkHosted checks the rules of functions and workflows.
func (c *checker) checkHosted() {
	if c.file.Parameters == nil {
		c.file.Parameters = paramschema.Prompt()
	}
}

// checkWorkflow checks the rules of workflows.
func (c *checker) checkWorkflow() {
	c.checkHosted()
	if c.content.Steps == nil || c.Faulty("steps") || c.Faulty("output") {
		return // already reported
	}
	plan, faults := workflow.Parse(c.content.Steps, c.content.Output)
	for _, f := range faults {
		c.At(c.nearest(f.Path), f.Message)
	}
	c.file.Plan = plan
}

// subscriptions checks the subscriptions like the hub. Faults have their position.
func (c *checker) subscriptions() {
	raw := c.content.Subscriptions
	if raw == nil {
		return
	}
	_, faults := selector.Compile(raw)
	for _, f := range faults {
		c.At(c.subscription(strings.TrimPrefix(f.Path, "$")), f.Message)
	}
	c.file.Subscriptions = raw
}

// subscription returns the path of a place in the subscriptions, or that of the nearest existing
// parent. The subscriptions may be only the list of selectors.
func (c *checker) subscription(where string) string {
	path := c.nearest("subscriptions" + where)
	if rest, ok := strings.CutPrefix(where, ".selectors"); ok {
		if bare := c.nearest("subscriptions" + rest); len(bare) > len(path) {
			return bare
		}
	}
	return path
}
