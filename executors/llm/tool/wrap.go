package tool

import "github.com/parleyhub/parley/executors/llm"

// wrap applies Options.Wrap to a tool, under the name that the model uses.
func (b *Box) wrap(t Tool, spec llm.ToolSpec) Tool {
	if b.o.Wrap == nil {
		return t
	}
	named := Tool(renamed{t, spec})
	if _, ok := t.(Repeatable); ok {
		named = AsRepeatable(named)
	}
	return b.o.Wrap(named)
}

// renamed is a tool with another spec.
type renamed struct {
	Tool
	spec llm.ToolSpec
}

func (r renamed) Spec() llm.ToolSpec { return r.spec }
