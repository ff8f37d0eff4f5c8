package agent

import (
	"errors"

	"github.com/parleyhub/parley"
)

// The reasons of failed sessions, in addition to the categories of package llm and the reasons of
// the hub.
const (
	ReasonBudget     = "budget_exceeded" // run_options.budget, max_steps or max_tool_calls
	ReasonContext    = "context_budget"  // budget_awareness limit:N, if the answer must match a schema
	ReasonRefusal    = "refusal"         // the model refused
	ReasonSchema     = "output_schema"   // the answer does not match
	ReasonForbidden  = "forbidden"       // a child that was not started by its agent
	ReasonTimeout    = "timeout"         // timeout_ms
	reasonParameters = "parameters"      // the parameters do not fit the template or the child
	reasonTools      = "unknown_tool"    // no server has a tool of the config
)

// The texts of final messages without an answer of the model.
const (
	// BudgetMessage ends a turn whose prompt exceeds the limit of budget_awareness and cannot be
	// compacted.
	BudgetMessage = "I stop here, because the conversation no longer fits into the part of the model's context " +
		"that I may use."
	// PartialMessage is the answer if a budget was used up before the model wrote any text.
	PartialMessage = "The budget of this turn was used up before there was an answer."
	// EmptyMessage is the answer in a seat if the model wrote nothing.
	EmptyMessage = "(empty answer)"
)

// errContext means that the prompt does not fit into the context.
var errContext = errors.New("the prompt exceeds the limit of budget_awareness")

var errTimeout = errors.New("the agent exceeded its timeout_ms")

// failure is the reason why there is no answer. The caller of the session may read its text.
type failure struct {
	reason string
	text   string
	wrong  []parley.ValidationError
	err    error
	// later is true if another attempt may succeed.
	later bool
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }
