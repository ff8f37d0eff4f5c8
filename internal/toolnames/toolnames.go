// Package toolnames has the names under which a model sees the tools of an LLM agent, and the form of
// the names of models. For example, the tool search.web of the MCP server docs is docs__search_web:
//
//	toolnames.ForMCP("docs", "search.web")
package toolnames

import "regexp"

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
// agent with _ for each character that is not allowed, cut to 64 bytes.
func ForAgent(agent string) string { return clip(notAllowed.ReplaceAllString(agent, "_")) }

// ForMCP returns the name of a tool of an MCP server: the name of the server, __ and the name of the
// tool with _ for each character that is not allowed, cut to 64 bytes.
func ForMCP(server, tool string) string {
	return clip(server + "__" + notAllowed.ReplaceAllString(tool, "_"))
}

func clip(s string) string { return s[:min(len(s), maxName)] }

// ValidModel reports whether s is the name of a model: the runtime, a colon and the name that the
// provider uses, such as openai:gpt-4o.
func ValidModel(s string) bool { return model.MatchString(s) }
