package telemetry

import (
	"context"
	"fmt"
	"net/url"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// maxAttribute limits the text of an attribute in characters, unless
// OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT does.
const maxAttribute = 16 << 10

// openSpans returns the exporter and the provider of spans, or nil if spans are disabled.
func openSpans(ctx context.Context, p places, about *resource.Resource, log *complaints) (trace.SpanExporter,
	*trace.TracerProvider, error) {
	if p.traces == nil {
		return nil, nil, nil
	}
	limits := trace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	options := []trace.TracerProviderOption{trace.WithResource(about), trace.WithIDGenerator(ids{}),
		trace.WithRawSpanLimits(limits)}
	out, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(p.traces.String()))
	if err != nil {
		return nil, nil, fmt.Errorf("tell traces: %w", err)
	}
	e := &spanExporter{SpanExporter: out, to: p.traces, log: log}
	return e, trace.NewTracerProvider(append(options, trace.WithBatcher(e))...), nil
}

// spanExporter exports spans and logs failures.
type spanExporter struct {
	trace.SpanExporter
	to  *url.URL
	log *complaints
}

// ExportSpans exports spans.
func (e *spanExporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.failed(e.to, err)
		return nil
	}
	e.log.worked(e.to)
	return nil
}
