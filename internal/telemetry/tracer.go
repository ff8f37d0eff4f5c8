package telemetry

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// tracer creates spans of OpenTelemetry.
type tracer struct {
	otel    trace.Tracer
	content bool
	models  *models // nil if the metrics of models are disabled
}

var (
	_ parley.ContentTracer  = (*tracer)(nil)
	_ parley.SamplingTracer = (*tracer)(nil)
)

// Content reports whether content is exported.
func (t *tracer) Content() bool { return t.content }

// Samples reports whether a span with this start is exported. It asks the sampler by starting a
// span that never ends, and is therefore never exported.
func (t *tracer) Samples(s parley.SpanStart) bool {
	_, o := t.otel.Start(place(context.Background(), s), name(s.Name), trace.WithSpanKind(kinds[s.Kind]))
	return o.SpanContext().IsSampled()
}

// StartSpan starts a span.
func (t *tracer) StartSpan(ctx context.Context, s parley.SpanStart) (context.Context, parley.Span) {
	options := []trace.SpanStartOption{trace.WithSpanKind(kinds[s.Kind]),
		trace.WithAttributes(attributesOf(s.Attributes)...)}
	if !s.At.IsZero() {
		options = append(options, trace.WithTimestamp(s.At))
	}
	// its context contains the ids that were given to this span
	_, o := t.otel.Start(place(ctx, s), name(s.Name), options...)
	return trace.ContextWithSpan(ctx, o), &span{otel: o, traceparent: traceparent(o.SpanContext()),
		call: t.models.begin(s)}
}

var kinds = map[parley.SpanKind]trace.SpanKind{
	parley.SpanInternal: trace.SpanKindInternal, parley.SpanServer: trace.SpanKindServer,
	parley.SpanClient: trace.SpanKindClient,
}

// place returns the context in which a span starts, with its given ids.
func place(ctx context.Context, s parley.SpanStart) context.Context {
	ctx = under(ctx, s.Parent)
	if s.ID == [8]byte{} && s.TraceID == [16]byte{} {
		return ctx
	}
	return context.WithValue(ctx, idsKey{}, &given{s.TraceID, s.ID})
}

// under returns a context in the span of a traceparent. That is the current span, a remote one, or
// none.
func under(ctx context.Context, parent string) context.Context {
	if parent != "" && parent == traceparent(trace.SpanContextFromContext(ctx)) {
		return ctx
	}
	if !parley.ValidTraceparent(parent) {
		return trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	}
	var c trace.SpanContextConfig
	var flags [1]byte
	_, _ = hex.Decode(c.TraceID[:], []byte(parent[3:35])) // valid hex, because the traceparent is valid
	_, _ = hex.Decode(c.SpanID[:], []byte(parent[36:52]))
	_, _ = hex.Decode(flags[:], []byte(parent[53:]))
	c.TraceFlags = trace.TraceFlags(flags[0]) & (trace.FlagsSampled | trace.FlagsRandom)
	c.Remote = true
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(c))
}

func traceparent(c trace.SpanContext) string {
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// span is a span of OpenTelemetry.
type span struct {
	otel        trace.Span
	traceparent string
	call        *call // nil if it is not a call of a model
}

var _ parley.Span = (*span)(nil)

// Traceparent returns the traceparent of the span.
func (s *span) Traceparent() string { return s.traceparent }

// Set adds attributes.
func (s *span) Set(attributes ...parley.Attribute) {
	s.otel.SetAttributes(attributesOf(attributes)...)
	if s.call != nil {
		s.call.set(attributes)
	}
}

// Fail records a failure.
func (s *span) Fail(kind string) {
	s.otel.SetStatus(codes.Error, "")
	s.Set(parley.Attribute{Key: spannames.AttrErrorType, Value: kind})
}

// End ends the span now.
func (s *span) End() { s.EndAt(time.Now()) }

// EndAt ends the span at a time.
func (s *span) EndAt(t time.Time) {
	s.otel.End(trace.WithTimestamp(t))
	if s.call != nil {
		s.call.end(trace.ContextWithSpan(context.Background(), s.otel), t)
	}
}

// attributesOf converts attributes to OpenTelemetry. It leaves out values of types that
// parley.Attribute does not name.
func attributesOf(attributes []parley.Attribute) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, len(attributes))
	for _, a := range attributes {
		if v := valueOf(a.Value); v.Type() != attribute.EMPTY {
			all = append(all, attribute.KeyValue{Key: attribute.Key(a.Key), Value: v})
		}
	}
	return all
}

func valueOf(v any) attribute.Value {
	switch v := v.(type) {
	case string:
		return attribute.StringValue(text(v))
	case bool:
		return attribute.BoolValue(v)
	case int:
		return attribute.IntValue(v)
	case int64:
		return attribute.Int64Value(v)
	case float64:
		return attribute.Float64Value(v)
	case []string:
		all := make([]string, len(v))
		for i := range v {
			all[i] = text(v[i])
		}
		return attribute.StringSliceValue(all)
	}
	return attribute.Value{}
}

// maxName limits the name of a span in characters, because models can write parts of it.
const maxName = 256

// name returns a name that can be exported.
func name(s string) string {
	s = text(s)
	n := 0
	for i := range s {
		if n++; n > maxName {
			return s[:i]
		}
	}
	return s
}

// text returns s as valid UTF-8. Otherwise, the export of the whole batch fails.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// ids assigns span ids: the given ones, otherwise random ones.
type ids struct{}

type idsKey struct{}

// given are the ids given to a span; zero means none.
type given struct {
	trace trace.TraceID
	span  trace.SpanID
}

// NewIDs returns the ids of a span without a parent.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	if g, _ := ctx.Value(idsKey{}).(*given); g != nil {
		id = g.trace
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, ids{}.NewSpanID(ctx, id)
}

// NewSpanID returns the id of a span with a parent.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	var id trace.SpanID
	if g, _ := ctx.Value(idsKey{}).(*given); g != nil {
		id = g.span
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
