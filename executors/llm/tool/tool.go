// Package tool are the tools of an LLM agent: functions of the program, agents of the hub, children of the agent itself, and what MCP servers offer. A Box holds those of one agent and
// runs what a model asks for: it splits off injected arguments, waits for approvals, writes to the record before and after, and gives results in the order of the calls.
//
//	call -> met in the record? -> arguments -> approval -> llm_tool_started -> Tool.Run -> llm_tool_result -> result
//
// # Guarantees
//
//   - A tool runs only with arguments that match its parameters, and one of hitl_tools only when somebody has approved of just these arguments, or has changed them. Whatever is unclear
//     is not approved.
//   - A tool of which the record has the end is not run again: the model reads what it read before. One that was begun and has no end is run again only where it is Repeatable, and then
//     with the same key; of others the model reads that nobody knows.
//   - Nothing that a tool does ends the turn: errors, panics and answers of any size are results. What ends it is that its claim or its ctx has ended, or that the record cannot be written.
//
// # Goroutines
//
// Run has one for each call, and one more for the progress of a tool that tells some. All have ended when it returns: a tool has to return when its ctx ends.
package tool

import (
	"context"
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
)

// Tool is something that a model may have done. Its methods may be called from any goroutine.
type Tool interface {
	// Spec is what the model is told of it. It is not changed by anybody.
	Spec() llm.ToolSpec
	// Run does it. An error is told to the model, as what went wrong; a panic likewise.
	Run(ctx context.Context, c *Call) (*Result, error)
}

// Repeatable is a Tool that does the same thing once, however often it is run with the same Call.Key: it is run again where an earlier attempt was killed in the middle. Of other tools
// the next attempt reads that they were interrupted.
type Repeatable interface {
	Tool
	Repeatable()
}

// Call is one run of a tool.
type Call struct {
	// Key is the same in every attempt of the turn, and nobody else's.
	Key string
	ID  string
	// Arguments are an object that matches the parameters of the Spec; injected ones are not in it.
	Arguments json.RawMessage
	Turn      *parley.Turn
	// Progress passes on how far it is; never nil.
	Progress func(Progress)

	span parley.Span // of the call
}

// Progress is how far a tool is.
type Progress struct {
	// Done and Total count what the tool likes; Total is 0 where that is not known.
	Done  float64 `json:"progress"`
	Total float64 `json:"total,omitempty"`
	Text  string  `json:"message,omitempty"`
}

// Result is what a tool gives the model.
type Result struct {
	// Text is for the model. One that is large is put into an attachment, and the model reads its beginning.
	Text string
	// IsError is true where it could not be done.
	IsError bool
}

// Server is a connection to an MCP server: see package mcptool.
type Server interface {
	// Tools are what it offers now, by the names that it has for them.
	Tools(ctx context.Context) ([]Tool, error)
	Close() error
}
