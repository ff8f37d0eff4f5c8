// Package spantest provides a parley.Tracer for tests that records spans.
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

// Recorder records spans. The zero value is ready to use. Its methods may be called from any
// goroutine.
type Recorder struct {
	// TellContent makes callers record content.
	TellContent bool

	mu    sync.Mutex // guards the field below
	spans []*span
}

var _ parley.Tracer = (*Recorder)(nil)

// Span is the recorded state of a span.
type Span struct {
	Name        string
	Kind        parley.SpanKind
	Parent      string // its traceparent; empty for a root
	Traceparent string
	Attributes  map[string]any
	Failure     string    // the kind passed to Fail, or empty
	Ends        int       // number of End and EndAt calls
	At, EndedAt time.Time // as passed; zero means the time of the call
}

type span struct {
	r    *Recorder
	data Span // guarded by r.mu
}

// Content implements parley.TellsContent.
func (r *Recorder) Content() bool { return r.TellContent }

// StartSpan starts a span.
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
	made := &span{r: r, data: Span{Name: s.Name, Kind: s.Kind, Parent: s.Parent, Traceparent: "00-" + trace + "-" + id +
		"-01", Attributes: map[string]any{}, At: s.At}}
	made.setLocked(s.Attributes)
	r.spans = append(r.spans, made)
	return ctx, &handle{made, made.data.Traceparent}
}

// handle is the parley.Span of the caller.
type handle struct {
	*span
	traceparent string
}

func (h *handle) Traceparent() string { return h.traceparent }

func (h *handle) Set(attributes ...parley.Attribute) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.data.Ends == 0 {
		h.setLocked(attributes)
	}
}

func (s *span) setLocked(attributes []parley.Attribute) {
	for _, a := range attributes {
		switch a.Value.(type) {
		case string, bool, int, int64, float64, []string:
			s.data.Attributes[a.Key] = a.Value
		default:
			panic(fmt.Sprintf("attribute %s: no tracer takes %T", a.Key, a.Value))
		}
	}
}

func (h *handle) Fail(kind string) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.data.Ends == 0 {
		h.data.Failure = kind
	}
}

func (h *handle) End() {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.data.Ends++
}

func (h *handle) EndAt(t time.Time) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.data.Ends++
	h.data.EndedAt = t
}

// Spans returns copies of all spans in the order of their starts.
func (r *Recorder) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Span, len(r.spans))
	for i, s := range r.spans {
		all[i] = s.data
		all[i].Attributes = maps.Clone(s.data.Attributes)
	}
	return all
}

// Named returns the spans with a name.
func (r *Recorder) Named(name string) (found []Span) {
	for _, s := range r.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// Tree returns all spans below a traceparent, one per line, indented below their parents. A line
// has the failure and the attributes of keys. Siblings are in the order of their starts.
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
