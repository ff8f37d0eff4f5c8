package agent

import (
	"errors"

	"github.com/parleyhub/parley"
)

// The reasons of sessions that fail here, besides the categories of package llm and those of the hub.
const (
	ReasonBudget     = "budget_exceeded" // run_options.budget, max_steps or max_tool_calls
	ReasonContext    = "context_budget"  // budget_awareness limit:N, where the answer has to match a schema
	ReasonRefusal    = "refusal"         // the model has declined
	ReasonSchema     = "output_schema"   // the answer does not match
	ReasonForbidden  = "forbidden"       // a child that somebody else has started
	ReasonTimeout    = "timeout"         // timeout_ms
	reasonParameters = "parameters"      // the model cannot be told of them
	reasonTools      = "unknown_tool"    // no server offers what the config names
)

// What is said where there is nothing else to say.
const (
	// BudgetMessage ends a turn whose prompt is over the limit of budget_awareness and cannot be made shorter.
	BudgetMessage = "I stop here: the conversation no longer fits into the part of the model's context that I may use."
	// PartialMessage is the answer where a budget was over before anything was said.
	PartialMessage = "The budget of this turn was used up before there was an answer."
	// EmptyMessage is what a seat says where the model has said nothing.
	EmptyMessage = "(no words)"
)

// errContext is a prompt that does not fit.
var errContext = errors.New("the prompt is over the limit of budget_awareness")

var errTimeout = errors.New("the agent has used up its time")

// failure is why there is no answer. Its words may be read by whoever has started the session.
type failure struct {
	reason string
	text   string
	wrong  []parley.ValidationError
	err    error
	// later is true where another attempt may do better.
	later bool
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }
