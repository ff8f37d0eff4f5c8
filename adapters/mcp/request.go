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

// origin is what is known of the request that a handler works for, where the library does not hand it on.
type origin struct {
	extra *protocol.RequestExtra
	// version is the revision of the protocol that the request is of.
	version string
	able    abilities
	// listen is set below subscriptions/listen.
	listen *listen
	// offer is set below tools/call, where the answer may be a task.
	offer *offer
}

type originKey struct{}

func originOf(ctx context.Context) *origin {
	if o, ok := ctx.Value(originKey{}).(*origin); ok {
		return o
	}
	return &origin{}
}

// abilities are what a client says, with a request, that it can do. Before 2026-07-28 no request says it.
type abilities struct {
	Extensions  map[string]any `json:"extensions"`
	Elicitation *elicitation   `json:"elicitation"`
}

// elicitation with nothing in it means forms.
type elicitation struct {
	Form map[string]any `json:"form"`
	URL  map[string]any `json:"url"`
}

// forms reports whether the client can ask its user something.
func (a *abilities) forms() bool {
	return a.Elicitation != nil && (a.Elicitation.Form != nil || a.Elicitation.URL == nil)
}

func newOrigin(req protocol.Request) *origin {
	o := &origin{}
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
	if err != nil || json.Unmarshal(raw, &o.able) != nil {
		o.able = abilities{}
	}
	return o
}

// bound ends a call with the HTTP request by which it has come: nobody would be there to be answered. What it has done at the hub stands. A notification is none.
func (o *origin) bound(ctx context.Context, method string) (context.Context, context.CancelFunc) {
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

// receive looks at every request before the library's handlers do.
func (s *Server) receive(next protocol.MethodHandler) protocol.MethodHandler {
	s.read = next
	return func(ctx context.Context, method string, req protocol.Request) (protocol.Result, error) {
		r, err := s.guarded(ctx, method, req, next)
		if refused, ok := r.(*protocol.CallToolResult); ok && refused != nil && refused.IsError {
			if p, ok := req.GetParams().(*protocol.CallToolParamsRaw); ok {
				s.tellArguments(p.Name, refused)
			}
			shorten(refused)
		}
		return r, err
	}
}

// guarded answers a request. A panic is answered too: the library runs it on a goroutine on which it would end the process.
func (s *Server) guarded(ctx context.Context, method string, req protocol.Request, next protocol.MethodHandler) (r protocol.Result, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.opts.Logger.Error("an MCP handler panicked", "method", method, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			r, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: parley.ErrInternal.Error()}
		}
	}()
	if p, ok := req.GetParams().(*protocol.CallToolParamsRaw); ok && p != nil {
		p.Arguments = withoutNulls(p.Arguments, s.arguments[p.Name])
	}
	o := newOrigin(req)
	ctx, end := o.bound(ctx, method)
	defer end()
	ctx, tell := o.traced(ctx, method, req)
	defer func() { tell(r, err) }()
	ctx = context.WithValue(ctx, originKey{}, o)
	if meet, ok := s.meets[method]; ok {
		return meet(ctx, o, req, next)
	}
	return next(ctx, method, req)
}

// maxErrorChars bounds the text of an error.
const maxErrorChars = 8000

// shorten cuts the text of a result.
func shorten(r *protocol.CallToolResult) {
	for _, c := range r.Content {
		if t, ok := c.(*protocol.TextContent); ok {
			t.Text = cut(t.Text, maxErrorChars)
		}
	}
}

// meeting handles a method, with the library's handler at hand.
type meeting func(ctx context.Context, o *origin, req protocol.Request, next protocol.MethodHandler) (protocol.Result, error)

// fault is an error of the hub as an error of the protocol, for what is no tool.
func fault(err error, h hints) error {
	code := int64(jsonrpc.CodeInternalError)
	switch parley.ErrorRowOf(err).Err {
	case parley.ErrNotFound, parley.ErrValidationFailed, parley.ErrInvalidRequest, parley.ErrCursorAhead:
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: explained(err, h).Error()}
}

// encoded is v as JSON text. What is given here always has one.
func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(raw)
}
