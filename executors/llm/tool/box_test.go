package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// fakeServer is an MCP server.
type fakeServer struct {
	tools  []tool.Tool
	err    error
	asked  int
	closed int
}

func (s *fakeServer) Tools(context.Context) ([]tool.Tool, error) { s.asked++; return s.tools, s.err }

func (s *fakeServer) Close() error { s.closed++; return nil }

func connectTo(servers map[string]*fakeServer) func(context.Context, string, parley.MCPServer) (tool.Server, error) {
	return func(_ context.Context, name string, _ parley.MCPServer) (tool.Server, error) {
		if servers[name] == nil {
			return nil, errors.New("no such server")
		}
		return servers[name], nil
	}
}

// An unknown tool in the config is refused by New, or as soon as its server lists its tools.
func TestNames(t *testing.T) {
	functions := []tool.Tool{echo(t, "one"), echo(t, "two")}
	servers := map[string]parley.MCPServer{"s": {Command: "s"}}
	for name, row := range map[string]struct {
		o     tool.Options
		at    string // new, specs or ok
		is    error
		words string
	}{
		"function": {tool.Options{Config: &parley.AgentConfig{Tools: []string{"three"}}}, "new", llm.ErrUnknownTool,
			"available: one, two"},
		"hitl": {tool.Options{Config: &parley.AgentConfig{Tools: []string{"one"}, HITLTools: []string{"two"}}},
			"new", llm.ErrUnknownTool, `hitl_tools has the unknown tool "two"`},
		"hitl of a server": {tool.Options{Config: &parley.AgentConfig{MCPServers: servers, HITLTools: []string{"s__none"}}},
			"specs", llm.ErrUnknownTool, `hitl_tools has the unknown tool "s__none"`},
		"hitl there": {tool.Options{Config: &parley.AgentConfig{MCPServers: servers, HITLTools: []string{"s__a_b"}}},
			"ok", nil, "[s__a_b s__c]"},
		"hitl spawner": {
			tool.Options{Config: &parley.AgentConfig{HITLTools: []string{"spawn_self"}, AllowSelfSpawn: true}}, "ok", nil,
			"[spawn_self]"},
		"child": {tool.Options{Config: &parley.AgentConfig{MCPServers: servers, ChildTools: []string{"s__none"}}},
			"specs", llm.ErrUnknownTool, `child_tools has the unknown tool "s__none"`},
		"tools of server": {
			tool.Options{
				Config: &parley.AgentConfig{
					MCPServers: map[string]parley.MCPServer{"s": {Command: "s", Tools: []string{"c", "d"}}}}}, "specs",
			llm.ErrUnknownTool, `mcp_servers.s.tools has the unknown tool "d"`},
		"some of server": {
			tool.Options{
				Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"s": {Command: "s", Tools: []string{"c"}}}}},
			"ok", nil, "[s__c]"},
		"none of server": {
			tool.Options{
				Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"s": {Command: "s", Tools: []string{}}}}}, "ok",
			nil, "[]"},
		"disabled": {
			tool.Options{
				Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"s": {Command: "s", Disabled: true}},
					HITLTools: []string{"s__c"}, ChildTools: []string{"s__c"}}}, "ok", nil, "[]"},
		"order": {
			tool.Options{
				Config: &parley.AgentConfig{Tools: []string{"two", "one"}, MCPServers: servers, AllowParallelSubagents: true,
					AllowSelfSpawn: true}}, "ok", nil, "[two one s__a_b s__c spawn_self run_parallel_subagents]"},
		"many subagents": {tool.Options{Config: &parley.AgentConfig{AllowParallelSubagents: true, MaxParallelSubagents: 8}},
			"new", parley.ErrValidationFailed, "1 to 7"},
		"no subagents": {
			tool.Options{Config: &parley.AgentConfig{AllowParallelSubagents: true, MaxParallelSubagents: -1}}, "new",
			parley.ErrValidationFailed, "1 to 7"},
		"long name": {tool.Options{Name: strings.Repeat("n", 59), Config: &parley.AgentConfig{AllowSelfSpawn: true}},
			"new", parley.ErrValidationFailed, "at most 58 bytes"},
		"no client": {tool.Options{Config: &parley.AgentConfig{Agents: []string{"a"}}}, "specs", nil, "no client"},
		"clash": {
			tool.Options{Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"clash": {Command: "s"}}}}, "ok",
			nil,
			"[clash__a_b_0547b16d clash__a_b_160affd1]"},
		"no parameters": {
			tool.Options{Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"odd": {Command: "s"}}}}, "ok", nil,
			"[odd__absent odd__all odd__bare odd__good odd__maybe odd__null]"},
		"hitl left out": {
			tool.Options{
				Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"odd": {Command: "s"}},
					HITLTools: []string{"odd__list"}}}, "ok", nil,
			"[odd__absent odd__all odd__bare odd__good odd__maybe odd__null]"},
		"hitl unknown": {
			tool.Options{
				Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"odd": {Command: "s"}},
					HITLTools: []string{"odd__no"}}}, "specs", llm.ErrUnknownTool, `hitl_tools has the unknown tool "odd__no"`},
		"down": {
			tool.Options{Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"down": {Command: "s"}}}}, "specs",
			nil, "MCP server down"},

		"child: all": {
			tool.Options{Child: true,
				Config: &parley.AgentConfig{Tools: []string{"one", "two"}, HITLTools: []string{"two"}, AllowSelfSpawn: true,
					AllowParallelSubagents: true}}, "ok", nil, "[one]"},
		"child: own list": {
			tool.Options{Child: true,
				Config: &parley.AgentConfig{Tools: []string{"one", "two"}, HITLTools: []string{"two"}, ChildTools: []string{"two"}}},
			"ok", nil, "[two]"},
		"child: none": {
			tool.Options{Child: true, Config: &parley.AgentConfig{Tools: []string{"one"}, ChildTools: []string{}}}, "ok", nil,
			"[]"},
		"child: only": {
			tool.Options{Child: true, Only: []string{"s__c"},
				Config: &parley.AgentConfig{Tools: []string{"one"}, MCPServers: servers}}, "ok", nil, "[s__c]"},
		"child: only none": {
			tool.Options{Child: true, Only: []string{},
				Config: &parley.AgentConfig{Tools: []string{"one"}, MCPServers: servers}}, "ok", nil, "[]"},
		"child: hitl": {
			tool.Options{Child: true, Only: []string{"two"},
				Config: &parley.AgentConfig{Tools: []string{"one", "two"}, HITLTools: []string{"two"}}}, "specs", llm.ErrUnknownTool,
			`tool_names has the unknown tool "two"`},
		"child: spawner": {
			tool.Options{Child: true, Only: []string{"spawn_self"},
				Config: &parley.AgentConfig{Tools: []string{"one"}, AllowSelfSpawn: true}}, "specs", llm.ErrUnknownTool,
			`tool_names has the unknown tool "spawn_self"`},
		"only of a parent": {tool.Options{Only: []string{"one"}, Config: &parley.AgentConfig{Tools: []string{"one"}}}, "new",
			nil, "Only requires Child"},
	} {
		t.Run(name, func(t *testing.T) {
			row.o.Functions = functions
			if row.o.Name == "" {
				row.o.Name = "bot"
			}
			row.o.Connect = connectTo(map[string]*fakeServer{
				"s":     {tools: []tool.Tool{echo(t, "c"), named{echo(t, "c"), "a.b"}}},
				"clash": {tools: []tool.Tool{named{echo(t, "c"), "a.b"}, named{echo(t, "c"), "a/b"}}},
				"down":  {err: errors.New("down")}, "odd": {tools: oddTools(t)},
			})
			b, err := tool.New(&row.o)
			var specs []llm.ToolSpec
			if (err != nil) != (row.at == "new") {
				t.Fatalf("New: %v", err)
			}
			if err == nil {
				if specs, _, err = b.Specs(t.Context(), nil); (err != nil) != (row.at == "specs") {
					t.Fatalf("Specs: %v", err)
				}
			}
			if row.at == "ok" {
				want(t, "the tools", specNames(specs), row.words)
				return
			}
			contains(t, "the error", err.Error(), row.words)
			if row.is != nil && !errors.Is(err, row.is) {
				t.Errorf("the error is %v, want %v", err, row.is)
			}
		})
	}
}

