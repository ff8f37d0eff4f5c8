package mcp

import (
	"context"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// The names of W3C Trace Context in the _meta of a request and in HTTP headers.
const (
	traceparentMeta   = "traceparent"
	traceparentHeader = "Traceparent"
)

// traceparentOf returns the traceparent of a request. The one in _meta belongs to this request and
// has precedence over the header. Invalid values are ignored.
func (o *requestInfo) traceparentOf(req protocol.Request) string {
	if s, _ := metaOf(req.GetParams())[traceparentMeta].(string); parley.ValidTraceparent(s) {
		return s
	}
	if o.extra == nil || len(o.extra.Header.Values(traceparentHeader)) != 1 {
		return ""
	}
	if s := o.extra.Header.Get(traceparentHeader); parley.ValidTraceparent(s) {
		return s
	}
	return ""
}

// startRequestSpan returns the context in which a request is handled, so that calls to the hub
// continue the spans of the client. A tool call has a separate span, which end ends.
func (o *requestInfo) startRequestSpan(ctx context.Context, method string, req protocol.Request) (_ context.Context,
	end func(protocol.Result, error)) {
	// ctx may belong to the request that started the session
	if request := RequestContext(o.extra); request != nil && parley.TracerOf(request) != nil {
		ctx = parley.WithTracer(ctx, parley.TracerOf(request))
	}
	parent := o.traceparentOf(req)
	call, ok := req.GetParams().(*protocol.CallToolParamsRaw)
	if !ok || call == nil {
		return parley.WithTraceparent(ctx, parent), func(protocol.Result, error) {}
	}
	ctx, span := parley.StartSpan(ctx, parley.SpanStart{
		Name: spannames.SpanMCP + method, Kind: parley.SpanServer, Parent: parent,
		Attributes: []parley.Attribute{
			{Key: spannames.AttrMCPMethodName, Value: method},
			{Key: spannames.AttrDoor, Value: "mcp"},
			{Key: spannames.AttrGenAIOperationName, Value: spannames.OperationExecuteTool},
			{Key: spannames.AttrGenAIToolName, Value: cut(call.Name, maxToolChars)},
		},
	})
	return ctx, func(r protocol.Result, err error) {
		if refused, is := r.(*protocol.CallToolResult); err != nil || is && refused != nil && refused.IsError {
			span.Fail("tool_error")
		}
		span.End()
	}
}

// maxToolChars limits the tool name in a span. The client may send any name.
const maxToolChars = 64
