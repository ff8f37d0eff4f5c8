package executors

import (
	"context"
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// endLost is the end of an attempt whose claim or turn has ended by something else.
const endLost = "lost"

// ended is how an attempt has come to its end, and by which kind of error where it has failed.
type ended struct{ outcome, failure string }

// lostEnd is the end of an attempt that counts no more.
var lostEnd = ended{endLost, parley.ErrorKind(parley.ErrClaimLost)}

// finalEnd is the end of an attempt that has ended its turn.
var finalEnd = ended{outcome: string(parley.ClaimFinal)}

// startSpan begins the span of an attempt. What the agent does under the context that it gives is a part of it.
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

// tellEnd says how an attempt has ended.
func tellEnd(span parley.Span, e ended) {
	span.Set(parley.Attribute{Key: spannames.AttrAttemptOutcome, Value: e.outcome})
	if e.failure != "" {
		span.Fail(e.failure)
	}
}

// overEnd is the end of an attempt that has nothing to give back.
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

// releasedEnd is the end of an attempt whose claim is given back.
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
