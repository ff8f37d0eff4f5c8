// Package telemetry exports spans and metrics of Parley to OpenTelemetry, by OTLP over HTTP. [Open]
// returns a [Telemetry], and its Tracer receives the spans of parley.StartSpan.
//
// It is the only package that depends on OpenTelemetry. No other code waits for exports or fails
// with them. Ended spans are in a bounded queue; when it is full, new ones are dropped. Failures of
// a collector are logged at most once a minute. At the end of the program, the rest of the queue is
// exported within [LastWords].
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

// LastWords limits the duration of Shutdown.
const LastWords = 5 * time.Second

// Options configures the exports.
type Options struct {
	// Endpoint is the URL of a collector, such as http://127.0.0.1:4318. /v1/traces and /v1/metrics
	// are below it. If it is empty, the environment determines it (OTEL_EXPORTER_OTLP_ENDPOINT, and
	// the variables of each signal). Other settings, such as headers, always come from the
	// environment.
	Endpoint string
	// Content adds prompts and answers of models, and arguments and results of tools, to the
	// attributes of spans. OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true sets it, too.
	Content bool
	// ServiceName is the name of the service, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES set
	// one. The default is parley.
	ServiceName string
	// Version is the version of the program. It is not exported if empty.
	Version string
	// Logger receives failures of collectors; nil means slog.Default.
	Logger *slog.Logger
}

// Telemetry exports spans and metrics until Shutdown. A nil Telemetry exports nothing.
type Telemetry struct {
	under    parley.Tracer         // of contexts: the tracer, otherwise a counter of model calls
	tracer   *tracer               // nil if spans are disabled
	spans    *trace.TracerProvider // nil with tracer
	exporter trace.SpanExporter    // nil with tracer
	metrics  *metric.MeterProvider // nil if metrics are disabled
	registry *registry
	places   places
	end      sync.Once
}

// Open returns a Telemetry, or nil without an error if there is no endpoint. It does not connect to
// the collector yet. It sets the error handler of the otel library, so a program may have only one
// Telemetry.
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
	t.tracer = &tracer{otel: t.spans.Tracer("github.com/parleyhub/parley"), content: o.Content || requestsContent(),
		models: m}
	t.under = t.tracer
	return t, nil
}

// describe returns the attributes of the service.
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

// Tracer returns the tracer, or nil if spans are disabled. The options of hub and adapters accept
// nil; incoming span contexts are passed on in that case.
func (t *Telemetry) Tracer() parley.Tracer {
	if t == nil || t.tracer == nil {
		return nil
	}
	return t.tracer
}

// Trace returns a context whose spans are exported, or at least counted if they are model calls.
func (t *Telemetry) Trace(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return parley.WithTracer(ctx, t.under)
}

// Where returns the hosts of the collectors for a log, without paths, which may contain a secret.
func (t *Telemetry) Where() []string {
	if t == nil {
		return nil
	}
	return t.places.hosts()
}

// Shutdown exports the rest within [LastWords], while ctx lasts. Failures are logged and not
// returned. A second call does nothing.
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
	enabled := make(chan error, 1)
	go func() { enabled <- t.endSpans(ctx) }()
	var err error
	if t.metrics != nil {
		err = t.metrics.Shutdown(ctx)
	}
	err = errors.Join(err, <-enabled)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil // a slow collector is not an error of the program
	}
	return err
}

// endSpans exports the ended spans.
func (t *Telemetry) endSpans(ctx context.Context) error {
	if t.spans == nil {
		return nil
	}
	err := t.spans.Shutdown(ctx)
	return errors.Join(err, t.exporter.Shutdown(ctx)) // it cancels running exports; a second call does nothing
}
