// Package telemetry tells OpenTelemetry what Parley does: spans and metrics, by OTLP over HTTP.
//
// It is the only package that knows OpenTelemetry. Whatever runs begins spans with parley.StartSpan, and what that tells is, where an endpoint is set, a [Telemetry] of the program.
//
// Nothing waits for it and nothing fails of it. Spans that have ended stand in a queue that is bounded; when it is full, the newest are dropped. A collector that does not answer is
// logged once a minute at most. What is still in the queue when the program ends is sent within [LastWords].
package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/parleyhub/parley"
)

// LastWords bounds how long Shutdown takes.
const LastWords = 5 * time.Second

// Options say what is told, and to whom.
type Options struct {
	// Endpoint is the address of a collector, such as http://127.0.0.1:4318; /v1/traces and /v1/metrics are below it. Empty: what the environment has for OpenTelemetry counts
	// (OTEL_EXPORTER_OTLP_ENDPOINT, and those of its signals). Everything else, such as headers, comes from there in any case.
	Endpoint string
	// Content has what models are given and answer, and what tools are called with and give back, among the attributes of spans. It is set as well by
	// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true.
	Content bool
	// ServiceName is how the program is called, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES call it otherwise; empty: parley.
	ServiceName string
	// Version is that of the program; empty: it is not told.
	Version string
	// Logger hears of a collector that does not take what it is sent; nil: slog.Default.
	Logger *slog.Logger
}

// Telemetry tells what happens until Shutdown. One that is nil tells nothing.
type Telemetry struct {
	under    parley.Tracer         // of contexts: the tracer, else what only counts calls of models
	tracer   *tracer               // nil: spans are told to nobody
	spans    *trace.TracerProvider // nil with tracer
	exporter trace.SpanExporter    // nil with tracer
	metrics  *metric.MeterProvider // nil: metrics are told to nobody
	registry *registry
	places   places
	end      sync.Once
}

// Open gives what tells OpenTelemetry; nil, without an error, where no endpoint is set. It asks nothing of the collector yet. The handler of errors of the otel library is set: a program
// has one Telemetry.
func Open(ctx context.Context, o *Options) (*Telemetry, error) {
	p, err := findPlaces(o.Endpoint)
	if err != nil || p.none() {
		return nil, err
	}
	log := &complaints{log: cmp.Or(o.Logger, slog.Default()), secrets: p.secrets()}
	otel.SetErrorHandler(log)
	about, err := describe(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Telemetry{registry: &registry{}, places: p}
	t.exporter, t.spans, err = openSpans(ctx, p, about, log)
	if err != nil {
		return nil, err
	}
	if t.metrics, err = openMetrics(ctx, p, about, t.registry, log); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	var m *models
	if t.metrics != nil {
		m, err = newModels(t.metrics)
	}
	if err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	if t.spans == nil {
		t.under = &counter{m}
		return t, nil
	}
	t.tracer = &tracer{otel: t.spans.Tracer("github.com/parleyhub/parley"), content: o.Content || tellsContent(), models: m}
	t.under = t.tracer
	return t, nil
}

// describe says who tells.
func describe(ctx context.Context, o *Options) (*resource.Resource, error) {
	who := []attribute.KeyValue{
		attribute.String("service.name", cmp.Or(o.ServiceName, "parley")),
		attribute.String("service.instance.id", rand.Text()),
	}
	if o.Version != "" {
		who = append(who, attribute.String("service.version", o.Version))
	}
	return resource.New(ctx, resource.WithAttributes(who...), resource.WithTelemetrySDK(), resource.WithFromEnv())
}

// Tracer gives the tracer; nil where spans are told to nobody, which the options of hub and doors understand: what comes in then goes on as it came.
func (t *Telemetry) Tracer() parley.Tracer {
	if t == nil || t.tracer == nil {
		return nil
	}
	return t.tracer
}

// Trace gives a context whose spans are told, or whose calls of models at least are counted.
func (t *Telemetry) Trace(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return parley.WithTracer(ctx, t.under)
}

// Where names the hosts that are told, for a log: without paths, in which there may be a secret.
func (t *Telemetry) Where() []string {
	if t == nil {
		return nil
	}
	return t.places.hosts()
}

// Shutdown sends what is still to be sent, within [LastWords] and while ctx lasts. That some of it could not be sent is in the log, and no error. A second time it does nothing.
func (t *Telemetry) Shutdown(ctx context.Context) (err error) {
	if t == nil {
		return nil
	}
	t.end.Do(func() { err = t.shutdown(ctx) })
	return err
}

func (t *Telemetry) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, LastWords)
	defer cancel()
	told := make(chan error, 1)
	go func() { told <- t.endSpans(ctx) }()
	var err error
	if t.metrics != nil {
		err = t.metrics.Shutdown(ctx)
	}
	err = errors.Join(err, <-told)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil // the collector was too slow, which is its own affair
	}
	return err
}

// endSpans sends the spans that have ended.
func (t *Telemetry) endSpans(ctx context.Context) error {
	if t.spans == nil {
		return nil
	}
	err := t.spans.Shutdown(ctx)
	return errors.Join(err, t.exporter.Shutdown(ctx)) // ends what is under way; a second time it does nothing
}