// named is a tool with a name that only servers may use.
type named struct {
	tool.Tool
	name string
}

func (n named) Spec() llm.ToolSpec {
	s := n.Tool.Spec()
	s.Name = n.name
	return s
}

// A server is connected once, listed each time, and closed with the box. A child connects only to
// servers of its tools.
func TestServers(t *testing.T) {
	s, other := &fakeServer{tools: []tool.Tool{echo(t, "a")}}, &fakeServer{tools: []tool.Tool{echo(t, "b")}}
	config := &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"s": {Command: "s"}, "other": {Command: "o"}}}
	o := &tool.Options{Name: "bot", Config: config, Connect: connectTo(map[string]*fakeServer{"s": s, "other": other}),
		Child: true, Only: []string{"s__a"}}
	b, err := tool.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if specs, _, err := b.Specs(t.Context(), nil); err != nil || specNames(specs) != "[s__a]" {
			t.Fatal(specNames(specs), err)
		}
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil || s.asked != 2 || s.closed != 1 || other.asked != 0 {
		t.Errorf("%v: asked %d times, closed %d times, the other asked %d times", err, s.asked, s.closed, other.asked)
	}
	if _, _, err := b.Specs(t.Context(), nil); err == nil {
		t.Error("a closed box has tools")
	}
	if _, err := tool.New(&tool.Options{Config: config}); err == nil {
		t.Error("servers are accepted without Connect")
	}
}

