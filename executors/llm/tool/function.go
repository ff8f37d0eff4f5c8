package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkName refuses names that a function must not have.
func checkName(name string) error {
	if !toolName.MatchString(name) || name == toolnames.SpawnSelf || name == toolnames.Parallel {
		return fmt.Errorf("invalid tool name %q: expected 1 to 64 letters, digits, _ and -, not %s or %s", name,
			toolnames.SpawnSelf, toolnames.Parallel)
	}
	return nil
}

// function is a Tool of the program.
type function struct {
	spec llm.ToolSpec
	run  func(ctx context.Context, c *Call) (*Result, error)
}

// NewFunc returns a function as a Tool. parameters is a JSON Schema of an object. It refuses
// invalid names and schemas.
func NewFunc(name, description string, parameters json.RawMessage,
	f func(ctx context.Context, c *Call) (*Result, error)) (Tool, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	s, err := paramschema.Compile(parameters)
	if err != nil {
		return nil, fmt.Errorf("tool %s: parameters: %w", name, err)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(s.Raw(), &object) != nil || object == nil {
		return nil, fmt.Errorf("tool %s: parameters: expected the schema of an object", name)
	}
	return &function{llm.ToolSpec{Name: name, Description: description, Parameters: s.Raw()}, f}, nil
}

func (f *function) Spec() llm.ToolSpec { return f.spec }

func (f *function) Run(ctx context.Context, c *Call) (*Result, error) { return f.run(ctx, c) }

// repeatable marks a tool as repeatable.
type repeatable struct{ Tool }

// AsRepeatable marks a tool as Repeatable.
func AsRepeatable(t Tool) Repeatable { return repeatable{t} }

func (repeatable) Repeatable() {}
