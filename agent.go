package parley

import (
	"context"
)

// Agent is the logic of a participant. The same agent can run in the process of the hub and in any
// other process.
type Agent interface {
	// HandleTurn takes one turn, and returns when the agent is done with it. It posts messages through
	// turn. It is called when the agent has the floor, at most once at a time for each participant of
	// a conversation.
	//
	// The outcome is advice to the executor. The events in the log decide how the turn ended.
	//
	// ctx ends when the claim is lost, at turn.Deadline, and when the executor stops and does not wait
	// any longer. After an error or a panic, the attempt counts as failed: its events are withdrawn,
	// and the turn is offered again, possibly to another executor.
	//
	// One Agent value serves any number of conversations concurrently. It must not keep state between
	// turns, except state that it can restore from the log.
	HandleTurn(ctx context.Context, turn *Turn) (TurnOutcome, error)
}

// AgentFunc is a function that implements [Agent].
type AgentFunc func(ctx context.Context, turn *Turn) (TurnOutcome, error)

// HandleTurn calls f.
func (f AgentFunc) HandleTurn(ctx context.Context, turn *Turn) (TurnOutcome, error) {
	return f(ctx, turn)
}

var _ Agent = AgentFunc(nil)

// TurnOutcome reports how an agent ended its turn.
type TurnOutcome string

// The values of TurnOutcome.
const (
	// TurnPosted means that the agent posted its final message. If it did not, the attempt counts as
	// silent.
	TurnPosted TurnOutcome = "posted"
	// TurnYield means that the agent ends its turn without a final message. Its earlier messages
	// remain.
	TurnYield TurnOutcome = "yield"
	// TurnNoAction means that the agent has nothing to say and posted nothing. It has the same effect
	// as TurnYield.
	TurnNoAction TurnOutcome = "no_action"
	// TurnComplete means that the agent closed the conversation.
	TurnComplete TurnOutcome = "complete"
)
