package calls

import (
	"context"
	"errors"
	"log/slog"
	"reflect"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/admission"
)

// ErrSocketEnded is the error of waits for a socket after its end.
var ErrSocketEnded = errors.New("the socket is closed")

// ErrNoSuchMethod refuses a method that does not exist.
var ErrNoSuchMethod = parley.Refuse(parley.ErrMethodNotFound,
	"there is no such method", "a method of protocol.md, section 12")

// Handler serves a method.
type Handler struct {
	Name  string
	Scope parley.Scope
	// NeedsSocket is true for methods that are not served over HTTP.
	NeedsSocket bool
	// Waits is true if Serve may block. A socket then runs it on its own goroutine; all others run where
	// the request was read.
	Waits bool
	// Params and Result are the types of the params and the result. The schemas are generated from them.
	Params, Result reflect.Type

	// Decode decodes params. Its result does not refer to data.
	Decode func(data []byte) (any, error)
	Serve  func(ctx context.Context, c *Call)
}

// isWrite reports whether the rates of an account count the method as a write.
func (h *Handler) isWrite() bool {
	switch h.Scope {
	case parley.ScopeWrite, parley.ScopeCreate, parley.ScopeClaim, parley.ScopeApprove:
		return true
	}
	return h.Name == methods.CreateToken || h.Name == methods.CreateTicket
}

// Table has a handler for each method of methods.Table, by name: see protocol.md, section 12.
type Table map[string]Handler

// NewTable returns the table of all methods. The handlers of the methods for sockets are those of
// the caller. It panics if a method has no handler, or a handler no method.
func NewTable(forSockets Table) Table {
	t := newHandlers()
	for name, h := range forSockets {
		t[name] = h
	}
	for _, m := range methods.Table {
		h, ok := t[m.Name]
		if !ok || h.Params == nil || h.Result == nil {
			panic("calls: no complete handler for " + m.Name)
		}
		h.Name, h.Scope, h.NeedsSocket = m.Name, m.Scope, m.Socket
		t[m.Name] = h
	}
	if len(methods.Table) != len(t) {
		panic("calls: a handler for a method that is not in methods.Table")
	}
	return t
}

// NewHandler returns a handler that decodes params of type P and answers with an R, which may be a
// pointer. It refuses invalid params, and starts the span of the call before serve.
func NewHandler[P, R any](waits bool, serve func(ctx context.Context, c *Call, q *P)) Handler {
	h := Handler{Waits: waits, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R]()}
	if h.Result.Kind() == reflect.Pointer {
		h.Result = h.Result.Elem()
	}
	h.Decode = func(data []byte) (any, error) {
		q := new(P)
		return q, wire.Decode(data, q)
	}
	h.Serve = func(ctx context.Context, c *Call) {
		q, ok := c.Decoded.(*P)
		if !ok {
			q = new(P)
			if err := c.DecodeParams(q); err != nil {
				c.Refuse(err)
				return
			}
		}
		c.startSpan(q)
		serve(ctx, c, q)
	}
	return h
}

// An Encoder appends a result.
type Encoder func(b []byte) ([]byte, error)

// JSON returns an encoder of v.
func JSON(v any) Encoder {
	return func(b []byte) ([]byte, error) { return AppendJSON(b, v) }
}

// writeFunc is a method of the hub that answers through a callback.
type writeFunc[P, R any] = func(h *hub.Hub, p *hub.Principal, q *P, done func(R, error))

// newWrite returns a handler for a method of the hub that answers through a callback.
func newWrite[P, R any](f writeFunc[P, R], encode func([]byte, R) ([]byte, error)) Handler {
	return NewHandler[P, R](false, func(_ context.Context, c *Call, q *P) { runWrite(c, f, q, encode) })
}

func runWrite[P, R any](c *Call, f writeFunc[P, R], q *P, encode func([]byte, R) ([]byte, error)) {
	f(c.Hub(), c.Principal, q, func(r R, err error) {
		if err != nil {
			if errors.Is(err, parley.ErrForbidden) { // more than the token or the participant may do
				c.dispatcher.Admission.Audit.Refuse("call_refused", c.Actor(), err, "")
			}
			c.Fail(err)
			return
		}
		c.auditResult(q, r)
		c.setSpanResult(r)
		succeedWith(c, encode, r)
	})
}

