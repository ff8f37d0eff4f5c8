package tool

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/paramschema"
)

// set are the tools of an agent at one time.
type set struct {
	entries []*entry
	byName  map[string]*entry
}

// entry is a tool as a Box has it.
type entry struct {
	tool Tool
	// own is the spec of the tool, with the name by which the model calls it, and exposed what the model is told.
	own, exposed llm.ToolSpec
	// schema is that of the parameters; nil where it does not compile: then who runs the tool has to look.
	schema *paramschema.Schema
	// injected are the names that are split off.
	injected []string
	// gated tools are those of hitl_tools, quiet ones tell no progress. fills is set where whoever gets the arguments fills in the defaults of the schema.
	gated, quiet, fills bool
}

// checker is a Tool that says itself what is wrong with arguments; nil where nothing is.
type checker interface {
	check(e *entry, arguments []byte) *Result
}

// find puts together what there is now.
func (b *Box) find(ctx context.Context, c parley.Client) (*set, error) {
	s := &set{byName: map[string]*entry{}}
	allowed := b.allowed()
	for _, f := range b.functions {
		if err := b.add(s, &entry{tool: b.wrapped(f, f.Spec()), own: f.Spec()}); err != nil {
			return nil, err
		}
	}
	if err := b.addAgents(ctx, c, s, allowed); err != nil {
		return nil, err
	}
	if err := b.addServers(ctx, s, allowed); err != nil {
		return nil, err
	}
	if err := b.narrow(s); err != nil {
		return nil, err
	}
	if !b.o.Child {
		if err := b.addSpawners(s); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = s
	return s, nil
}

// allowed are the names that may be left after narrow; nil, that is not known before.
func (b *Box) allowed() []string {
	switch {
	case !b.o.Child:
		return nil
	case b.o.Only != nil:
		return b.o.Only
	}
	return b.o.Config.ChildTools
}

// narrow holds the names of the config against what there is, and takes away what a child, or this one, may not have.
func (b *Box) narrow(s *set) error {
	c := b.o.Config
	have := func(name string) bool { return s.byName[name] != nil }
	if !b.o.Child { // a child need not ask the servers that it has no tool of; its parent has
		spawner := func(name string) bool { return name == parley.ToolSpawnSelf || name == parley.ToolParallel }
		if err := unknownIn("hitl_tools", c.HITLTools, func(n string) bool { return have(n) || spawner(n) },
			s.names()); err != nil {
			return err
		}
		return unknownIn("child_tools", c.ChildTools, have, s.names())
	}
	safe := b.childSafe(s)
	s.keep(func(name string) bool { return slices.Contains(safe, name) })
	if b.o.Only == nil {
		return nil
	}
	if err := unknownIn("tool_names", b.o.Only, have, s.names()); err != nil {
		return err
	}
	s.keep(func(name string) bool { return slices.Contains(b.o.Only, name) })
	return nil
}

// childSafe are the tools that children may have.
func (b *Box) childSafe(s *set) []string {
	safe := []string{}
	for _, name := range s.names() {
		if c := b.o.Config; c.ChildTools != nil && slices.Contains(c.ChildTools, name) ||
			c.ChildTools == nil && !slices.Contains(c.HITLTools, name) {
			safe = append(safe, name)
		}
	}
	return safe
}

func (s *set) names() []string {
	list := make([]string, len(s.entries))
	for i, e := range s.entries {
		list[i] = e.own.Name
	}
	return list
}

func (s *set) keep(wanted func(string) bool) {
	s.entries = slices.DeleteFunc(s.entries, func(e *entry) bool { return !wanted(e.own.Name) })
	for name := range s.byName {
		if !wanted(name) {
			delete(s.byName, name)
		}
	}
}

// add adds a tool, as the model is to see it.
func (b *Box) add(s *set, e *entry) error {
	name := e.own.Name
	if s.byName[name] != nil {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("two tools are called %s", name),
			"names that differ in their first 64 bytes, also with _ for what no tool may have in its name")
	}
	var err error
	if e.own.Parameters, err = parameters(e.own.Parameters); err != nil {
		return fmt.Errorf("tool %s: parameters: %w", name, err)
	}
	e.schema = b.compiled(e)
	e.gated = slices.Contains(b.o.Config.HITLTools, name)
	if err := e.inject(b.o.Config.InjectedToolArgs); err != nil {
		return fmt.Errorf("tool %s: parameters: %w", name, err)
	}
	s.entries, s.byName[name] = append(s.entries, e), e
	return nil
}

// compiled gives the schema of a tool; that of the set before where it is the same.
func (b *Box) compiled(e *entry) *paramschema.Schema {
	b.mu.Lock()
	last := b.last
	b.mu.Unlock()
	if last != nil && last.byName[e.own.Name] != nil &&
		bytes.Equal(last.byName[e.own.Name].own.Parameters, e.own.Parameters) {
		return last.byName[e.own.Name].schema
	}
	s, err := paramschema.Compile(e.own.Parameters)
	if err != nil {
		b.o.Logger.Warn("the parameters of a tool are not checked", "tool", e.own.Name, "error", err)
		return nil
	}
	return s
}

// addServers adds what the MCP servers offer, those of which nothing is allowed left out, and tools that no model could be given.
func (b *Box) addServers(ctx context.Context, s *set, allowed []string) error {
	for _, server := range b.servers {
		if allowed != nil &&
			!slices.ContainsFunc(allowed, func(n string) bool { return strings.HasPrefix(n, server.name+"__") }) {
			continue
		}
		all, err := server.tools(ctx)
		if err != nil {
			return err
		}
		for _, t := range all {
			own := t.Spec()
			own.Name = parley.MCPToolName(server.name, own.Name)
			if own.Parameters, err = parameters(own.Parameters); err != nil {
				b.o.Logger.Warn("a tool of an MCP server is left out", "tool", own.Name, "error", err)
				continue
			}
			if err := b.add(s, &entry{tool: b.wrapped(t, own), own: own, quiet: !b.o.Config.EmitsMCPProgress()}); err != nil {
				return err
			}
		}
	}
	return nil
}
