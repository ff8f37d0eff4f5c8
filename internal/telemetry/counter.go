package telemetry

import (
	"context"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// counter is the tracer without exported spans. It counts calls of models, and passes incoming span
// contexts on.
type counter struct{ models *models }

var _ parley.Tracer = (*counter)(nil)

// StartSpan starts a span without a separate id.
func (c *counter) StartSpan(ctx context.Context, s parley.SpanStart) (context.Context, parley.Span) {
	return ctx, &countedSpan{s.Parent, c.models.begin(s)}
}

// countedSpan is a span that is not exported. If it is a call of a model, it is counted.
type countedSpan struct {
	traceparent string
	call        *call // nil if it is not a call of a model
}

// Traceparent returns the traceparent of its parent.
func (s *countedSpan) Traceparent() string { return s.traceparent }

// Set keeps the attributes of the metrics.
func (s *countedSpan) Set(attributes ...parley.Attribute) {
	if s.call != nil {
		s.call.set(attributes)
	}
}

// Fail records a failure.
func (s *countedSpan) Fail(kind string) {
	s.Set(parley.Attribute{Key: spannames.AttrErrorType, Value: kind})
}

// End ends the span now.
func (s *countedSpan) End() { s.EndAt(time.Now()) }

// EndAt ends the span at a time.
func (s *countedSpan) EndAt(t time.Time) {
	if s.call != nil {
		s.call.end(context.Background(), t)
	}
}
