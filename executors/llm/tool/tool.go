// Package tool implements the tools of an LLM agent: functions of the program, agents of the hub,
// children of the agent, and tools of MCP servers. A Box has the tools of one agent and runs the
// calls of a model. It removes injected arguments, waits for approvals, records the start and the
// end of each call, and returns the results in the order of the calls.
//
//	call -> ended in the record? -> arguments -> approval -> llm_tool_started -> Tool.Run -> llm_tool_result -> result
//
// # Guarantees
//
//   - A tool runs only with arguments that match its parameters. A tool of hitl_tools runs only
//     after someone approved or edited exactly these arguments. An unclear decision is a rejection.
//   - A tool with a recorded end is not run again; the model reads the recorded result. A tool with
//     a recorded start but no end is run again only if it is Repeatable, with the same key.
//     Otherwise the model reads that the outcome is unknown.
//   - Errors, panics and results of any size do not end the turn. Only a lost claim, the end of
//     ctx, or a record that cannot be written ends it.
//
// # Goroutines
//
// Run uses one goroutine for each call, and one more for each tool that reports progress. All end
// before Run returns, so a tool must return when its ctx is done.
package tool

import (
	"context"
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
)

// Tool is a function that a model may call. Its methods are safe for concurrent use.
type Tool interface {
	// Spec describes the tool to the model. Callers do not modify it.
	Spec() llm.ToolSpec
	// Run runs the tool. The model reads an error or a panic as the result.
	Run(ctx context.Context, c *Call) (*Result, error)
}

// Repeatable is a Tool whose effect happens once per Call.Key, even if it runs several times. It is
// run again if an earlier attempt was interrupted. For other tools, the model reads that the call
// was interrupted.
type Repeatable interface {
	Tool
	Repeatable()
}

// Call is one run of a tool.
type Call struct {
	// Key is unique, and the same in every attempt of the turn.
	Key string
	ID  string
	// Arguments is an object that matches the parameters of the Spec, without injected arguments.
	Arguments json.RawMessage
	Turn      *parley.Turn
	// Progress reports the progress of the tool. It is never nil.
	Progress func(Progress)

	span parley.Span // of the call
}

// Progress is the progress of a tool.
type Progress struct {
	// Done and Total are in units of the tool. Total is 0 if it is unknown.
	Done  float64 `json:"progress"`
	Total float64 `json:"total,omitempty"`
	Text  string  `json:"message,omitempty"`
}

// Result is the result of a tool.
type Result struct {
	// Text is read by the model. If it is large, it is stored as an attachment, and the model reads
	// its beginning and its end.
	Text string
	// Files are images of llm.NewImage that follow the text. They are stored as attachments.
	Files []llm.File
	// IsError is true if the call failed.
	IsError bool
}

// Server is a connection to an MCP server. See package mcptool.
type Server interface {
	// Tools returns the tools that the server offers now, under the server's own names.
	Tools(ctx context.Context) ([]Tool, error)
	Close() error
}