// shaped is a tool with parameters that only servers may have.
type shaped struct {
	named
	parameters string
}

func (s shaped) Spec() llm.ToolSpec {
	spec := s.named.Spec()
	spec.Parameters = json.RawMessage(s.parameters)
	return spec
}

// oddTools returns tools with unusual schemas, some missing and some unusable.
func oddTools(t *testing.T) (all []tool.Tool) {
	for name, parameters := range map[string]string{
		"absent": ``, "null": `null`, "bare": `{}`, "good": `{"type":"object","properties":{"x":{"type":"string"}}}`,
		"text": `{"type":"string"}`, "list": `[]`, "all": `true`, "types": `{"type":["array","null"]}`,
		"maybe": `{"type":["object","null"]}`, "half": `{"type":`, "two": `{} {}`,
	} {
		all = append(all, shaped{named{echo(t, "c"), name}, parameters})
	}
	return all
}

// A tool of a server whose schema is not an object is skipped with a log entry. A missing schema
// becomes an empty object.
func TestLeftOut(t *testing.T) {
	var log bytes.Buffer
	b, err := tool.New(&tool.Options{
		Name: "bot", Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"odd": {Command: "s"}}},
		Connect: connectTo(map[string]*fakeServer{"odd": {tools: oddTools(t)}}),
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	specs, _, err := b.Specs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"absent", "bare", "null", "all", "maybe"} {
		want(t, name, string(spec(t, specs, "odd__"+name).Parameters), `{"properties":{},"type":"object"}`)
	}
	for _, name := range []string{"text", "list", "types", "half", "two"} {
		contains(t, "the log", log.String(),
			`level=WARN msg="a tool is not offered to the model as it is" tool=odd__`+name+` warning="it is left out`)
		contains(t, "the warnings", strings.Join(b.Warnings(), "\n"), "tool odd__"+name+": it is left out")
	}
	before := log.Len()
	if _, _, err := b.Specs(t.Context(), nil); err != nil || log.Len() != before || len(b.Warnings()) != 5 {
		t.Errorf("the same warnings are logged again: %v %s %q", err, log.String()[before:], b.Warnings())
	}
}

// Tools whose names are too long or equal after the replacement of characters can all be called. Of
// two tools with one name, one remains.
func TestCollidingNames(t *testing.T) {
	long := strings.Repeat("y", 62)
	offered := []string{long + "_one", long + "_two", "user/update", "user.update", "user_update", "has space", "same",
		"same", ""}
	var specs [2]string
	for i := range specs { // the names are the same in every process, whatever the order of the list
		var tools []tool.Tool
		for _, name := range offered {
			tools = append(tools, named{echo(t, "c"), name})
		}
		b, err := tool.New(&tool.Options{
			Name: "bot", Functions: []tool.Tool{echo(t, "s_b"), echo(t, "read_all")},
			Config: &parley.AgentConfig{Tools: []string{"s_b", "read_all"},
				MCPServers: map[string]parley.MCPServer{"s": {Command: "s"}}},
			Connect: connectTo(map[string]*fakeServer{"s": {tools: tools}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		all, _, err := b.Specs(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		specs[i] = specNames(all)
		contains(t, "the warnings", strings.Join(b.Warnings(), "\n"), "tool s__same: the server s has several tools")
		slices.Reverse(offered)
	}
	want(t, "the tools", specs[0], "[s_b read_all s__has_space s__same s__user_update_23275d7e s__user_update_7208c1af "+
		"s__user_update s__"+long[:52]+"_c10f0ab9 s__"+long[:52]+"_51728848]")
	want(t, "the tools in another order", specs[1], specs[0])
}
