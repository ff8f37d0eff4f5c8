package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/toolschema"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// set has the tools of an agent at one time.
type set struct {
	entries []*entry
	byName  map[string]*entry
	// reader is read_file, which is not in entries. It is nil if its names are taken.
	reader  *entry
	missing []Missing
	// leftOut are the names of tools that no vendor accepts.
	leftOut  []string
	warnings []string
}

// Missing is an optional MCP server that could not list its tools.
type Missing struct {
	Server string
	Err    error
}

// entry is a tool in a Box.
type entry struct {
	tool Tool
	// own is the spec of the tool under the name that the model uses. exposed is the spec that the
	// model gets.
	own, exposed llm.ToolSpec
	// plain is the name without the digest that makes equal names different; empty means own.Name.
	plain string
	// schema is the schema of the parameters. It is nil if it does not compile; then the tool has
	// to check its arguments itself.
	schema *paramschema.Schema
	// aliases are the names of arguments that the model sees under another name.
	aliases map[string]string
	// injected are the names of the arguments that are removed from a call.
	injected []string
	// gated tools are in hitl_tools. quiet tools report no progress. fills is true if the receiver
	// of the arguments applies the defaults of the schema.
	gated, quiet, fills bool
}

// checker is a Tool that checks arguments itself. It returns nil if they are valid.
type checker interface {
	check(e *entry, arguments []byte) *Result
}

