package parley

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/mcpentry"
)

// MCPServer is a server of the Model Context Protocol: a Command or a URL. In the texts that
// MapTexts visits, ${NAME}, ${env:NAME} and ${NAME:-default} are replaced by a variable of the
// process that runs the agent. Entries of mcp.json files of other products are read too.
type MCPServer struct {
	// Type is the transport: stdio, http or sse. Default: stdio for a Command, http for a URL.
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env are variables of the command. EnvFile is a file with more of them, one NAME=VALUE on each
	// line. Cwd is the working directory of the command. Both are relative to the agent file.
	Env     map[string]string `json:"env,omitempty"`
	EnvFile string            `json:"env_file,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Tools are the tools to offer; default: all tools of the server. An empty list offers none.
	Tools []string `json:"tools,omitzero"`
	// Disabled servers are not started and have no tools. Without an Optional server that cannot be
	// reached, the agent runs without its tools.
	Disabled bool `json:"disabled,omitempty"`
	Optional bool `json:"optional,omitempty"`
	// StartTimeout bounds the time to connect, and the time to list the tools: at most 10m; default
	// 30s.
	StartTimeout string `json:"start_timeout,omitempty"`
}

// StartBound returns StartTimeout, or its default.
func (s *MCPServer) StartBound() time.Duration {
	if d, err := time.ParseDuration(s.StartTimeout); err == nil {
		return d
	}
	return limits.DefaultMCPStartMs * time.Millisecond
}

// MapTexts returns a copy of the entry in which each text that may have variables is replaced by the
// result of f. The path is that of the text in the entry, such as args[0].
func (s MCPServer) MapTexts(f func(path, text string) string) MCPServer {
	s.Command = f("command", s.Command)
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = f(fmt.Sprintf("args[%d]", i), s.Args[i])
	}
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		s.Env[name] = f("env."+name, s.Env[name])
	}
	s.EnvFile, s.Cwd, s.URL = f("env_file", s.EnvFile), f("cwd", s.Cwd), f("url", s.URL)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		s.Headers[name] = f("headers."+name, s.Headers[name])
	}
	return s
}

func (c *AgentConfig) readServers(f *configFaults, path string, raw json.RawMessage) {
	entries, ok := mcpentry.Entries(raw)
	if !ok {
		f.add(path, "expected an object of servers")
		return
	}
	c.MCPServers = map[string]MCPServer{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		s, e := MCPServer{}, entries[name]
		at := path + "." + e.Path
		for _, key := range e.Twice {
			f.add(at+"."+key, "%s is another name of %s: expected one of them", key, mcpentry.OtherNames[key])
		}
		for _, key := range e.Foreign {
			f.add(at+"."+key, "there is no such field: expected %s", mcpentry.Similar[key])
		}
		f.object(at, e.Raw, map[string]any{
			"type": &s.Type, "command": &s.Command, "args": &s.Args, "env": &s.Env, "env_file": &s.EnvFile, "cwd": &s.Cwd,
			"url": &s.URL, "headers": &s.Headers, "tools": &s.Tools, "disabled": &s.Disabled, "optional": &s.Optional,
			"start_timeout": &s.StartTimeout,
		})
		c.MCPServers[name] = s
	}
}

func (s *MCPServer) check(f *configFaults, path string) {
	switch {
	case (s.Command == "") == (s.URL == ""):
		f.add(path, "expected either command or url")
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0 || s.Cwd != "" || s.EnvFile != ""):
		f.add(path, "expected args, env, env_file and cwd with command only")
	case s.Command != "" && len(s.Headers) > 0:
		f.add(path, "expected headers with url only")
	}
	switch transport := mcpentry.Transport(s.Type); {
	case s.Type == "":
	case transport == "":
		f.add(path+".type", "expected stdio, http, streamable-http or sse")
	case transport == mcpentry.Stdio && s.Command == "" && s.URL != "":
		f.add(path+".type", "expected http, streamable-http or sse for a url, but it is %.64q", s.Type)
	case transport != mcpentry.Stdio && s.Command != "" && s.URL == "":
		f.add(path+".type", "expected stdio for a command, but it is %.64q", s.Type)
	}
	if u, err := url.Parse(s.URL); s.URL != "" && !strings.Contains(s.URL, "${") &&
		(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		f.add(path+".url", "expected an address that begins with https:// or http://")
	}
	if strings.ContainsRune(s.Command+strings.Join(s.Args, "")+s.Cwd+s.EnvFile, 0) {
		f.add(path+".command", "expected no NUL in it, or in args, cwd and env_file")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !variableName.MatchString(name) || strings.ContainsRune(s.Env[name], 0) {
			f.add(path+".env."+name, "expected a variable whose name has letters, digits and _, without NUL in its value")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if !headerName.MatchString(name) || strings.ContainsAny(s.Headers[name], "\r\n\x00") {
			f.add(path+".headers."+name, "expected a header of HTTP on one line")
		}
	}
	if d, err := time.ParseDuration(s.StartTimeout); s.StartTimeout != "" &&
		(err != nil || d < limits.MinDurationMs*time.Millisecond || d > limits.MaxMCPStartMs*time.Millisecond) {
		f.add(path+".start_timeout", "expected a time from 100ms to 10m, such as 90s")
	}
	s.MapTexts(func(at, text string) string {
		if unknown := mcpentry.Unknown(text); unknown != "" {
			f.add(path+"."+at, "unknown variable %.100q: expected ${NAME}, ${env:NAME} or ${NAME:-default}", unknown)
		}
		return text
	})
	f.names(path+".tools", s.Tools, "the name of a tool", func(t string) bool { return t != "" && len(t) <= MaxKeyBytes })
}
