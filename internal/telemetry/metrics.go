package telemetry

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// openMetrics returns the metric provider, or nil if metrics are disabled.
func openMetrics(ctx context.Context, p places, about *resource.Resource, r *registry,
	log *complaints) (*metric.MeterProvider, error) {
	if p.metrics == nil {
		return nil, nil
	}
	out, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(p.metrics.String()))
	if err != nil {
		return nil, fmt.Errorf("tell metrics: %w", err)
	}
	e := &metricExporter{Exporter: out, to: p.metrics, log: log}
	return metric.NewMeterProvider(metric.WithResource(about), metric.WithReader(metric.NewPeriodicReader(e,
		metric.WithProducer(r)))), nil
}

// metricExporter exports metrics and logs failures.
type metricExporter struct {
	metric.Exporter
	to  *url.URL
	log *complaints
}

// Export exports metrics.
func (e *metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if err := e.Exporter.Export(ctx, m); err != nil {
		e.log.failed(e.to, err)
		return nil
	}
	e.log.worked(e.to)
	return nil
}

// registry is the source of the metrics of /metrics, once it is set.
type registry struct {
	producer atomic.Pointer[metric.Producer]
}

// Produce returns the metrics of the registry.
func (r *registry) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	p := r.producer.Load()
	if p == nil {
		return nil, nil
	}
	return (*p).Produce(ctx)
}

// Gather also exports the metrics of a registry under their names, with those of spans, until
// Shutdown ended.
func (t *Telemetry) Gather(from prometheus.Gatherer) {
	if t == nil {
		return
	}
	p := bridge.NewMetricProducer(bridge.WithGatherer(from))
	t.registry.producer.Store(&p)
}
