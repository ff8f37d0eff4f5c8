package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/telemetry"
	"github.com/parleyhub/parley/internal/telemetry/telemetrytest"
)

// alone removes the OpenTelemetry variables from the environment of the test.
func alone(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, value) // so that it is restored
			os.Unsetenv(name)
		}
	}
}

// open returns a Telemetry that exports to c.
func open(t *testing.T, c *telemetrytest.Collector, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	if c != nil && o.Endpoint == "" {
		o.Endpoint = c.URL
	}
	tm, err := telemetry.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tm.Shutdown(context.Background()) })
	return tm
}

func shut(t *testing.T, tm *telemetry.Telemetry) {
	t.Helper()
	if err := tm.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

const root = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// Spans are exported with all attributes, as one tree below the incoming traceparent.
func TestSpans(t *testing.T) {
	alone(t)
	c := telemetrytest.New(t)
	tm := open(t, c, telemetry.Options{Version: "v1.2.3"})
	began := time.Unix(1_700_000_000, 5).UTC()
	ctx := parley.WithTraceparent(tm.Trace(t.Context()), root)

	ctx, door := parley.StartSpan(ctx, parley.SpanStart{Name: "door", Kind: parley.SpanServer, At: began,
		Attributes: []parley.Attribute{
			{Key: "s", Value: "text"}, {Key: "b", Value: true}, {Key: "i", Value: 3}, {Key: "i64", Value: int64(4)},
			{Key: "f", Value: 0.5},
			{Key: "list", Value: []string{"a", "b\xff"}}, {Key: "broken", Value: "a\xffb"}, {Key: "other", Value: struct{}{}},
		}})
	_, child := parley.StartSpan(ctx, parley.SpanStart{Name: "child", Kind: parley.SpanClient})
	child.Fail("claim_lost")
	child.End()
	child.Set(parley.Attribute{Key: "late", Value: 1})
	_, enabled := parley.StartSpan(ctx, parley.SpanStart{Name: "told later", Parent: root, ID: [8]byte{1, 2, 3}})
	enabled.EndAt(began.Add(time.Minute))
	_, derived := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "derived", TraceID: [16]byte{7},
		ID: [8]byte{8}})
	below, _ := parley.StartSpan(parley.WithTraceparent(tm.Trace(t.Context()), derived.Traceparent()),
		parley.SpanStart{Name: "below derived"})
	derived.End()
	_, last := parley.StartSpan(below, parley.SpanStart{Name: "last"})
	last.End()
	door.EndAt(began.Add(time.Second))
	door.EndAt(began.Add(time.Hour))
	shut(t, tm)

	got := c.Span(t, "door")
	if got.TraceID != root[3:35] || got.Parent != root[36:52] || got.ID != door.Traceparent()[36:52] {
		t.Errorf("the span at the door is %v", got)
	}
	if got.Kind != "server" || !got.Start.Equal(began) || !got.End.Equal(began.Add(time.Second)) {
		t.Errorf("its kind and times are %v", got)
	}
	want := map[string]any{"s": "text", "b": true, "i": int64(3), "i64": int64(4), "f": 0.5,
		"list": []string{"a", "b\uFFFD"}, "broken": "a\uFFFDb"}
	if diff := cmp.Diff(want, got.Attributes); diff != "" {
		t.Error(diff)
	}
	failed := c.Span(t, "child")
	if failed.Parent != got.ID || !failed.Failed {
		t.Errorf("the child is %v", failed)
	}
	if diff := cmp.Diff(map[string]any{spannames.AttrErrorType: "claim_lost"}, failed.Attributes); diff != "" {
		t.Error(diff)
	}
	if s := c.Span(t, "told later"); s.ID != "0102030000000000" || s.Parent != root[36:52] {
		t.Errorf("the span with an id is %v", s)
	}
	if s := c.Span(t, "derived"); !strings.HasPrefix(s.TraceID, "0700") || s.ID != "0800000000000000" || s.Parent != "" {
		t.Errorf("the span with the id of a trace is %v", s)
	}
	if s := c.Span(t, "last"); !strings.HasPrefix(s.TraceID, "0700") || s.ID == "0800000000000000" {
		t.Errorf("an id was given twice: %v", s)
	}
	if r := c.Resource(); r["service.name"] != "parley" || r["service.version"] != "v1.2.3" ||
		r["service.instance.id"] == "" {
		t.Errorf("it says of itself: %v", r)
	}
}

