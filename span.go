package parley

import (
	"context"
	"time"
)

// Tracer tells a tracing system what is done. It is carried by contexts, so that what runs under one, at whatever depth, tells the same. The hub knows none; what
// OpenTelemetry needs is in internal/telemetry, and any other system can be told by another Tracer.
type Tracer interface {
	// StartSpan begins a span. It is called by the function StartSpan, which sees to the parent and to the traceparent of the context that it gives.
	StartSpan(ctx context.Context, s SpanStart) (context.Context, Span)
}

// SamplingTracer is a Tracer that tells some spans and leaves out others.
type SamplingTracer interface {
	Tracer
	// Samples reports whether a span that begins so is told. It begins none.
	Samples(s SpanStart) bool
}

// Span is something that is done and takes time. Its methods may be called from any goroutine; after End they do nothing.
type Span interface {
	// Traceparent names the span as W3C Trace Context does, for who goes on elsewhere.
	Traceparent() string
	Set(attributes ...Attribute)
	// Fail says that it has failed, and by which kind of error: one of the names of [Errors], or another short one. The message is not told.
	Fail(kind string)
	// End ends it, now.
	End()
	// EndAt ends it at a time.
	EndAt(t time.Time)
}

// SpanKind says on which side of a call a span is.
type SpanKind int

// The values of SpanKind.
const (
	SpanInternal SpanKind = iota
	SpanServer
	SpanClient
)

// SpanStart is how a span begins.
type SpanStart struct {
	Name string
	Kind SpanKind
	// Parent is the traceparent of the span that it belongs to; empty, or none that is valid: TraceparentOf the context.
	Parent string
	// ID, when set, is the id of the span, and TraceID that of the trace of one without a parent: for spans that several tell, or that are told after a restart.
	ID      [8]byte
	TraceID [16]byte
	// At is when it has begun; zero: now.
	At         time.Time
	Attributes []Attribute
}

// Attribute is what is known of a span. Value is a string, bool, int, int64, float64 or []string.
type Attribute struct {
	Key   string
	Value any
}

type tracerKey struct{}

type traceparentKey struct{}

// WithTracer gives a context under which StartSpan tells t.
func WithTracer(ctx context.Context, t Tracer) context.Context {
	return context.WithValue(ctx, tracerKey{}, t)
}

// TracerOf gives the tracer of a context; nil where it has none.
func TracerOf(ctx context.Context) Tracer {
	t, _ := ctx.Value(tracerKey{}).(Tracer)
	return t
}

// ContentTracer is a Tracer that may be asked to tell content too: what models are given and answer, and what tools are called with and give back.
type ContentTracer interface {
	Tracer
	// Content reports whether it is.
	Content() bool
}

// TellsContent reports whether spans under a context are to have content among their attributes. Nothing else ever has it.
func TellsContent(ctx context.Context) bool {
	t, ok := TracerOf(ctx).(ContentTracer)
	return ok && t.Content()
}

// WithTraceparent gives a context whose spans are children of a span that is elsewhere, by its traceparent. One that is not valid changes nothing.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	if !ValidTraceparent(traceparent) {
		return ctx
	}
	return context.WithValue(ctx, traceparentKey{}, traceparent)
}

// TraceparentOf gives the traceparent of the span that a context is in, or of the one that WithTraceparent has named; empty where there is none. Clients send it with what they ask.
func TraceparentOf(ctx context.Context) string {
	s, _ := ctx.Value(traceparentKey{}).(string)
	return s
}

// StartSpan begins a span by the tracer of the context. Without one it gives a span that tells nobody, whose traceparent is that of the context.
func StartSpan(ctx context.Context, s SpanStart) (context.Context, Span) {
	if s.Parent != "" && s.Parent != TraceparentOf(ctx) {
		ctx = WithTraceparent(ctx, s.Parent)
	}
	t := TracerOf(ctx)
	if t == nil {
		return ctx, untold(TraceparentOf(ctx))
	}
	s.Parent = TraceparentOf(ctx)
	ctx, span := t.StartSpan(ctx, s)
	return WithTraceparent(ctx, span.Traceparent()), span
}

// untold is a span that nobody is told of.
type untold string

func (u untold) Traceparent() string { return string(u) }
func (untold) Set(...Attribute)      {}
func (untold) Fail(string)           {}
func (untold) End()                  {}
func (untold) EndAt(time.Time)       {}

// traceparentLen is the length of a traceparent of version 00: version, trace id, parent id and flags in lower-case hex, with dashes between them.
const traceparentLen = 55

// ValidTraceparent reports whether s is a traceparent of version 00 (W3C Trace Context, section 3.2): no other is taken.
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