// buildSet collects the current tools.
func (b *Box) buildSet(ctx context.Context, c parley.Client) (*set, error) {
	s := &set{byName: map[string]*entry{}}
	allowed := b.allowed()
	for _, f := range b.functions {
		if err := b.add(s, &entry{tool: b.wrap(f, f.Spec()), own: f.Spec()}); err != nil {
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
	if err := b.addReader(s); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = s
	return s, nil
}

// allowed returns the names that may remain after narrow. It returns nil if they are not
// restricted.
func (b *Box) allowed() []string {
	switch {
	case !b.o.Child:
		return nil
	case b.o.Only != nil:
		return b.o.Only
	}
	return b.o.Config.ChildTools
}

// narrow checks the names of the config against the tools, and removes the tools that a child must
// not have.
func (b *Box) narrow(s *set) error {
	c := b.o.Config
	have := func(name string) bool {
		return s.byName[name] != nil || slices.Contains(s.leftOut, name) || b.isAbsent(s, name)
	}
	if !b.o.Child { // the parent checked the other names, so a child does not have to connect to all servers
		spawner := func(name string) bool { return name == toolnames.SpawnSelf || name == toolnames.Parallel }
		if err := checkKnown("hitl_tools", c.HITLTools, func(n string) bool { return have(n) || spawner(n) },
			s.names()); err != nil {
			return err
		}
		return checkKnown("child_tools", c.ChildTools, have, s.names())
	}
	safe := b.childSafe(s)
	s.keep(func(name string) bool { return slices.Contains(safe, name) })
	if b.o.Only == nil {
		return nil
	}
	if err := checkKnown("tool_names", b.o.Only, have, s.names()); err != nil {
		return err
	}
	s.keep(func(name string) bool { return slices.Contains(b.o.Only, name) })
	return nil
}

// isAbsent reports whether a tool is of a server that is disabled or missing.
func (b *Box) isAbsent(s *set, name string) bool {
	server, _, ok := strings.Cut(name, "__")
	return ok && (b.o.Config.MCPServers[server].Disabled ||
		slices.ContainsFunc(s.missing, func(m Missing) bool { return m.Server == server }))
}

// childSafe returns the tools that children may have.
func (b *Box) childSafe(s *set) []string {
	safe := []string{}
	for _, e := range s.entries {
		name := e.own.Name
		if c := b.o.Config; c.ChildTools != nil && slices.Contains(c.ChildTools, name) ||
			c.ChildTools == nil && !e.gated {
			safe = append(safe, name)
		}
	}
	return safe
}

// needsApproval reports whether a tool is in hitl_tools. A tool also needs an approval under its plain
// name. Otherwise a server could offer a second tool with that name, and the first one would run
// without approval.
func (b *Box) needsApproval(e *entry) bool {
	return slices.ContainsFunc([]string{e.own.Name, e.plain}, func(name string) bool {
		return name != "" && slices.Contains(b.o.Config.HITLTools, name)
	})
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

// add adds a tool. It leaves out a tool that cannot be adapted to the vendors, with a warning.
func (b *Box) add(s *set, e *entry) error {
	name := e.own.Name
	if s.byName[name] != nil {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("two tools have the name %s", name),
			"unique names of tools")
	}
	if text := string(bytes.TrimSpace(e.own.Parameters)); text == "" || text == "null" {
		e.own.Parameters = noParameters
	}
	adapted, err := toolschema.Adapt(e.own.Description, e.own.Parameters)
	if err != nil {
		b.warn(s, name, "it is left out, because its parameters cannot be described to a model: "+err.Error())
		s.leftOut = append(s.leftOut, name)
		return nil
	}
	for _, w := range adapted.Warnings {
		b.warn(s, name, w)
	}
	e.exposed, e.aliases = e.own, adapted.Aliases
	e.exposed.Description, e.exposed.Parameters = adapted.Description, adapted.Parameters
	e.schema = b.compileSchema(s, e)
	e.gated = b.needsApproval(e)
	if err := e.inject(b.o.Config.InjectedToolArgs); err != nil {
		return fmt.Errorf("tool %s: parameters: %w", name, err)
	}
	s.entries, s.byName[name] = append(s.entries, e), e
	return nil
}

// compileSchema returns the schema of a tool. It reuses the schema of the last set if that is the
// same. If the original is not a valid schema, the arguments are checked against the adapted one.
func (b *Box) compileSchema(s *set, e *entry) *paramschema.Schema {
	b.mu.Lock()
	last := b.last
	b.mu.Unlock()
	var compiled *paramschema.Schema
	if last != nil && last.byName[e.own.Name] != nil &&
		bytes.Equal(last.byName[e.own.Name].own.Parameters, e.own.Parameters) {
		compiled = last.byName[e.own.Name].schema
	}
	var err error
	if compiled == nil {
		if compiled, err = paramschema.Compile(e.own.Parameters); err != nil && len(e.aliases) == 0 {
			b.warn(s, e.own.Name, "its schema is invalid, so its arguments are checked without the invalid parts: "+err.Error())
			compiled, err = paramschema.Compile(e.exposed.Parameters)
		}
	}
	if err != nil {
		b.warn(s, e.own.Name, "its arguments are not checked, because its schema is invalid: "+err.Error())
		return nil
	}
	for _, w := range compiled.Warnings() {
		b.warn(s, e.own.Name, w.Path+": "+w.Message)
	}
	return compiled
}

// addServers adds the tools of the MCP servers. It skips servers without an allowed tool. Of several
// tools with one name, it adds the first.
func (b *Box) addServers(ctx context.Context, s *set, allowed []string) error {
	for _, server := range b.servers {
		if allowed != nil &&
			!slices.ContainsFunc(allowed, func(n string) bool { return strings.HasPrefix(n, server.name+"__") }) {
			continue
		}
		all, err := server.tools(ctx)
		if err != nil && server.config.Optional && ctx.Err() == nil && !errors.Is(err, llm.ErrUnknownTool) {
			b.o.Logger.Warn("an optional MCP server is missing", "mcp_server", server.name, "error", err)
			s.missing = append(s.missing, Missing{server.name, err})
			continue
		}
		if err != nil {
			return err
		}
		offered := names(all)
		called := toolnames.ForServer(server.name, offered, s.names())
		for i, t := range all {
			own := t.Spec()
			own.Name = called[i]
			switch {
			case offered[i] == "":
				b.warn(s, server.name, "a tool without a name is left out")
				continue
			case slices.Contains(offered[:i], offered[i]):
				b.warn(s, own.Name, "the server "+server.name+" has several tools of this name, so all except one are left out")
				continue
			}
			if err := b.add(s, &entry{tool: b.wrap(t, own), own: own, plain: toolnames.ForMCP(server.name, offered[i]),
				quiet: !b.o.Config.EmitsMCPProgress()}); err != nil {
				return err
			}
		}
	}
	return nil
}
