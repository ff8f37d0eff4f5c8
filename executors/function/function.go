// Package function runs agents that are Go functions of the program.
//
//	fs := function.Set{"add": func(ctx context.Context, j *work.Job) (any, error) { ... }}
//
// # Guarantees
//
//   - A function gets parameters that match its schema, and the same bytes of context as every
//     other kind of agent.
//   - A function is attempted at most three times, unless the conversation defines another limit. A
//     panic, and any error except [Error], is a failed attempt. Work.Job.Turn.Attempt is the number
//     of the attempt. Work.Job.Key is the same in each attempt; use it as idempotency key of
//     external effects.
//   - The returned value is the result, as JSON. A string is the text of the result unchanged.
package function

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/work"
)

// Func is the function of an agent. It returns a value that encodes as JSON, or a json.RawMessage.
// ctx ends with the claim and at the timeout of the agent.
type Func func(ctx context.Context, j *work.Job) (any, error)

// Error is a permanent failure of a job. It is the answer, and the function is not called again.
type Error struct {
	// Reason is a word for the outcome. The default is failed.
	Reason string
	// Text describes the failure to the caller of the job.
	Text string
	// Faults are the errors in the input, if they are the cause.
	Faults []parley.ValidationError
}

func (e *Error) Error() string { return e.Text }

var _ work.Work = Func(nil)

// Execute calls f.
func (f Func) Execute(ctx context.Context, j *work.Job) (*work.Output, error) {
	v, err := f(ctx, j)
	var final *Error
	if errors.As(err, &final) {
		out := work.Failed(final.Reason, "%s", final.Text)
		out.Result.ValidationErrors = final.Faults
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	return work.Value(v)
}

// Set has the functions of a program by agent name.
type Set map[string]Func

// Names returns the sorted names.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Agent returns the agent of a function. It sets the type of the blueprint.
func Agent(b parley.Blueprint, f Func) (*work.Agent, error) {
	b.Type = parley.AgentTypeFunction
	return work.New(&b, f, nil)
}