// An unsampled trace is not exported, and the decision is passed on.
func TestSampling(t *testing.T) {
	alone(t)
	c := telemetrytest.New(t)
	tm := open(t, c, telemetry.Options{})
	unsampled := root[:53] + "00"
	_, s := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "not told", Parent: unsampled})
	s.End()
	if got := s.Traceparent(); got[:35] != root[:35] || got[53:] != "00" || got == unsampled {
		t.Errorf("the traceparent of an unsampled span is %s", got)
	}
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	off := open(t, c, telemetry.Options{})
	_, s = parley.StartSpan(off.Trace(t.Context()), parley.SpanStart{Name: "not enabled either"})
	s.End()
	shut(t, tm)
	shut(t, off)
	if enabled := c.Spans(); len(enabled) > 0 {
		t.Errorf("told: %v", enabled)
	}
}

// The metrics of a registry keep their names, and calls of models are counted, also in unsampled
// traces.
func TestMetrics(t *testing.T) {
	alone(t)
	c := telemetrytest.New(t)
	tm := open(t, c, telemetry.Options{})
	registry := prometheus.NewRegistry()
	n := prometheus.NewCounter(prometheus.CounterOpts{Name: "parley_things_total", Help: "Things."})
	n.Add(7)
	registry.MustRegister(n)
	tm.Gather(registry)
	began := time.Now()
	for _, parent := range []string{root, root[:53] + "00"} {
		_, s := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: spannames.SpanChat + "m-1",
			Kind: parley.SpanClient, Parent: parent, At: began, Attributes: []parley.Attribute{
				{Key: spannames.AttrGenAIOperationName, Value: spannames.OperationChat}, {Key: spannames.AttrGenAIProviderName,
					Value: "scripted"}, {Key: spannames.AttrGenAIRequestModel, Value: "m-1"},
			}})
		s.Set(parley.Attribute{Key: spannames.AttrGenAIUsageInputTokens, Value: 100},
			parley.Attribute{Key: spannames.AttrGenAIUsageOutputTokens, Value: 20},
			parley.Attribute{Key: spannames.AttrGenAIInputMessages, Value: "[]"})
		s.EndAt(began.Add(2 * time.Second))
		s.End()
	}
	_, other := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: spannames.SpanExecuteTool + "t"})
	other.End()
	shut(t, tm)

	if got := c.Metric(t, "parley_things_total").GetSum().DataPoints[0].GetAsDouble(); got != 7 {
		t.Errorf("the counter is %v", got)
	}
	took := c.Metric(t, spannames.MetricGenAIOperationDuration)
	if p := took.GetHistogram().DataPoints; took.Unit != "s" || len(p) != 1 || p[0].Count != 2 || p[0].GetSum() != 4 ||
		len(p[0].ExplicitBounds) != 14 {
		t.Errorf("durations are %v", took)
	}
	want := map[string]any{spannames.AttrGenAIOperationName: "chat", spannames.AttrGenAIProviderName: "scripted",
		spannames.AttrGenAIRequestModel: "m-1"}
	if diff := cmp.Diff(want, telemetrytest.Values(took.GetHistogram().DataPoints[0].Attributes)); diff != "" {
		t.Error(diff)
	}
	sums := map[any]float64{}
	for _, p := range c.Metric(t, spannames.MetricGenAITokenUsage).GetHistogram().DataPoints {
		sums[telemetrytest.Values(p.Attributes)[spannames.AttrGenAITokenType]] = p.GetSum()
	}
	if diff := cmp.Diff(map[any]float64{"input": 200, "output": 40}, sums); diff != "" {
		t.Error(diff)
	}
	if (genaiconv.ClientOperationDuration{}).Name() != spannames.MetricGenAIOperationDuration ||
		(genaiconv.ClientTokenUsage{}).Name() != spannames.MetricGenAITokenUsage {
		t.Error("the conventions call the metrics otherwise")
	}
}

