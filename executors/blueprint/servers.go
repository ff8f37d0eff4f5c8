package blueprint

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/mcpentry"
	"github.com/parleyhub/parley/internal/yamlfile"
)

func (c *checker) warn(path, format string, args ...any) {
	at := c.Finding(c.nearest(path), fmt.Sprintf(format, args...))
	c.file.Warnings = append(c.file.Warnings, faultsOf(yamlfile.Findings{at})...)
}

// servers warns of parts of the MCP servers without an effect, and of variables, programs and files
// that this machine lacks. Another machine may have them, so these are not faults.
func (c *checker) servers(config *parley.AgentConfig) {
	var members map[string]json.RawMessage
	if json.Unmarshal(c.file.AgentConfig, &members) != nil {
		return
	}
	entries, _ := mcpentry.Entries(members["mcp_servers"])
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		path := "mcp_servers." + entries[name].Path
		for _, key := range entries[name].Ignored {
			c.warn(path+"."+key, "ignored: %s", mcpentry.Ignored[key])
		}
		if s := config.MCPServers[name]; !s.Disabled {
			c.server(path, s)
		}
	}
}

// server warns of missing variables, programs and files of one server.
func (c *checker) server(path string, s parley.MCPServer) {
	unset := map[string]bool{} // texts with a variable that is not set
	s = s.MapTexts(func(at, text string) string {
		return mcpentry.Expand(text, func(v mcpentry.Variable) string {
			value := os.Getenv(v.Name)
			switch {
			case value == "" && v.HasDefault:
				return v.Default
			case value == "":
				unset[at] = true
				c.warn(path+"."+at, "the variable %s is not set", v.Name)
			}
			return value
		})
	})
	if s.EnvFile != "" && !unset["env_file"] {
		if _, err := os.Stat(c.pathOf(s.EnvFile)); err != nil {
			c.warn(path+".env_file", "the file %s cannot be read: %s", s.EnvFile, reason(err))
		}
	}
	if unset["cwd"] || unset["command"] {
		return
	}
	dir := s.Cwd
	if dir != "" {
		dir = c.pathOf(dir)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			c.warn(path+".cwd", "there is no directory %s", dir)
			return
		}
	}
	if s.Command != "" {
		if _, err := process.Find(dir, s.Command); err != nil {
			c.warn(path+".command", "the program %s cannot be run: %s", s.Command, whyNot(err))
		}
	}
}

// pathOf returns a path that is relative to the directory of the file.
func (c *checker) pathOf(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.File), path)
}
