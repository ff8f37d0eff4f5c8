package telemetry

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/metric"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// The buckets of the metrics in the GenAI semantic conventions.
var (
	durationBuckets = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBuckets    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// models are the metrics of model calls. They are computed from the spans of the calls, also of
// unsampled ones.
type models struct {
	duration api.Float64Histogram
	tokens   api.Int64Histogram
}

func newModels(p api.MeterProvider) (*models, error) {
	meter := p.Meter("github.com/parleyhub/parley")
	duration, err := meter.Float64Histogram(spannames.MetricGenAIOperationDuration, api.WithUnit("s"),
		api.WithDescription("How long calls of models take."), api.WithExplicitBucketBoundaries(durationBuckets...))
	if err != nil {
		return nil, err
	}
	tokens, err := meter.Int64Histogram(spannames.MetricGenAITokenUsage, api.WithUnit("{token}"),
		api.WithDescription("How many tokens calls of models read and "+
			"write."), api.WithExplicitBucketBoundaries(tokenBuckets...))
	return &models{duration, tokens}, err
}

// labels are the attributes of a span that its metrics have, too. All of them have few values.
var labels = []string{
	spannames.AttrGenAIOperationName, spannames.AttrGenAIProviderName, spannames.AttrGenAIRequestModel,
	spannames.AttrGenAIResponseModel, spannames.AttrErrorType,
}

// usages are the attributes with token counts, and their token types in the metric.
var usages = []struct{ key, kind string }{
	{spannames.AttrGenAIUsageInputTokens, "input"}, {spannames.AttrGenAIUsageOutputTokens, "output"},
}

// counted are the attributes that a call keeps.
var counted = func() map[string]bool {
	keys := map[string]bool{}
	for _, key := range labels {
		keys[key] = true
	}
	for _, u := range usages {
		keys[u.key] = true
	}
	return keys
}()

// call is a running call of a model.
type call struct {
	of *models
	at time.Time

	mu    sync.Mutex // guards the fields below
	known map[string]any
	ended bool
}

// begin returns the call for a span, or nil if the span is no call of a model.
func (m *models) begin(s parley.SpanStart) *call {
	if m == nil || !strings.HasPrefix(s.Name, spannames.SpanChat) && !strings.HasPrefix(s.Name, spannames.SpanEmbeddings) {
		return nil
	}
	c := &call{of: m, at: s.At, known: map[string]any{}}
	if c.at.IsZero() {
		c.at = time.Now()
	}
	c.set(s.Attributes)
	return c
}

func (c *call) set(attributes []parley.Attribute) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range attributes {
		if counted[a.Key] {
			c.known[a.Key] = a.Value
		}
	}
}

// end counts the call once.
func (c *call) end(ctx context.Context, t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	var set []attribute.KeyValue
	for _, key := range labels {
		if s, _ := c.known[key].(string); s != "" {
			set = append(set, attribute.String(key, name(s))) // the provider may choose the name of the model
		}
	}
	c.of.duration.Record(ctx, max(0, t.Sub(c.at).Seconds()), api.WithAttributes(set...))
	for _, u := range usages {
		if n, ok := tokensOf(c.known[u.key]); ok {
			c.of.tokens.Record(ctx, n, api.WithAttributes(set...), api.WithAttributes(attribute.String(spannames.AttrGenAITokenType,
				u.kind)))
		}
	}
}

func tokensOf(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}