// Content is exported only if it is requested.
func TestContent(t *testing.T) {
	alone(t)
	c := telemetrytest.New(t)
	if ctx := open(t, c, telemetry.Options{}).Trace(t.Context()); parley.TellsContent(ctx) {
		t.Error("content is enabled although nobody has asked for it")
	}
	if ctx := open(t, c, telemetry.Options{Content: true}).Trace(t.Context()); !parley.TellsContent(ctx) {
		t.Error("content is not told")
	}
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	if ctx := open(t, c, telemetry.Options{}).Trace(t.Context()); !parley.TellsContent(ctx) {
		t.Error("the environment has asked for content")
	}
	if parley.TellsContent(t.Context()) {
		t.Error("content is enabled to nobody")
	}
}

// A configured endpoint takes precedence over that of the environment, which has the other
// settings.
func TestEnvironment(t *testing.T) {
	alone(t)
	set, env := telemetrytest.New(t), telemetrytest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", env.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=hidden")
	t.Setenv("OTEL_SERVICE_NAME", "clinic-hub")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	say := func(tm *telemetry.Telemetry) {
		_, s := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "said"})
		s.End()
		shut(t, tm)
	}
	say(open(t, nil, telemetry.Options{Endpoint: set.URL + "/below/"}))
	var paths []string
	for _, r := range set.Requests() {
		paths = append(paths, r.Path+" "+r.Header.Get("X-Key"))
	}
	slices.Sort(paths)
	if diff := cmp.Diff([]string{"/below/v1/metrics hidden", "/below/v1/traces hidden"}, paths); diff != "" ||
		len(env.Requests()) > 0 {
		t.Errorf("asked for %v and %v", paths, env.Requests())
	}
	if name := set.Resource()["service.name"]; name != "clinic-hub" {
		t.Errorf("the service is called %v", name)
	}
	say(open(t, nil, telemetry.Options{}))
	if r := env.Resource(); r["deployment.environment.name"] != "test" {
		t.Errorf("the endpoint of the environment was enabled %v", r)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", set.URL+"/v1/traces")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	before, elsewhere := len(set.Requests()), len(env.Requests())
	say(open(t, nil, telemetry.Options{}))
	if len(set.Requests()) != before+1 || len(env.Requests()) != elsewhere {
		t.Error("the endpoint of traces alone was not taken")
	}
}

// Without an endpoint, nothing is created or dialed.
func TestOff(t *testing.T) {
	alone(t)
	check := func() {
		t.Helper()
		tm, err := telemetry.Open(t.Context(), &telemetry.Options{})
		if tm != nil || err != nil {
			t.Errorf("it is %v, %v", tm, err)
		}
		if tm.Tracer() != nil || parley.TracerOf(tm.Trace(t.Context())) != nil || tm.Where() != nil ||
			tm.Shutdown(t.Context()) != nil {
			t.Error("what is off tells something")
		}
		tm.Gather(prometheus.NewRegistry())
	}
	check()
	c := telemetrytest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_SDK_DISABLED", "true")
	check()
	if len(c.Requests()) > 0 {
		t.Error("the collector was asked")
	}
}

// Invalid settings are refused by name and not quoted.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ setting, variable, value, want string }{
		{"collector:4318", "", "", "the OTLP endpoint: it is no address"},
		{"grpc://collector:4317", "", "", "the OTLP endpoint: it is no address"},
		{"http://", "", "", "the OTLP endpoint: it is no address"},
		{"http://user:secret@collector", "", "", "the OTLP endpoint: it has more in it than an address"},
		{"http://collector?key=secret", "", "", "the OTLP endpoint: it has more in it than an address"},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT", "secret", "OTEL_EXPORTER_OTLP_ENDPOINT: it is no address"},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "secret", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: it is no address"},
		{"", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "secret", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: it is no address"},
		{"http://collector", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc",
			"OTEL_EXPORTER_OTLP_PROTOCOL names a protocol that is not spoken here"},
		{"http://collector", "OTEL_TRACES_EXPORTER", "zipkin",
			"OTEL_TRACES_EXPORTER names an exporter that there is not here"},
	} {
		alone(t)
		if c.variable != "" {
			t.Setenv(c.variable, c.value)
		}
		tm, err := telemetry.Open(t.Context(), &telemetry.Options{Endpoint: c.setting})
		if tm != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", c, err)
		}
		if c.variable != "" {
			os.Unsetenv(c.variable)
		}
	}
}

