package parley

import (
	"context"
)

// Agent is turn logic. The same agent runs inside the hub and in a partner's process.
type Agent interface {
	// HandleTurn is called when the agent has the floor, at most once at a time for a participant of a conversation. It speaks through turn and returns
	// when it is done with this turn. The outcome is advice to the caller; what counts is what the log holds. ctx ends when the claim is lost, at
	// turn.Deadline, and when the executor is told to stop and does not wait any longer. An error or a panic makes the attempt a failed one: what it has said
	// is withdrawn, and the turn is tried again, perhaps elsewhere. One agent value serves any number of conversations at once, so it
	// keeps nothing between turns but what it reads from the log.
	HandleTurn(ctx context.Context, turn *Turn) (TurnOutcome, error)
}

// AgentFunc makes a function an Agent.
type AgentFunc func(ctx context.Context, turn *Turn) (TurnOutcome, error)

// HandleTurn calls f.
func (f AgentFunc) HandleTurn(ctx context.Context, turn *Turn) (TurnOutcome, error) {
	return f(ctx, turn)
}

var _ Agent = AgentFunc(nil)

// TurnOutcome says how an agent left its turn.
type TurnOutcome string

// The values of TurnOutcome.
const (
	// TurnPosted: the agent has said its final message. If it has not, its attempt is a silent one.
	TurnPosted TurnOutcome = "posted"
	// TurnYield: the agent passes the turn on. What it has said stays.
	TurnYield TurnOutcome = "yield"
	// TurnNoAction: there is nothing to say, and nothing was said. The turn is passed on, as with TurnYield.
	TurnNoAction TurnOutcome = "no_action"
	// TurnComplete: the agent has closed the conversation.
	TurnComplete TurnOutcome = "complete"
)
