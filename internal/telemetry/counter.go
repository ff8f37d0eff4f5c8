package telemetry

import (
	"context"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// counter is the tracer where spans are told to nobody: calls of models are counted, and what comes in goes on as it came.
type counter struct{ models *models }

var _ parley.Tracer = (*counter)(nil)

// StartSpan begins a span that has no name of its own.
func (c *counter) StartSpan(ctx context.Context, s parley.SpanStart) (context.Context, parley.Span) {
	return ctx, &countedSpan{s.Parent, c.models.begin(s)}
}

// countedSpan is one that is counted, if it is the call of a model, and not told.
type countedSpan struct {
	traceparent string
	call        *call // nil: it is not the call of a model
}

// Traceparent names the span that it is below.
func (s *countedSpan) Traceparent() string { return s.traceparent }

// Set keeps what the metrics want.
func (s *countedSpan) Set(attributes ...parley.Attribute) {
	if s.call != nil {
		s.call.set(attributes)
	}
}

// Fail says that it has failed.
func (s *countedSpan) Fail(kind string) {
	s.Set(parley.Attribute{Key: spannames.AttrErrorType, Value: kind})
}

// End ends it, now.
func (s *countedSpan) End() { s.EndAt(time.Now()) }

// EndAt ends it at a time.
func (s *countedSpan) EndAt(t time.Time) {
	if s.call != nil {
		s.call.end(context.Background(), t)
	}
}
