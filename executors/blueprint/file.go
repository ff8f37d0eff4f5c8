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

// Limits and defaults of files.
const (
	// DefaultTimeout, MinTimeout and MaxTimeout limit the run time of a command.
	DefaultTimeout = limits.DefaultSessionTimeoutMs * time.Millisecond
	MinTimeout     = limits.MinDurationMs * time.Millisecond
	MaxTimeout     = limits.MaxSessionTimeoutMs * time.Millisecond
	// DefaultOutputBytes and MaxOutputBytes limit its stdout.
	DefaultOutputBytes = 1 << 20
	MaxOutputBytes     = parley.MaxAttachmentBytes
	// MaxArgv limits the arguments of a command, and MaxArgvBytes their sum.
	MaxArgv      = 256
	MaxArgvBytes = 64 << 10
	// MaxEnv limits the variables of a file, and MaxEnvBytes each of them.
	MaxEnv      = 64
	MaxEnvBytes = 4 << 10
)

// File is one blueprint. It is immutable after Parse.
type File struct {
	// Path is the path of the file.
	Path string
	// Type is the type of the agent: parley.AgentTypeDeterministic (a command),
	// parley.AgentTypeAgent (an LLM agent), parley.AgentTypeFunction (a function of the program) or
	// parley.AgentTypeWorkflow.
	Type        parley.AgentType
	Name        string
	Description string
	// AgentConfig has the agent config members of an LLM agent's file, unchanged. Config is the
	// parsed form. Both are nil for other types.
	AgentConfig json.RawMessage
	Config      *parley.AgentConfig
	// Plan has the steps of a workflow.
	Plan *workflow.Plan
	// Subscriptions are the subscriptions in the file, unchanged, or nil.
	Subscriptions json.RawMessage
	// Argv is the command, and Program the path of its program.
	Argv    []string
	Program string
	// Dir is the working directory. The default is the directory of the file.
	Dir string
	// Parameters is the schema of the parameters. Output is the schema of the result, or nil.
	Parameters *paramschema.Schema
	Output     *paramschema.Schema
	ParamsVia  parley.ParamsVia
	// Env are names of inherited variables, or NAME=VALUE.
	Env []string
	// Timeout is 0 without a timeout. A command always has one.
	Timeout        time.Duration
	MaxOutputBytes int
	Idempotent     bool
	Labels         map[string]string
	// Warnings are parts of the file without effect, such as a pattern that cannot be checked.
	Warnings []Fault

	place func(field string) Fault
}

// Fault returns a fault at a field, such as mcp_servers.files. If the field is missing, the
// position is that of the nearest parent.
func (f *File) Fault(field, what string) Fault {
	fault := f.place(field)
	fault.What = what
	return fault
}

// IsAgent reports whether the file is an LLM agent.
func (f *File) IsAgent() bool { return f.Type == parley.AgentTypeAgent }

// IsCommand reports whether the file is a command.
func (f *File) IsCommand() bool { return f.Type == parley.AgentTypeDeterministic }

// Sits reports whether the agent may have a seat in conversations: LLM agents, and agents with
// subscriptions.
func (f *File) Sits() bool { return f.IsAgent() || f.Subscriptions != nil }

// Blueprint returns the blueprint to register at the hub.
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

// Set has the blueprints of a runner in the order of their files. Their names are unique.
type Set struct {
	Files []*File
}

// File returns the blueprint with a name, or nil.
func (s *Set) File(name string) *File {
	i := slices.IndexFunc(s.Files, func(f *File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return s.Files[i]
}

// Seats returns the names of the agents that may have seats in conversations, in the order of their
// files. They are Options.Agents of the executor that runs them.
func (s *Set) Seats() []string {
	names := []string{}
	for _, f := range s.Files {
		if f.Sits() {
			names = append(names, f.Name)
		}
	}
	return names
}

// NeedFunctions removes the functions that the program does not have, and returns a fault for each.
func (s *Set) NeedFunctions(have function.Set) []Fault {
	var faults []Fault
	s.Files = slices.DeleteFunc(s.Files, func(f *File) bool {
		if f.Type != parley.AgentTypeFunction || have[f.Name] != nil {
			return false
		}
		faults = append(faults, f.Fault("name", "unknown function "+f.Name))
		return true
	})
	return faults
}

// child returns the file whose children have the name, or nil.
func (s *Set) child(name string) *File {
	parent, ok := strings.CutSuffix(name, toolnames.ChildSuffix)
	if f := s.File(parent); ok && f != nil && f.IsAgent() && f.Config.Spawns() {
		return f
	}
	return nil
}

// Blueprints returns the blueprints to register at the hub, except those of the children of LLM
// agents, which the agents provide.
func (s *Set) Blueprints() []parley.Blueprint {
	all := make([]parley.Blueprint, len(s.Files))
	for i, f := range s.Files {
		all[i] = f.Blueprint()
	}
	return all
}

// Fault is one fault of a file. It contains no value of the file, which may be a secret, except
// values in a schema.
type Fault struct {
	Path string
	// Line and Column start at 1. They are 0 for a fault of the whole file or directory.
	Line, Column int
	// Field is the path of the fault in the file, such as argv[2]. It is empty for the whole file.
	Field string
	// What describes the expected value.
	What string
}

// String returns one line, such as "blueprints/crawl.yaml:3:5: timeout: expected ...".
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
