// Package toolnames has the names under which a model sees the tools of an LLM agent, and the form of
// the names of models. For example, the tool search.web of the MCP server docs is docs__search_web:
//
//	toolnames.ForMCP("docs", "search.web")
package toolnames

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
)

// The names of the tools with which an agent starts child sessions. See AllowSelfSpawn and
// AllowParallelSubagents of parley.AgentConfig (seed 002, section 6).
const (
	SpawnSelf = "spawn_self"
	Parallel  = "run_parallel_subagents"
)

// The names of the built-in tool that reads a file of the conversation. The second one is for agents
// that have another tool with the first name.
const (
	ReadFile       = "read_file"
	ReadStoredFile = "read_stored_file"
)

// ChildSuffix is the end of the name of the agent that child sessions run: the name of their parent
// and ChildSuffix.
const ChildSuffix = ".child"

// MaxSpawnerName is the maximum size in bytes of the name of an agent that starts child sessions.
const MaxSpawnerName = maxName - len(ChildSuffix)

const maxName = 64 // of a tool, and of an agent

var (
	notAllowed = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	model      = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}:[!-9;-~][!-~]{0,199}$`)
)

// ForAgent returns the name of the tool that runs another agent of the hub. It is the name of the
// agent with _ for each character that is not allowed. A name of more than 64 bytes, and one of a
// built-in tool, ends in a digest of the original.
func ForAgent(agent string) string { return fit(notAllowed.ReplaceAllString(agent, "_"), agent) }

// ForMCP returns the name of a tool of an MCP server: the name of the server, __ and the name of the
// tool with _ for each character that is not allowed. A name of more than 64 bytes ends in a digest
// of the original.
func ForMCP(server, tool string) string {
	return fit(server+"__"+notAllowed.ReplaceAllString(tool, "_"), server+"__"+tool)
}

// ForAgents returns the names of the tools of several agents, in their order. If two agents would
// have the same name, or one the name of another tool, it ends in a digest, except for the agent that
// has exactly this name.
func ForAgents(agents, others []string) []string {
	return distinct(agents, others, ForAgent)
}

// ForServer is ForAgents for the tools of an MCP server. Of two equal names, both have the same
// result.
func ForServer(server string, tools, others []string) []string {
	own := make([]string, len(tools))
	for i, t := range tools {
		own[i] = server + "__" + t
	}
	return distinct(own, others, func(full string) string { return ForMCP(server, full[len(server)+2:]) })
}

// WithDigest returns a name that ends in a digest of its original.
func WithDigest(name, original string) string {
	sum := sha256.Sum256([]byte(original))
	digest := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(digest))] + digest
}

func fit(name, original string) string {
	if len(name) > maxName || name == SpawnSelf || name == Parallel {
		return WithDigest(name, original)
	}
	return name
}

// distinct adds a digest to names that several originals or other tools have.
func distinct(originals, others []string, name func(string) string) []string {
	count := map[string]int{}
	for _, o := range slices.Compact(slices.Sorted(slices.Values(originals))) {
		count[name(o)]++
	}
	all := make([]string, len(originals))
	for i, o := range originals {
		all[i] = name(o)
		if slices.Contains(others, all[i]) || count[all[i]] > 1 && all[i] != o {
			all[i] = WithDigest(all[i], o)
		}
	}
	return all
}

// ValidModel reports whether s is the name of a model: the runtime, a colon and the name that the
// provider uses, such as openai:gpt-4o.
func ValidModel(s string) bool { return model.MatchString(s) }
