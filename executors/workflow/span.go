package workflow

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// startSpan starts the span of a step, which covers all attempts.
func (r *run) startSpan(ctx context.Context, s *step) (context.Context, parley.Span) {
	return parley.StartSpan(ctx, parley.SpanStart{
		Name: spannames.SpanStep + s.name,
		Attributes: []parley.Attribute{
			{Key: spannames.AttrStepName, Value: s.name},
			{Key: spannames.AttrGenAIWorkflowName, Value: r.job.Agent},
			{Key: spannames.AttrGenAIAgentName, Value: s.agent},
		},
	})
}

// setSpanResult sets the result of a step on its span.
func setSpanResult(span parley.Span, e *ended) {
	if e.SessionID != "" {
		span.Set(parley.Attribute{Key: spannames.AttrChildConversationID, Value: e.SessionID})
	}
	if e.Status != parley.SessionCompleted {
		span.Fail(string(e.Status))
	}
}
