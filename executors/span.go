package executors

import (
	"context"
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// endLost is the outcome of an attempt whose claim or turn ended otherwise.
const endLost = "lost"

// ended is the outcome of an attempt, and the kind of its failure.
type ended struct{ outcome, failure string }

// lostEnd is the end of an attempt with a lost claim.
var lostEnd = ended{endLost, parley.ErrorKind(parley.ErrClaimLost)}

// finalEnd is the end of an attempt that ended its turn.
var finalEnd = ended{outcome: string(parley.ClaimFinal)}

// startSpan starts the span of an attempt. The returned context carries it to the agent.
func (a *attempt) startSpan(ctx context.Context, o *offer) (context.Context, parley.Span) {
	parent := a.claim.Traceparent
	if parent == "" {
		parent = o.traceparent
	}
	return parley.StartSpan(ctx, parley.SpanStart{
		Name: spannames.SpanInvokeAgent + a.turn.Agent, Parent: parent,
		Attributes: []parley.Attribute{
			{Key: spannames.AttrGenAIOperationName, Value: spannames.OperationInvokeAgent},
			{Key: spannames.AttrGenAIAgentName, Value: a.turn.Agent},
			{Key: spannames.AttrGenAIAgentID, Value: a.turn.AgentID},
			{Key: spannames.AttrGenAIConversationID, Value: a.turn.ConversationID},
			{Key: spannames.AttrTurnNumber, Value: a.turn.Number},
			{Key: spannames.AttrAttemptNumber, Value: a.turn.Attempt},
			{Key: spannames.AttrRunnerID, Value: a.opts.ExecutorID},
		},
	})
}

// setSpanEnd sets the end of an attempt on its span.
func setSpanEnd(span parley.Span, e ended) {
	span.Set(parley.Attribute{Key: spannames.AttrAttemptOutcome, Value: e.outcome})
	if e.failure != "" {
		span.Fail(e.failure)
	}
}

// overEnd returns the end of an attempt without a claim to release.
func (a *attempt) overEnd(working context.Context, how returned) ended {
	said := a.turn.Said()
	if said.Outcome == parley.OutcomeFailed {
		return ended{finalEnd.outcome, string(said.Outcome)}
	}
	if said.Final || how.err == nil && !errors.Is(context.Cause(working), parley.ErrClaimLost) {
		return finalEnd
	}
	return lostEnd
}

// releasedEnd returns the end of an attempt whose claim is released.
func releasedEnd(o parley.ReleaseOutcome, reason string, how returned) ended {
	end, _ := o.Ends()
	e := ended{outcome: string(end)}
	switch {
	case o == parley.ReleaseYield:
	case o == parley.ReleaseSilent:
		e.failure = e.outcome
	case reason == reasonError:
		e.failure = parley.ErrorKind(how.err)
	default:
		e.failure = reason
	}
	return e
}
