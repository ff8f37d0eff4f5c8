package a2a

import (
	"maps"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// The names of W3C Trace Context, in the metadata of a message and among the headers of HTTP.
const (
	traceparentMember = "traceparent"
	tracestateMember  = "tracestate"
	traceparentHeader = "Traceparent"
)

// spanNames are the operations that have a span, by their names in version 1.0. The others read.
var spanNames = map[operation]string{opSend: "SendMessage", opStream: "SendStreamingMessage", opCancel: "CancelTask"}

// traced begins the span of a request, under which what it does at the hub goes on, and which end ends. It is a part of the span that the message names in its metadata, else of the one that
// the header names; what is no traceparent is as none.
func (x *visit) traced(o operation, req any) (end func()) {
	parent := traceparentIn(req)
	if values := x.r.Header.Values(traceparentHeader); parent == "" && len(values) == 1 && parley.ValidTraceparent(values[0]) {
		parent = values[0]
	}
	name, spans := spanNames[o]
	if !spans {
		x.r = x.r.WithContext(parley.WithTraceparent(x.r.Context(), parent))
		return func() {}
	}
	ctx, span := parley.StartSpan(x.r.Context(), parley.SpanStart{
		Name: spannames.SpanA2A + name, Kind: parley.SpanServer, Parent: parent,
		Attributes: []parley.Attribute{
			{Key: spannames.AttrDoor, Value: "a2a"},
			{Key: spannames.AttrRPCMethod, Value: name},
			{Key: spannames.AttrGenAIAgentName, Value: x.caller.agent.Name},
		},
	})
	x.r, x.span = x.r.WithContext(ctx), span
	return span.End
}

// failed tells the span how the request was refused.
func (x *visit) failed(f *fault) {
	if x.span != nil {
		x.span.Fail(f.reason)
	}
}

// traceparentIn gives the traceparent in the metadata of a message, or of the request that brings it; empty where there is none.
func traceparentIn(req any) string {
	q, ok := req.(*a2a.SendMessageRequest)
	if !ok || q == nil || q.Message == nil {
		return ""
	}
	for _, metadata := range []map[string]any{q.Message.Metadata, q.Metadata} {
		if s, _ := metadata[traceparentMember].(string); parley.ValidTraceparent(s) {
			return s
		}
	}
	return ""
}

// untraced gives the metadata of a message without the span of the call that has brought it: a message that is sent again comes with another one, and is the same.
func untraced(metadata map[string]any) map[string]any {
	_, parent := metadata[traceparentMember]
	_, state := metadata[tracestateMember]
	if !parent && !state {
		return metadata
	}
	rest := maps.Clone(metadata)
	delete(rest, traceparentMember)
	delete(rest, tracestateMember)
	if len(rest) == 0 {
		return nil
	}
	return rest
}
