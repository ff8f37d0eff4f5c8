package rpc

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
)

// call is one request on its way to its one reply.
type call struct {
	server    *Server
	handler   handler
	id        string // as it was written
	params    []byte
	decoded   any            // params that were decoded when the request was read; nil: not yet
	bytes     int            // of decoded, as they came
	principal *hub.Principal // nil for authenticate on a fresh socket

	socket *socket     // nil over HTTP
	reply  chan answer // over HTTP; holds one
	plain  bool        // over plain HTTP: without the envelope of JSON-RPC
	key    string      // over plain HTTP, the header Idempotency-Key
	remote netip.Addr  // over HTTP
	file   int64       // bytes that come beside the params; -1: not known
	held   func()      // over HTTP: gives back the room of the answer; may be nil

	traceparent string      // of the connection or request, for params that name none
	span        parley.Span // nil where nobody is told of the call
}

// answered runs a call over HTTP and gives its answer: an empty one when its caller has gone.
func (c *call) answered(ctx context.Context) answer {
	c.reply = make(chan answer, 1)
	c.run(ctx)
	var a answer
	select {
	case a = <-c.reply:
	case <-ctx.Done():
		select {
		case a = <-c.reply: // it came first
		default:
		}
	}
	a.release = c.held
	return a
}

// run serves the call. A panic is answered.
func (c *call) run(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			c.server.log.Error("a handler panicked", "method", c.handler.name, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			c.refuse(parley.ErrInternal)
		}
	}()
	err := c.allowed()
	if err == nil && c.principal != nil && isWrite(c.handler) {
		err = c.server.rates.write(c.principal, c.carries())
	}
	if err != nil {
		c.refuse(err)
		return
	}
	c.handler.serve(ctx, c)
}

// carries is how many bytes the call brings.
func (c *call) carries() int {
	file := c.file
	if file < 0 {
		file = parley.MaxAttachmentBytes
	}
	return max(c.bytes, len(c.params)) + int(file)
}

// from is the address of the caller.
func (c *call) from() netip.Addr {
	if c.socket != nil {
		return c.socket.peer.from
	}
	return c.remote
}

// allowed refuses a caller whose token has ended or is without the scope of the method, before its params are looked at.
func (c *call) allowed() error {
	if c.principal == nil || c.handler.name == parley.MethodAuthenticate {
		return nil
	}
	if err := c.server.hub.Valid(c.principal); err != nil {
		return err
	}
	if c.principal.Has(c.handler.scope) {
		return nil
	}
	err := parley.Refuse(parley.ErrForbidden,
		fmt.Sprintf("%s needs the scope %s", c.handler.name, c.handler.scope), fmt.Sprintf("a token with scope %s", c.handler.scope))
	c.server.audit.refused(refusal{
		event: "scope_refused", from: c.from(), agent: c.principal.AgentID, tokenID: c.principal.TokenID, method: c.handler.name, err: err,
	})
	return err
}

// paramsOf gives the params of a call, which are a P.
func paramsOf[P any](c *call) (*P, error) {
	q, ok := c.decoded.(*P)
	if !ok {
		q = new(P)
		if err := c.decode(q); err != nil {
			return q, err
		}
	}
	c.begin(q)
	return q, nil
}

// decode reads the params.
func (c *call) decode(into any) error {
	err := wire.Decode(c.params, into)
	if err == nil && c.key != "" {
		return withKey(into, c.key)
	}
	return err
}

var errExpired = parley.Refuse(parley.ErrUnauthenticated, expiredToken, "a fresh token")

// untilExpiry ends ctx with the caller's token, so that nothing that waits outlives it, whatever token the socket has shown since.
func (c *call) untilExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.principal.ExpiresAt.IsZero() {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.principal.ExpiresAt.Sub(c.server.hub.Now()), errExpired)
}

// scratch are for encoding replies.
var scratch = sync.Pool{New: func() any {
	b := make([]byte, 0, 1<<10)
	return &b
}}

// succeed replies with what result writes.
func (c *call) succeed(result encoder) {
	answerWith(c, func(b []byte, result encoder) ([]byte, error) { return result(b) }, result)
}

// answerWith replies with a result, as encode writes it.
func answerWith[R any](c *call, encode func([]byte, R) ([]byte, error), r R) {
	s := scratch.Get().(*[]byte)
	b := (*s)[:0]
	var err error
	if c.plain {
		b, err = encode(b, r)
	} else {
		b, err = encode(wire.AppendResultHead(b, c.id), r)
		b = append(b, '}')
	}
	if err == nil {
		c.deliver(answer{status: http.StatusOK, body: b})
	}
	if cap(b) <= outboxKept {
		*s = b
		scratch.Put(s)
	}
	if err != nil {
		c.fail(fmt.Errorf("encode the result of %s: %w", c.handler.name, err))
	}
}

// fail replies with what err means to the caller, and logs it if it is a fault of the hub's own.
func (c *call) fail(err error) {
	if parley.ErrorRowOf(err).Err == parley.ErrInternal {
		c.server.log.Error("a call failed", "method", c.handler.name, "error", err)
	}
	c.refuse(err)
}

// refuse replies with what err means to the caller.
func (c *call) refuse(err error) {
	c.server.counters.refused(err)
	c.failed(err)
	if c.plain {
		c.deliver(problemOf(err))
		return
	}
	c.deliver(failure(c.id, err))
}

// deliver replies with a, whose body is the caller's again afterwards.
func (c *call) deliver(a answer) {
	c.ended() // before its caller can know, so that who goes on finds it told
	if c.socket != nil {
		c.socket.out.finish(c, a.body)
		return
	}
	a.body = bytes.Clone(a.body)
	select {
	case c.reply <- a:
	default: // answered already
	}
}

// page waits until what is read next can go out: over a socket it is the only one, and over HTTP one of few. The caller owes a release; over HTTP the
// room is given back when the answer has gone out.
func (c *call) page(ctx context.Context) (release func(), err error) {
	if c.socket != nil {
		if err := c.socket.page(ctx); err != nil {
			return nil, err
		}
		return c.socket.pageDone, nil
	}
	waiting, cancel := context.WithTimeout(ctx, c.server.opts.WriteTimeout)
	defer cancel()
	if c.held, err = c.server.pages.Acquire(waiting, c.principal.Account, 1); err != nil && ctx.Err() == nil {
		return nil, &parley.Error{Err: parley.ErrUnavailable, Message: "too many answers are on their way to readers that do not take them", RetryAfterMs: 1000}
	}
	return func() {}, err
}
