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
)

// Options are for New.
type Options struct {
	// Name is the agent's, and Config what it is made of.
	Name   string
	Config *parley.AgentConfig
	// RunnerID is where its children run; empty, wherever its name is found.
	RunnerID string
	// Functions are those that the program has; the config chooses among them.
	Functions []Tool
	// Connect connects to an MCP server of the config; nil, configs with servers are refused.
	Connect func(ctx context.Context, name string, s parley.MCPServer) (Server, error)
	// Wrap is put around each function and each tool of an MCP server, by the name that the model calls it; nil, nothing is. It keeps a Repeatable tool Repeatable. Agents and children are not
	// wrapped: what they do is in conversations of their own.
	Wrap func(Tool) Tool
	// Child narrows to the tools that a child may have, and Only, where it is not nil, to these of them.
	Child  bool
	Only   []string
	Meter  *llm.Meter
	Logger *slog.Logger
}

// Box are the tools of one agent. It is safe for concurrent use.
type Box struct {
	o         Options
	functions []Tool // those of the config, in its order
	servers   []*server

	mu   sync.Mutex // guards the field below
	last *set       // what Specs has found
}

var errClosed = errors.New("the box is closed")

// New makes a Box. It fails with llm.ErrUnknownTool where the config names a function that is not there; what an MCP server offers is known only when it is asked: see Specs.
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
		return nil, errors.New("tool: Only goes with Child")
	}
	if n := c.Subagents(); n < 1 || n > parley.MaxSubagents {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("max_parallel_subagents is %d", n),
			fmt.Sprintf("1 to %d", parley.MaxSubagents))
	}
	if c.Spawns() && len(b.o.Name) > parley.MaxSpawnerName {
		return nil, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("the name %s is too long for an agent that starts children", b.o.Name),
			fmt.Sprintf("at most %d bytes", parley.MaxSpawnerName))
	}
	if len(c.MCPServers) > 0 && b.o.Connect == nil {
		return nil, parley.Refuse(parley.ErrValidationFailed, "mcp_servers: nothing here connects to such servers",
			"a config without them")
	}
	if err := b.choose(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		b.servers = append(b.servers, newServer(name, c.MCPServers[name], b.o.Connect))
	}
	return b, b.checkNames()
}

// choose takes the functions of the config.
func (b *Box) choose() error {
	there := map[string]Tool{}
	for _, f := range b.o.Functions {
		name := f.Spec().Name
		if err := checkName(name); err != nil {
			return err
		}
		if there[name] != nil {
			return fmt.Errorf("there are two functions named %s", name)
		}
		there[name] = f
	}
	for _, name := range b.o.Config.Tools {
		f := there[name]
		if f == nil {
			return fmt.Errorf("%w: tools names %s, which this program has not: %s", llm.ErrUnknownTool, name,
				listed(slices.Sorted(maps.Keys(there))))
		}
		b.functions = append(b.functions, f)
	}
	return nil
}

// checkNames refuses names in the config that can be no tool of it, whatever its servers offer.
func (b *Box) checkNames() error {
	c := b.o.Config
	own := slices.Clone(c.Tools)
	for _, a := range c.Agents {
		own = append(own, parley.AgentToolName(a))
	}
	if c.AllowSelfSpawn {
		own = append(own, parley.ToolSpawnSelf)
	}
	if c.AllowParallelSubagents {
		own = append(own, parley.ToolParallel)
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
		if err := unknownIn(list.field, list.names, known, own); err != nil {
			return err
		}
	}
	return nil
}

func unknownIn(field string, names []string, known func(string) bool, all []string) error {
	if i := slices.IndexFunc(names, func(n string) bool { return !known(n) }); i >= 0 {
		return fmt.Errorf("%w: %s names %s, which is no tool here: %s", llm.ErrUnknownTool, field, names[i], listed(all))
	}
	return nil
}

// listed tells what there is.
func listed(names []string) string {
	if len(names) == 0 {
		return "there is none"
	}
	return "there are " + strings.Join(names, ", ")
}

// Specs are what a model is told: with injected arguments, in copies, in the same order each time. It connects to the MCP servers where that was not done, asks c for the agents of the
// config, and fails with llm.ErrUnknownTool where hitl_tools, child_tools or Only names a tool that no server offers. An agent that is not there now is parley.ErrUnavailable.
// c is that of the turn; it may be nil where the config has no agents.
func (b *Box) Specs(ctx context.Context, c parley.Client) ([]llm.ToolSpec, error) {
	s, err := b.find(ctx, c)
	if err != nil {
		return nil, err
	}
	specs := make([]llm.ToolSpec, len(s.entries))
	for i, e := range s.entries {
		specs[i] = e.exposed
	}
	return specs, nil
}

// current gives what Specs has found last.
func (b *Box) current(ctx context.Context, c parley.Client) (*set, error) {
	b.mu.Lock()
	s := b.last
	b.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return b.find(ctx, c)
}

// Close ends the connections to MCP servers.
func (b *Box) Close() error {
	var all error
	for _, s := range b.servers {
		all = errors.Join(all, s.close())
	}
	return all
}
