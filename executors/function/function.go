// Package function is the kind of agent that is a function of the program which runs it.
//
//	fs := function.Set{"add": func(ctx context.Context, j *work.Job) (any, error) { ... }}
//
// # Guarantees
//
//   - A function gets parameters that match its schema, and the context byte for byte as every other kind of agent gets it.
//   - It is attempted at most three times, unless the conversation says otherwise: an error that is no [Error], and a panic, is a failed attempt. Work.Job.Turn.Attempt counts them, and
//     work.Job.Key is the same in each: what a function does outside should be done under that key.
//   - What it gives is the result, as JSON; a text is the text of the result as it is.
package function

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/work"
)

// Func is the function of an agent. What it gives is encoded as JSON: any value, or a json.RawMessage. ctx ends with the claim, and at the timeout of the agent.
type Func func(ctx context.Context, j *work.Job) (any, error)

// Error is an end of a job that no other attempt betters: it is the answer, and the function is not called again.
type Error struct {
	// Reason is a word for the outcome; empty, failed.
	Reason string
	// Text says what has gone wrong, to whoever has asked for the job.
	Text string
	// Faults are what is wrong with the input, where that is why.
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

// Set are the functions of a program, by the names of their agents.
type Set map[string]Func

// Names gives the names, in order.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Agent makes an agent of a function. The type of the blueprint is set.
func Agent(b parley.Blueprint, f Func) (*work.Agent, error) {
	b.Type = parley.AgentTypeFunction
	return work.New(&b, f, nil)
}