// A refusing collector is logged once, without its path, and delays no one.
func TestDeafCollector(t *testing.T) {
	alone(t)
	c := telemetrytest.New(t)
	c.Answer(http.StatusForbidden)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hidden")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	var log bytes.Buffer
	tm := open(t, nil, telemetry.Options{Endpoint: c.URL + "/path-with-secret",
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 20 {
		_, s := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "lost"})
		s.End()
	}
	shut(t, tm)
	text := log.String()
	if strings.Count(text, "the export to OpenTelemetry failed") != 1 || !strings.Contains(text, "403 Forbidden") {
		t.Errorf("the log is %s", text)
	}
	if strings.Contains(text, "hidden") || strings.Contains(text, "path-with-secret") {
		t.Errorf("the log has a secret: %s", text)
	}
}

// Shutdown returns at the deadline of its context, otherwise after LastWords, while the exporters
// still retry. In the bubble the clock advances only while they wait for their next attempt: no
// attempt leaves a connection behind.
func TestShutdownIsBounded(t *testing.T) {
	for name, bound := range map[string]time.Duration{"by its context": 100 * time.Millisecond,
		"by itself": telemetry.LastWords} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusServiceUnavailable) // the exporters retry for a minute
			}))
			t.Cleanup(s.Close)
			synctest.Test(t, func(t *testing.T) {
				tm := open(t, nil, telemetry.Options{Endpoint: s.URL, Logger: slog.New(slog.DiscardHandler)})
				_, span := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "lost"})
				span.End()
				ctx := t.Context()
				if bound < telemetry.LastWords {
					limited, cancel := context.WithTimeout(ctx, bound)
					defer cancel()
					ctx = limited
				}
				begin := time.Now()
				if err := tm.Shutdown(ctx); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > bound {
					t.Errorf("Shutdown took %s, expected at most %s", took, bound)
				}
			})
		})
	}
}

// Spans that do not fit in the queue are dropped. If End waited for room, this test would take
// days.
func TestFullQueue(t *testing.T) {
	alone(t)
	c := telemetrytest.New(t)
	c.Answer(http.StatusServiceUnavailable) // the exporter retries each span for a minute
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	tm := open(t, c, telemetry.Options{Logger: slog.New(slog.DiscardHandler)})
	for range 10_000 {
		_, s := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "many"})
		s.End()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tm.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// BenchmarkSpan measures an exported span.
