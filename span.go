package parley

import (
	"context"
	"time"
)

// Tracer starts spans in a tracing system. [WithTracer] adds it to a context, and [StartSpan] uses
// the tracer of its context at any depth. The program parley has a Tracer for OpenTelemetry.
// Another implementation connects another tracing system.
type Tracer interface {
	// StartSpan starts a span. Only the function StartSpan calls it, with s.Parent set. It returns the
	// context of the span.
	StartSpan(ctx context.Context, s SpanStart) (context.Context, Span)
}

// SamplingTracer is a Tracer that does not export all spans.
type SamplingTracer interface {
	Tracer
	// Samples reports whether a span that starts with s would be exported. It starts no span.
	Samples(s SpanStart) bool
}

// Span is a timed operation. Its methods are safe for concurrent use. After End they have no
// effect.
type Span interface {
	// Traceparent returns the id of the span in the form of W3C Trace Context, for spans elsewhere.
	Traceparent() string
	Set(attributes ...Attribute)
	// Fail marks the span as failed. kind is a name of [Errors] or another short word. See
	// [ErrorKind]. The text of an error must not be used.
	Fail(kind string)
	// End ends the span now.
	End()
	// EndAt ends the span at t.
	EndAt(t time.Time)
}

// SpanKind is the side of a call that a span is on.
type SpanKind int

// The values of SpanKind.
const (
	SpanInternal SpanKind = iota
	SpanServer
	SpanClient
)

// SpanStart has the data with which a span starts.
type SpanStart struct {
	Name string
	Kind SpanKind
	// Parent is the traceparent of the parent span. If it is empty or not valid, the parent is
	// TraceparentOf of the context.
	Parent string
	// ID is the id of the span, and TraceID is the id of the trace if the span has no parent. If they
	// are zero, they are random. Fixed ids are for spans that several processes export, or that are
	// exported after a restart.
	ID      [8]byte
	TraceID [16]byte
	// At is the start time; zero means now.
	At         time.Time
	Attributes []Attribute
}

// Attribute is an attribute of a span. Value is a string, bool, int, int64, float64 or []string.
type Attribute struct {
	Key   string
	Value any
}

type tracerKey struct{}

type traceparentKey struct{}

// WithTracer returns a context in which [StartSpan] uses t.
func WithTracer(ctx context.Context, t Tracer) context.Context {
	return context.WithValue(ctx, tracerKey{}, t)
}

// TracerOf returns the tracer of a context, or nil.
func TracerOf(ctx context.Context) Tracer {
	t, _ := ctx.Value(tracerKey{}).(Tracer)
	return t
}

// ContentTracer is a Tracer that can also export content: the input and output of models, and the
// arguments and results of tools.
type ContentTracer interface {
	Tracer
	// Content reports whether spans should have content.
	Content() bool
}

// TellsContent reports whether the spans of a context should have content as attributes. Without
// it, spans never have content.
func TellsContent(ctx context.Context) bool {
	t, ok := TracerOf(ctx).(ContentTracer)
	return ok && t.Content()
}

// WithTraceparent returns a context whose spans are children of the span with this traceparent. If
// traceparent is not valid, it returns ctx.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	if !ValidTraceparent(traceparent) {
		return ctx
	}
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// TraceparentOf returns the traceparent of the current span of a context, or the one that
// [WithTraceparent] set, or "". Clients send it with each call.
func TraceparentOf(ctx context.Context) string {
	s, _ := ctx.Value(traceparentKey{}).(string)
	return s
}

// StartSpan starts a span with the tracer of the context, and returns the context of the span.
// Without a tracer, the span exports nothing, and its traceparent is that of the context.
func StartSpan(ctx context.Context, s SpanStart) (context.Context, Span) {
	if s.Parent != "" && s.Parent != TraceparentOf(ctx) {
		ctx = WithTraceparent(ctx, s.Parent)
	}
	t := TracerOf(ctx)
	if t == nil {
		return ctx, noSpan(TraceparentOf(ctx))
	}
	s.Parent = TraceparentOf(ctx)
	ctx, span := t.StartSpan(ctx, s)
	return WithTraceparent(ctx, span.Traceparent()), span
}

// noSpan is a span that is not exported. Its value is its traceparent.
type noSpan string

func (u noSpan) Traceparent() string { return string(u) }
func (noSpan) Set(...Attribute)      {}
func (noSpan) Fail(string)           {}
func (noSpan) End()                  {}
func (noSpan) EndAt(time.Time)       {}

// traceparentLen is the length of a traceparent of version 00: version, trace id, parent id and
// flags in lower-case hex, separated by dashes.
const traceparentLen = 55

// ValidTraceparent reports whether s is a traceparent of version 00 (W3C Trace Context, section
// 3.2). Other versions are not accepted.
func ValidTraceparent(s string) bool {
	if len(s) != traceparentLen || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return false
	}
	return isHexID(s[3:35]) && isHexID(s[36:52]) && isHex(s[53:])
}

// isHexID reports whether s is lower-case hex and not all zeros.
func isHexID(s string) bool {
	zero := true
	for i := range len(s) {
		zero = zero && s[i] == '0'
	}
	return !zero && isHex(s)
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
