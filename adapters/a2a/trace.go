package a2a

import (
	"maps"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// The names of W3C Trace Context in the metadata of a message and in HTTP headers.
const (
	traceparentMember = "traceparent"
	tracestateMember  = "tracestate"
	traceparentHeader = "Traceparent"
)

// spanNames are the operations with a span, by their names in version 1.0. The others only read.
var spanNames = map[operation]string{opSend: "SendMessage", opStream: "SendStreamingMessage", opCancel: "CancelTask"}

// startSpan starts the span of a request, which end ends. Calls to the hub continue it. Its parent
// is the span in the metadata of the message, otherwise that of the header. Invalid values are
// ignored.
func (x *httpCall) startSpan(o operation, req any) (end func()) {
	parent := traceparentIn(req)
	if values := x.r.Header.Values(traceparentHeader); parent == "" && len(values) == 1 &&
		parley.ValidTraceparent(values[0]) {
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

// failSpan records the error of the request in the span.
func (x *httpCall) failSpan(f *protocolError) {
	if x.span != nil {
		x.span.Fail(f.reason)
	}
}

// traceparentIn returns the traceparent in the metadata of a message or its request, or "".
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

// withoutTrace returns the metadata of a message without the span of its call. A repeated message
// has another span, but must be equal.
func withoutTrace(metadata map[string]any) map[string]any {
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
