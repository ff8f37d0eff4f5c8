// Package spantest is a parley.Tracer that keeps what it is told, for tests.
package spantest

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// Recorder keeps spans. The zero value is useful, and it may be used from any goroutine.
type Recorder struct {
	// TellContent has content told too.
	TellContent bool

	mu    sync.Mutex // guards the field below
	spans []*span
}

var _ parley.Tracer = (*Recorder)(nil)

// Span is what was told of a span so far.
type Span struct {
	Name        string
	Kind        parley.SpanKind
	Parent      string // its traceparent; empty for a root
	Traceparent string
	Attributes  map[string]any
	Failure     string    // of Fail; empty, there was none
	Ends        int       // how often it was ended
	At, EndedAt time.Time // as they were told; zero: when it was called
}

type span struct {
	r    *Recorder
	told Span // guarded by r.mu
}

// Content is for parley.TellsContent.
func (r *Recorder) Content() bool { return r.TellContent }

// StartSpan begins a span.
func (r *Recorder) StartSpan(ctx context.Context, s parley.SpanStart) (context.Context, parley.Span) {
	if s.Parent == "" {
		s.Parent = parley.TraceparentOf(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.spans) + 1
	trace, id := fmt.Sprintf("%032x", n), fmt.Sprintf("%016x", n)
	if s.Parent != "" {
		trace = s.Parent[3:35]
	} else if s.TraceID != [16]byte{} {
		trace = fmt.Sprintf("%x", s.TraceID)
	}
	if s.ID != [8]byte{} {
		id = fmt.Sprintf("%x", s.ID)
	}
	made := &span{r: r, told: Span{Name: s.Name, Kind: s.Kind, Parent: s.Parent, Traceparent: "00-" + trace + "-" + id +
		"-01", Attributes: map[string]any{}, At: s.At}}
	made.setLocked(s.Attributes)
	r.spans = append(r.spans, made)
	return ctx, &handle{made, made.told.Traceparent}
}

// handle is what who tells has of a span.
type handle struct {
	*span
	traceparent string
}

func (h *handle) Traceparent() string { return h.traceparent }

func (h *handle) Set(attributes ...parley.Attribute) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.told.Ends == 0 {
		h.setLocked(attributes)
	}
}

func (s *span) setLocked(attributes []parley.Attribute) {
	for _, a := range attributes {
		switch a.Value.(type) {
		case string, bool, int, int64, float64, []string:
			s.told.Attributes[a.Key] = a.Value
		default:
			panic(fmt.Sprintf("attribute %s: no tracer takes %T", a.Key, a.Value))
		}
	}
}

func (h *handle) Fail(kind string) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.told.Ends == 0 {
		h.told.Failure = kind
	}
}

func (h *handle) End() {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.told.Ends++
}

func (h *handle) EndAt(t time.Time) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.told.Ends++
	h.told.EndedAt = t
}

// Spans gives copies of all spans, in the order in which they began.
func (r *Recorder) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Span, len(r.spans))
	for i, s := range r.spans {
		all[i] = s.told
		all[i].Attributes = maps.Clone(s.told.Attributes)
	}
	return all
}

// Named gives those of a name.
func (r *Recorder) Named(name string) (found []Span) {
	for _, s := range r.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// Tree tells all spans below a traceparent, each on a line, with its failure and with what keys
// have of it, and indented below its parent. Siblings come in the order in which they began.
func (r *Recorder) Tree(traceparent string, keys ...string) string {
	var b strings.Builder
	branch(&b, r.Spans(), traceparent, 0, keys)
	return b.String()
}

func branch(b *strings.Builder, all []Span, of string, depth int, keys []string) {
	for _, s := range all {
		if s.Parent != of {
			continue
		}
		b.WriteString(strings.Repeat("  ", depth) + s.Name)
		for _, k := range keys {
			if v, ok := s.Attributes[k]; ok {
				fmt.Fprintf(b, " %v", v)
			}
		}
		if s.Failure != "" {
			b.WriteString(" !" + s.Failure)
		}
		if s.Ends != 1 {
			fmt.Fprintf(b, " (ended %d times)", s.Ends)
		}
		b.WriteString("\n")
		branch(b, all, s.Traceparent, depth+1, keys)
	}
}