func BenchmarkSpan(b *testing.B) {
	b.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
	tm, err := telemetry.Open(b.Context(), &telemetry.Options{Endpoint: "http://127.0.0.1:9",
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx := parley.WithTraceparent(tm.Trace(b.Context()), root)
	b.ReportAllocs()
	for b.Loop() {
		_, s := parley.StartSpan(ctx, parley.SpanStart{Name: "span"})
		s.End()
	}
}

// derived returns the start of a span for a turn whose message is in no trace. answering returns
// one for a message in a trace that its caller has sampled or not.
func derived() parley.SpanStart {
	return parley.SpanStart{Name: "turn", TraceID: [16]byte{0xff, 8: 0xff, 0xff}, ID: [8]byte{9}}
}

func answering(flags string) parley.SpanStart {
	return parley.SpanStart{Name: "turn", Parent: root[:53] + flags, ID: [8]byte{9}}
}

// The decision of a sampler is known before the span starts, by its ids and its parent.
func TestSamples(t *testing.T) {
	type outcomes struct{ derived, sampled, unsampled bool }
	for sampler, want := range map[string]outcomes{
		"": {true, true, false}, "always_on": {true, true, true}, "always_off": {}, "parentbased_always_off": {false, true,
			false},
		"parentbased_traceidratio": {false, true, false}, "traceidratio": {false, false, false},
	} {
		t.Run(sampler, func(t *testing.T) {
			alone(t)
			t.Setenv("OTEL_TRACES_SAMPLER", sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")
			c := telemetrytest.New(t)
			tm := open(t, c, telemetry.Options{})
			asked := tm.Tracer().(parley.SamplingTracer)
			if got := (outcomes{asked.Samples(derived()), asked.Samples(answering("01")),
				asked.Samples(answering("00"))}); got != want {
				t.Errorf("sampled are %+v, want %+v", got, want)
			}
			enabled := 0
			for _, s := range []parley.SpanStart{derived(), answering("01"), answering("00")} {
				_, span := parley.StartSpan(tm.Trace(t.Context()), s)
				if sampled := span.Traceparent()[53:] == "01"; sampled != asked.Samples(s) {
					t.Errorf("the span %s does not say what was said before", span.Traceparent())
				} else if sampled {
					enabled++
				}
				span.End()
			}
			shut(t, tm)
			if got := len(c.Spans()); got != enabled {
				t.Errorf("%d spans were enabled, want %d", got, enabled)
			}
		})
	}
}

// If only metrics are exported, incoming span contexts are passed on unchanged, so that spans of
// other programs have a known parent. Calls of models are counted.
func TestNoTraces(t *testing.T) {
	alone(t)
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	c := telemetrytest.New(t)
	tm := open(t, c, telemetry.Options{Content: true})
	if tm.Tracer() != nil {
		t.Error("hub and doors have a tracer")
	}
	ctx, door := parley.StartSpan(parley.WithTraceparent(tm.Trace(t.Context()), root), parley.SpanStart{Name: "door"})
	if door.Traceparent() != root || parley.TraceparentOf(ctx) != root || parley.TellsContent(ctx) {
		t.Errorf("the span is %q, in the context %q", door.Traceparent(), parley.TraceparentOf(ctx))
	}
	_, free := parley.StartSpan(tm.Trace(t.Context()), derived())
	if free.Traceparent() != "" {
		t.Errorf("what began here is in the span %q, which nobody is enabled of", free.Traceparent())
	}
	_, chat := parley.StartSpan(ctx, parley.SpanStart{Name: spannames.SpanChat + "m-1",
		Attributes: []parley.Attribute{{Key: spannames.AttrGenAIRequestModel, Value: "m-1"}}})
	chat.Set(parley.Attribute{Key: spannames.AttrGenAIUsageInputTokens, Value: int64(3)})
	chat.Fail("timeout")
	for _, s := range []parley.Span{chat, chat, free, door} {
		s.End()
	}
	shut(t, tm)
	if p := c.Metric(t, spannames.MetricGenAIOperationDuration).GetHistogram().DataPoints; len(p) != 1 || p[0].Count != 1 ||
		telemetrytest.Values(p[0].Attributes)[spannames.AttrErrorType] != "timeout" {
		t.Errorf("counted was %v", p)
	}
	if p := c.Metric(t, spannames.MetricGenAITokenUsage).GetHistogram().DataPoints; len(p) != 1 || p[0].GetSum() != 3 {
		t.Errorf("counted was %v", p)
	}
	if len(c.Spans()) > 0 {
		t.Errorf("told was %v", c.Spans())
	}
}

// The name of a span is cut at a character boundary, and can be exported.
func TestLongName(t *testing.T) {
	alone(t)
	c := telemetrytest.New(t)
	tm := open(t, c, telemetry.Options{})
	_, s := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "\xff" + strings.Repeat("é", 1<<20)})
	s.End()
	shut(t, tm)
	if spans := c.Spans(); len(spans) != 1 || spans[0].Name != "\uFFFD"+strings.Repeat("é", 255) {
		t.Errorf("%d spans", len(spans))
	}
}

// A span in the context of a span with a given id has another id.
func TestGivenIDIsOneSpans(t *testing.T) {
	alone(t)
	tm := open(t, telemetrytest.New(t), telemetry.Options{})
	ctx, turn := parley.StartSpan(tm.Trace(t.Context()), derived())
	_, child := parley.StartSpan(ctx, parley.SpanStart{Name: "child"})
	if a, b := turn.Traceparent(), child.Traceparent(); a[:36] != b[:36] || a[36:52] == b[36:52] {
		t.Errorf("below %s is %s", a, b)
	}
	child.End()
	turn.End()
}
