package blueprint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/workflow"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// Bounds and defaults of files.
const (
	// DefaultTimeout and MinTimeout to MaxTimeout are how long a command may run.
	DefaultTimeout = limits.DefaultSessionTimeoutMs * time.Millisecond
	MinTimeout     = limits.MinDurationMs * time.Millisecond
	MaxTimeout     = limits.MaxSessionTimeoutMs * time.Millisecond
	// DefaultOutputBytes and MaxOutputBytes are how much it may write to stdout.
	DefaultOutputBytes = 1 << 20
	MaxOutputBytes     = parley.MaxAttachmentBytes
	// MaxArgv bounds the words of a command, and MaxArgvBytes all of them together.
	MaxArgv      = 256
	MaxArgvBytes = 64 << 10
	// MaxEnv bounds the variables that a file declares, and MaxEnvBytes each.
	MaxEnv      = 64
	MaxEnvBytes = 4 << 10
)

// File is one blueprint. It is not changed after Parse.
type File struct {
	// Path is where it stands.
	Path string
	// Type is parley.AgentTypeDeterministic, a command; parley.AgentTypeAgent, an LLM agent; parley.AgentTypeFunction, a function of the program; or parley.AgentTypeWorkflow.
	Type        parley.AgentType
	Name        string
	Description string
	// AgentConfig are the keys of an agent config as they stand in the file of an LLM agent, and Config is what they mean; nil for a command.
	AgentConfig json.RawMessage
	Config      *parley.AgentConfig
	// Plan are the steps of a workflow.
	Plan *workflow.Plan
	// Subscriptions are what wakes the agent, and its context, as they stand in the file; nil, nothing.
	Subscriptions json.RawMessage
	// Argv is the command, and Program the file that it names.
	Argv    []string
	Program string
	// Dir is where it runs: the directory of the file unless cwd says otherwise.
	Dir string
	// Parameters is what it takes, and Output what its result is held against; nil, nothing.
	Parameters *paramschema.Schema
	Output     *paramschema.Schema
	ParamsVia  parley.ParamsVia
	// Env are names of variables that it gets from this process, or NAME=VALUE.
	Env []string
	// Timeout is 0 for an agent that has none and is no command.
	Timeout        time.Duration
	MaxOutputBytes int
	Idempotent     bool
	Labels         map[string]string

	place func(field string) Fault
}

// Fault is one about what stands at a field, such as mcp_servers.files, or where nothing does about the next one above it.
func (f *File) Fault(field, what string) Fault {
	fault := f.place(field)
	fault.What = what
	return fault
}

// IsAgent reports whether it is an LLM agent.
func (f *File) IsAgent() bool { return f.Type == parley.AgentTypeAgent }

// IsCommand reports whether it is a command.
func (f *File) IsCommand() bool { return f.Type == parley.AgentTypeDeterministic }

// Sits reports whether it may take a seat in conversations: LLM agents, and what subscriptions wake.
func (f *File) Sits() bool { return f.IsAgent() || f.Subscriptions != nil }

// Blueprint is what the hub is told of it.
func (f *File) Blueprint() parley.Blueprint {
	b := parley.Blueprint{
		Name: f.Name, Description: f.Description, ParametersSchema: f.Parameters.Raw(), ParamsVia: f.ParamsVia,
		TimeoutMs: f.Timeout.Milliseconds(), Idempotent: f.Idempotent, Subscriptions: f.Subscriptions, Labels: f.Labels,
	}
	if !f.IsCommand() {
		b.Type, b.AgentConfig = f.Type, f.AgentConfig
	}
	if f.Output != nil {
		b.OutputSchema = f.Output.Raw()
	}
	return b
}

// Set are the blueprints of a runner, in the order of their files. Their names differ.
type Set struct {
	Files []*File
}

// File gives the blueprint of a name; nil when there is none.
func (s *Set) File(name string) *File {
	i := slices.IndexFunc(s.Files, func(f *File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return s.Files[i]
}

// Seats are the names of the agents that may sit in conversations, in the order of their files: Agents of the options of the executor that runs them.
func (s *Set) Seats() []string {
	names := []string{}
	for _, f := range s.Files {
		if f.Sits() {
			names = append(names, f.Name)
		}
	}
	return names
}

// NeedFunctions leaves out the functions that a program does not have, and tells of them.
func (s *Set) NeedFunctions(have function.Set) []Fault {
	var faults []Fault
	s.Files = slices.DeleteFunc(s.Files, func(f *File) bool {
		if f.Type != parley.AgentTypeFunction || have[f.Name] != nil {
			return false
		}
		faults = append(faults, f.Fault("name", "this program has no function "+f.Name))
		return true
	})
	return faults
}

// child gives the file of which a name is that of the children; nil where there is none.
func (s *Set) child(name string) *File {
	parent, ok := strings.CutSuffix(name, toolnames.ChildSuffix)
	if f := s.File(parent); ok && f != nil && f.IsAgent() && f.Config.Spawns() {
		return f
	}
	return nil
}

// Blueprints is what the hub is told of all, but for the children of LLM agents: those the agents themselves tell.
func (s *Set) Blueprints() []parley.Blueprint {
	all := make([]parley.Blueprint, len(s.Files))
	for i, f := range s.Files {
		all[i] = f.Blueprint()
	}
	return all
}

// Fault is one thing that is wrong with a file. It repeats no value of the file, which may be a secret, but for what stands in a schema.
type Fault struct {
	Path string
	// Line and Column are from 1; 0 when it is about the file or the directory as a whole.
	Line, Column int
	// Field is the path of what is at fault in the file, such as argv[2]; empty for the whole.
	Field string
	// What says what was expected.
	What string
}

// String is one line, such as "blueprints/crawl.yaml:3:5: timeout: expected ...".
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Path)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	b.WriteString(f.What)
	return b.String()
}
