package mcp

import (
	"context"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// The names of W3C Trace Context, in the _meta of a request and among the headers of HTTP.
const (
	traceparentMeta   = "traceparent"
	traceparentHeader = "Traceparent"
)

// parentOf gives the traceparent of a request: that in its _meta, which the client has written for this very request, else that of the header. One that is not valid is as none.
func (o *origin) parentOf(req protocol.Request) string {
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

// traced gives the context in which a request is served: what it does at the hub goes on in the client's spans. A call of a tool has a span of its own, which tell ends.
func (o *origin) traced(ctx context.Context, method string, req protocol.Request) (_ context.Context, tell func(protocol.Result, error)) {
	if request := RequestContext(o.extra); request != nil && parley.TracerOf(request) != nil { // ctx may be of the request that has begun the session
		ctx = parley.WithTracer(ctx, parley.TracerOf(request))
	}
	parent := o.parentOf(req)
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

// maxToolChars bounds the name of a tool in a span: the name may be anything that a client sends.
const maxToolChars = 64
