package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// requestInfo is the data of a request that the library does not pass to handlers.
type requestInfo struct {
	extra *protocol.RequestExtra
	// version is the protocol revision of the request.
	version      string
	capabilities clientCapabilities
	// listen is set for subscriptions/listen.
	listen *listen
	// offer is set for a tools/call whose answer may be a task.
	offer *taskOffer
}

type requestInfoKey struct{}

func requestInfoOf(ctx context.Context) *requestInfo {
	if o, ok := ctx.Value(requestInfoKey{}).(*requestInfo); ok {
		return o
	}
	return &requestInfo{}
}

// clientCapabilities are the capabilities that a request declares. Requests before revision
// 2026-07-28 declare none.
type clientCapabilities struct {
	Extensions  map[string]any `json:"extensions"`
	Elicitation *elicitation   `json:"elicitation"`
}

// elicitation without members means forms.
type elicitation struct {
	Form map[string]any `json:"form"`
	URL  map[string]any `json:"url"`
}

// supportsForms reports whether the client can show its user a form.
func (a *clientCapabilities) supportsForms() bool {
	return a.Elicitation != nil && (a.Elicitation.Form != nil || a.Elicitation.URL == nil)
}

func newRequestInfo(req protocol.Request) *requestInfo {
	o := &requestInfo{}
	if from, ok := req.(interface{ GetExtra() *protocol.RequestExtra }); ok {
		o.extra = from.GetExtra()
	}
	meta := metaOf(req.GetParams())
	if o.version, _ = meta[protocol.MetaKeyProtocolVersion].(string); o.version == "" {
		if s, ok := req.GetSession().(*protocol.ServerSession); ok && s.InitializeParams() != nil {
			o.version = s.InitializeParams().ProtocolVersion
		}
		return o
	}
	raw, err := json.Marshal(meta[protocol.MetaKeyClientCapabilities])
	if err != nil || json.Unmarshal(raw, &o.capabilities) != nil {
		o.capabilities = clientCapabilities{}
	}
	return o
}

// bindToRequest ends a call with the HTTP request that carried it, because the answer would reach
// no client. Effects at the hub remain. Notifications are not bound.
func (o *requestInfo) bindToRequest(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	request := RequestContext(o.extra)
	if request == nil || strings.HasPrefix(method, "notifications/") {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(request, func() { cancel(context.Cause(request)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

func metaOf(p protocol.Params) map[string]any {
	if p == nil || reflect.ValueOf(p).IsNil() {
		return nil
	}
	return p.GetMeta()
}

// receive is the middleware that handles every request before the library does.
func (s *Server) receive(next protocol.MethodHandler) protocol.MethodHandler {
	s.read = next
	return func(ctx context.Context, method string, req protocol.Request) (protocol.Result, error) {
		r, err := s.handle(ctx, method, req, next)
		if refused, ok := r.(*protocol.CallToolResult); ok && refused != nil && refused.IsError {
			if p, ok := req.GetParams().(*protocol.CallToolParamsRaw); ok {
				s.explainArguments(p.Name, refused)
			}
			shorten(refused)
		}
		return r, err
	}
}

// handle answers a request. It also answers after a panic, because the library would let it end the
// process.
func (s *Server) handle(ctx context.Context, method string, req protocol.Request,
	next protocol.MethodHandler) (r protocol.Result, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.opts.Logger.Error("an MCP handler panicked", "method", method, "panic", fmt.Sprint(fault), "stack",
				string(debug.Stack()))
			r, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: parley.ErrInternal.Error()}
		}
	}()
	if p, ok := req.GetParams().(*protocol.CallToolParamsRaw); ok && p != nil {
		p.Arguments = withoutNulls(p.Arguments, s.arguments[p.Name])
	}
	o := newRequestInfo(req)
	ctx, end := o.bindToRequest(ctx, method)
	defer end()
	ctx, endSpan := o.startRequestSpan(ctx, method, req)
	defer func() { endSpan(r, err) }()
	ctx = context.WithValue(ctx, requestInfoKey{}, o)
	if handle, ok := s.handlers[method]; ok {
		return handle(ctx, o, req, next)
	}
	return next(ctx, method, req)
}

// maxErrorChars limits the text of an error.
const maxErrorChars = 8000

// shorten cuts the texts of a result to maxErrorChars.
func shorten(r *protocol.CallToolResult) {
	for _, c := range r.Content {
		if t, ok := c.(*protocol.TextContent); ok {
			t.Text = cut(t.Text, maxErrorChars)
		}
	}
}

// methodHandler handles a method. It may call the handler of the library.
type methodHandler func(ctx context.Context, o *requestInfo, req protocol.Request,
	next protocol.MethodHandler) (protocol.Result, error)

// protocolError converts an error of the hub for methods other than tools/call.
func protocolError(err error, h hints) error {
	code := int64(jsonrpc.CodeInternalError)
	switch parley.ErrorRowOf(err).Err {
	case parley.ErrNotFound, parley.ErrValidationFailed, parley.ErrInvalidRequest, parley.ErrCursorAhead:
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: explain(err, h).Error()}
}

// jsonText returns v as JSON. All callers pass values that can be encoded.
func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(raw)
}
