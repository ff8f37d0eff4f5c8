package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/toolnames"
)

// Options are the options of New.
type Options struct {
	// Name is the name of the agent, and Config its config.
	Name   string
	Config *parley.AgentConfig
	// RunnerID is the runner of the children. If it is empty, any executor with their name runs
	// them.
	RunnerID string
	// Functions are the functions of the program. The config selects some of them.
	Functions []Tool
	// Connect connects to an MCP server. If it is nil, New refuses configs with servers.
	Connect func(ctx context.Context, name string, s parley.MCPServer) (Server, error)
	// Wrap wraps each function and each tool of an MCP server, which it sees under the name that
	// the model uses. It may be nil. Wrap must return a Repeatable for a Repeatable. Agents and
	// children are not wrapped, because they work in their own conversations.
	Wrap func(Tool) Tool
	// Child restricts the tools to those of children. Only, if it is not nil, restricts them
	// further.
	Child bool
	Only  []string
	// ResultTokens limits the text of each result that the model reads; 0 means
	// limits.DefaultToolOutputTokens. Images keeps the images of results.
	ResultTokens int
	Images       bool
	Meter        *llm.Meter
	Logger       *slog.Logger
}

// Box has the tools of one agent. It is safe for concurrent use.
type Box struct {
	o         Options
	functions []Tool // functions of the config, in its order
	servers   []*server

	mu     sync.Mutex // guards the fields below
	last   *set       // last result of Specs
	logged map[string]bool
}

var errClosed = errors.New("the box is closed")

// New returns a Box. It returns llm.ErrUnknownTool if the config names an unknown function. The
// tools of MCP servers are only known later; see Specs.
func New(o *Options) (*Box, error) {
	b := &Box{o: *o}
	c := b.o.Config
	if c == nil {
		return nil, errors.New("tool: no config")
	}
	if b.o.Logger == nil {
		b.o.Logger = slog.New(slog.DiscardHandler)
	}
	if b.o.Only != nil && !b.o.Child {
		return nil, errors.New("tool: Only requires Child")
	}
	if n := c.Subagents(); n < 1 || n > limits.MaxSubagents {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("max_parallel_subagents is %d", n),
			fmt.Sprintf("1 to %d", limits.MaxSubagents))
	}
	if c.Spawns() && len(b.o.Name) > toolnames.MaxSpawnerName {
		return nil, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("the name %s is too long for an agent that starts children", b.o.Name),
			fmt.Sprintf("at most %d bytes", toolnames.MaxSpawnerName))
	}
	if len(c.MCPServers) > 0 && b.o.Connect == nil {
		return nil, parley.Refuse(parley.ErrValidationFailed, "this program does not connect to mcp_servers",
			"a config without mcp_servers")
	}
	if err := b.chooseFunctions(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		if s := c.MCPServers[name]; !s.Disabled {
			b.servers = append(b.servers, newServer(name, s, b.o.Connect))
		}
	}
	return b, b.checkNames()
}

// chooseFunctions selects the functions of the config.
func (b *Box) chooseFunctions() error {
	there := map[string]Tool{}
	for _, f := range b.o.Functions {
		name := f.Spec().Name
		if err := checkName(name); err != nil {
			return err
		}
		if there[name] != nil {
			return fmt.Errorf("duplicate function name %q", name)
		}
		there[name] = f
	}
	for _, name := range b.o.Config.Tools {
		f := there[name]
		if f == nil {
			return fmt.Errorf("%w: tools has the unknown function %q; available: %s", llm.ErrUnknownTool, name,
				toolList(slices.Sorted(maps.Keys(there))))
		}
		b.functions = append(b.functions, f)
	}
	return nil
}

// checkNames refuses names in the config that cannot be a tool, whatever the MCP servers offer.
func (b *Box) checkNames() error {
	c := b.o.Config
	own := slices.Concat(c.Tools, toolnames.ForAgents(c.Agents, c.Tools))
	if c.AllowSelfSpawn {
		own = append(own, toolnames.SpawnSelf)
	}
	if c.AllowParallelSubagents {
		own = append(own, toolnames.Parallel)
	}
	known := func(name string) bool {
		server, _, ok := strings.Cut(name, "__")
		_, declared := c.MCPServers[server]
		return slices.Contains(own, name) || ok && declared
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"hitl_tools", c.HITLTools}, {"child_tools", c.ChildTools}, {"tool_names", b.o.Only}} {
		if err := checkKnown(list.field, list.names, known, own); err != nil {
			return err
		}
	}
	return nil
}

func checkKnown(field string, names []string, known func(string) bool, all []string) error {
	if i := slices.IndexFunc(names, func(n string) bool { return !known(n) }); i >= 0 {
		return fmt.Errorf("%w: %s has the unknown tool %q; available: %s", llm.ErrUnknownTool, field, names[i], toolList(all))
	}
	return nil
}

// toolList returns the names as text.
func toolList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Specs returns the tools for the model, with injected arguments and in a stable order. It connects
// to the MCP servers if necessary, and lists the agents of the hub with c, the client of the turn.
// The client may be nil if the config has no agents. Specs returns llm.ErrUnknownTool if
// hitl_tools, child_tools or Only has a tool that no server offers, and parley.ErrUnavailable if an
// agent is not registered. It also returns the optional servers that cannot be reached, and leaves
// their tools out.
func (b *Box) Specs(ctx context.Context, c parley.Client) ([]llm.ToolSpec, []Missing, error) {
	s, err := b.buildSet(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	specs := make([]llm.ToolSpec, len(s.entries))
	for i, e := range s.entries {
		specs[i] = e.exposed
	}
	return specs, s.missing, nil
}

// Warnings returns what the last result of Specs leaves out: tools that no vendor accepts, and parts
// of schemas that the model does not see.
func (b *Box) Warnings() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return nil
	}
	return b.last.warnings
}

// warn adds a warning about a tool, and logs it once.
func (b *Box) warn(s *set, name, text string) {
	s.warnings = append(s.warnings, "tool "+name+": "+text)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.logged[name+text] {
		return
	}
	if b.logged == nil || len(b.logged) > maxLogged {
		b.logged = map[string]bool{}
	}
	b.logged[name+text] = true
	b.o.Logger.Warn("a tool is not offered to the model as it is", "tool", name, "warning", text)
}

// maxLogged limits the remembered warnings.
const maxLogged = 10_000

// current returns the last result of Specs.
func (b *Box) current(ctx context.Context, c parley.Client) (*set, error) {
	b.mu.Lock()
	s := b.last
	b.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return b.buildSet(ctx, c)
}

// Close closes the connections to MCP servers.
func (b *Box) Close() error {
	var all error
	for _, s := range b.servers {
		all = errors.Join(all, s.close())
	}
	return all
}
