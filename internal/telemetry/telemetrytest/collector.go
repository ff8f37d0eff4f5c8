// Package telemetrytest has a collector of OpenTelemetry for tests, and formats its spans as a tree
// with [Tree].
package telemetrytest

import (
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a received span.
type Span struct {
	TraceID, ID, Parent string // in hex
	Name, Kind          string
	Start, End          time.Time
	Attributes          map[string]any
	// Failed means that its status is an error.
	Failed bool
	// Service is the name of the exporting service.
	Service string
}

// Request is a request to the collector.
type Request struct {
	Path   string
	Header http.Header
}

// Collector receives exports by OTLP over HTTP in protobuf. It is safe for concurrent use.
type Collector struct {
	URL string

	mu       sync.Mutex // guards the fields below
	status   int        // of its responses; 0 means 200
	requests []Request
	resource map[string]any
	spans    []Span
	metrics  map[string]*metrics.Metric // the last one of each name
}

// New returns a collector that listens until the test ends.
func New(t testing.TB) *Collector {
	c := &Collector{metrics: map[string]*metrics.Metric{}}
	s := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// Answer sets the status of all later responses. With a status, the collector stores nothing.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

// Requests returns the received requests.
func (c *Collector) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Spans returns the received spans.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Span returns the only span with a name.
func (c *Collector) Span(t testing.TB, name string) Span {
	t.Helper()
	var found []Span
	for _, s := range c.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d spans %q among %d", len(found), name, len(c.Spans()))
	}
	return found[0]
}

// Metric returns the last value of a metric.
func (c *Collector) Metric(t testing.TB, name string) *metrics.Metric {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.metrics[name] == nil {
		t.Fatalf("there is no metric %s among %d", name, len(c.metrics))
	}
	return c.metrics[name]
}

// Metrics returns the last values of all metrics by name.
func (c *Collector) Metrics() map[string]*metrics.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.metrics)
}

// Resource returns the attributes of the service that exported spans last.
func (c *Collector) Resource() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, Request{r.URL.Path, r.Header})
	if err == nil && c.status == 0 {
		err = c.readLocked(r.URL.Path, body)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case c.status != 0:
		http.Error(w, "not now", c.status)
	}
}

func (c *Collector) readLocked(path string, body []byte) error {
	if strings.HasSuffix(path, "/v1/traces") {
		var r collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &r); err != nil {
			return err
		}
		for _, rs := range r.ResourceSpans {
			c.keepLocked(rs)
		}
		return nil
	}
	var r collectormetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &r); err != nil {
		return err
	}
	for _, rm := range r.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				c.metrics[m.Name] = m
			}
		}
	}
	return nil
}

func (c *Collector) keepLocked(rs *trace.ResourceSpans) {
	c.resource = Values(rs.Resource.Attributes)
	service, _ := c.resource["service.name"].(string)
	for _, ss := range rs.ScopeSpans {
		for _, s := range ss.Spans {
			c.spans = append(c.spans, Span{
				TraceID: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId),
				Parent: hex.EncodeToString(s.ParentSpanId),
				Name:   s.Name, Kind: strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")),
				Start: time.Unix(0, int64(s.StartTimeUnixNano)).UTC(), End: time.Unix(0, int64(s.EndTimeUnixNano)).UTC(),
				Attributes: Values(s.Attributes), Failed: s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR, Service: service,
			})
		}
	}
}

// Values converts attributes to Go values.
func Values(attributes []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		case *common.AnyValue_BoolValue:
			all[a.Key] = v.BoolValue
		case *common.AnyValue_IntValue:
			all[a.Key] = v.IntValue
		case *common.AnyValue_DoubleValue:
			all[a.Key] = v.DoubleValue
		case *common.AnyValue_ArrayValue:
			var items []string
			for _, item := range v.ArrayValue.Values {
				items = append(items, item.GetStringValue())
			}
			all[a.Key] = items
		}
	}
	return all
}
