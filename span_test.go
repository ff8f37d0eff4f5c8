package parley_test

import (
	"context"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

const (
	someTrace  = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	otherTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// TestValidTraceparent holds every position of a traceparent to what W3C Trace Context says of
// version 00.
func TestValidTraceparent(t *testing.T) {
	for _, good := range []string{someTrace, otherTrace, someTrace[:53] + "ff"} {
		if !parley.ValidTraceparent(good) {
			t.Errorf("%s is refused", good)
		}
	}
	for _, bad := range []string{
		"", "00", someTrace + " ", " " + someTrace, someTrace + "-00", someTrace[:54], "01" + someTrace[2:], "ff" +
			someTrace[2:], strings.ToUpper(someTrace),
		"00-" + strings.Repeat("0", 32) + someTrace[35:], someTrace[:36] + strings.Repeat("0", 16) + someTrace[52:],
		strings.ReplaceAll(someTrace, "-", "_"),
	} {
		if parley.ValidTraceparent(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
	for i := range len(someTrace) {
		if bad := someTrace[:i] + "g" + someTrace[i+1:]; parley.ValidTraceparent(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestSpanWithoutTracer: without a tracer, the traceparent of the context is kept, and nothing else
// happens.
func TestSpanWithoutTracer(t *testing.T) {
	ctx, span := parley.StartSpan(t.Context(), parley.SpanStart{Name: "a"})
	if span.Traceparent() != "" || parley.TraceparentOf(ctx) != "" {
		t.Errorf("a traceparent from nowhere: %q", span.Traceparent())
	}
	ctx = parley.WithTraceparent(parley.WithTracer(ctx, nil), someTrace)
	for _, parent := range []string{"", someTrace, "no traceparent"} {
		under, span := parley.StartSpan(ctx, parley.SpanStart{Name: "b", Parent: parent})
		span.Set(parley.Attribute{Key: "k", Value: 1})
		span.Fail("x")
		span.End()
		if span.Traceparent() != someTrace || parley.TraceparentOf(under) != someTrace {
			t.Errorf("with the parent %q: %q", parent, span.Traceparent())
		}
	}
	under, span := parley.StartSpan(ctx, parley.SpanStart{Name: "c", Parent: otherTrace})
	if span.Traceparent() != otherTrace || parley.TraceparentOf(under) != otherTrace {
		t.Errorf("with another parent: %q", span.Traceparent())
	}
	if got := parley.TraceparentOf(parley.WithTraceparent(ctx, "00-bad")); got != someTrace {
		t.Errorf("an invalid traceparent made it %q", got)
	}
}

// parents is a tracer that records the parents of spans.
type parents struct{ told []string }

func (p *parents) StartSpan(ctx context.Context, s parley.SpanStart) (context.Context, parley.Span) {
	p.told = append(p.told, s.Parent)
	return ctx, fixedSpan{}
}

type fixedSpan struct{ parley.Span }

func (fixedSpan) Traceparent() string { return otherTrace }

// TestParents: a tracer receives the parent, which is explicit or from the context. Spans in the
// context of a span are its children.
func TestParents(t *testing.T) {
	p := &parents{}
	ctx := parley.WithTracer(parley.WithTraceparent(t.Context(), someTrace), p)
	below, _ := parley.StartSpan(ctx, parley.SpanStart{})
	parley.StartSpan(below, parley.SpanStart{})
	parley.StartSpan(below, parley.SpanStart{Parent: someTrace})
	parley.StartSpan(below, parley.SpanStart{Parent: "bad"})
	if got, want := strings.Join(p.told, "\n"), strings.Join([]string{someTrace, otherTrace, someTrace, otherTrace},
		"\n"); got != want {
		t.Errorf("told\n%s, expected\n%s", got, want)
	}
	if parley.TellsContent(ctx) {
		t.Error("content is told to a tracer that knows none")
	}
}

// TestSpanWithoutTracerDoesNotAllocate: a program without a tracer pays nothing for its spans.
func TestSpanWithoutTracerDoesNotAllocate(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, span := parley.StartSpan(ctx, parley.SpanStart{Name: "a"})
		span.End()
	}); n > 0 {
		t.Errorf("a span that nobody is told of takes %v allocations", n)
	}
}

// BenchmarkUntoldSpan is the same in time, without and with a traceparent to pass on.
func BenchmarkUntoldSpan(b *testing.B) {
	for name, ctx := range map[string]context.Context{"alone": b.Context(),
		"passing": parley.WithTraceparent(b.Context(), someTrace)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, span := parley.StartSpan(ctx, parley.SpanStart{Name: "a"})
				span.End()
			}
		})
	}
}