// auditResult audits the results of the methods for tokens.
func (c *Call) auditResult(params, result any) {
	switch r := result.(type) {
	case parley.CreateTokenResult:
		c.dispatcher.Admission.Audit.Grant("token_created", c.Actor(),
			slog.String("madeTokenId", admission.Untrusted(r.TokenID)),
			slog.String("madeFor", admission.Untrusted(params.(*parley.CreateTokenParams).AgentID)))
	case parley.RevokeTokenResult:
		for _, id := range r.Revoked {
			c.dispatcher.Admission.Audit.Grant("token_revoked", c.Actor(),
				slog.String("revokedTokenId", admission.Untrusted(id)))
		}
	}
}

func encodeSeqResult(b []byte, r parley.SeqResult) ([]byte, error) { return appendSeqResult(b, r), nil }

func encodeSendResult(b []byte, r parley.SendResult) ([]byte, error) {
	return appendSendResult(b, r), nil
}

func encodeJSON[R any](b []byte, r R) ([]byte, error) { return AppendJSON(b, r) }

// Reader is a method that may wait. It calls Call.WaitForPage at most once, before it reads data that
// may be large. Its encoder encodes an R.
type Reader[P, R any] func(ctx context.Context, c *Call, q *P) (Encoder, error)

// NewRead returns a handler for a reader.
func NewRead[P, R any](read Reader[P, R]) Handler {
	return NewHandler[P, R](true, func(ctx context.Context, c *Call, q *P) {
		defer c.endSpan()
		untilExpiry, cancel := c.WithExpiry(ctx)
		defer cancel()
		release := func() {}
		defer func() { release() }()
		c.waitForPage = func() error {
			done, err := c.acquirePage(ctx)
			if err == nil {
				release = done
			}
			return err
		}
		result, err := read(untilExpiry, c, q)
		expired := err != nil && context.Cause(untilExpiry) == admission.ErrExpired
		if expired && !errors.Is(err, parley.ErrOutcomeUnknown) {
			err = admission.ErrExpired
		}
		if ctx.Err() != nil || errors.Is(err, ErrSocketEnded) {
			return // the peer has left
		}
		if err != nil {
			c.Fail(err)
			return
		}
		c.Succeed(result)
	})
}

// readFunc is a method of the hub that may wait.
type readFunc[P, R any] = func(*hub.Hub, context.Context, *hub.Principal, *P) (R, error)

// small returns a reader for a method with a small result.
func small[P, R any](f readFunc[P, R]) Reader[P, R] {
	return func(ctx context.Context, c *Call, q *P) (Encoder, error) {
		r, err := f(c.Hub(), ctx, c.Principal, q)
		return JSON(r), err
	}
}

// gated returns a reader that waits for a page first. It is for a method that does not wait itself.
func gated[P, R any](read Reader[P, R]) Reader[P, R] {
	return func(ctx context.Context, c *Call, q *P) (Encoder, error) {
		if err := c.WaitForPage(ctx); err != nil {
			return nil, err
		}
		return read(ctx, c, q)
	}
}

// waiting returns a reader that waits for a page after the method, so that the caller can read other
// things while the method waits.
func waiting[P, R any](f readFunc[P, R]) Reader[P, R] {
	return func(ctx context.Context, c *Call, q *P) (Encoder, error) {
		r, err := f(c.Hub(), ctx, c.Principal, q)
		if err == nil {
			err = c.WaitForPage(ctx)
		}
		return JSON(r), err
	}
}

// KeyHeader is the header for the param clientRequestId over plain HTTP.
const KeyHeader = "Idempotency-Key"

// setKey sets the param clientRequestId to the key of the header. The param must be empty or the same.
func setKey(params any, key string) error {
	field := reflect.ValueOf(params).Elem().FieldByName("ClientRequestID")
	if given := field.String(); given != "" && given != key {
		return parley.Refuse(parley.ErrInvalidParams,
			"clientRequestId is not what the header "+KeyHeader+" says", "one of them, or both the same")
	}
	field.SetString(key)
	return nil
}
