package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	id        []byte
	params    []byte
	principal *hub.Principal // nil for authenticate on a fresh socket

	socket *socket     // nil over HTTP
	reply  chan answer // over HTTP; holds one
}

// answer is the reply of a call over HTTP.
type answer struct {
	status int
	body   []byte
}

// run serves the call. A panic is answered.
func (c *call) run(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			c.server.log.Error("a handler panicked", "method", c.handler.name, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			c.refuse(parley.ErrInternal)
		}
	}()
	if err := c.allowed(); err != nil {
		c.refuse(err)
		return
	}
	c.handler.serve(ctx, c)
}

// allowed refuses a caller without the scope of the method, before its params are looked at.
func (c *call) allowed() error {
	if c.principal == nil || c.principal.Has(c.handler.scope) {
		return nil
	}
	return parley.Refuse(parley.ErrForbidden,
		fmt.Sprintf("%s needs the scope %s", c.handler.name, c.handler.scope), fmt.Sprintf("a token with scope %s", c.handler.scope))
}

// decode reads the params.
func (c *call) decode(into any) error {
	err := wire.Decode(c.params, into)
	var p *wire.ParamError
	if errors.As(err, &p) {
		return laterParam(c.handler.name, p)
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

// succeed replies with a result.
func (c *call) succeed(result func(b []byte) ([]byte, error)) {
	s := scratch.Get().(*[]byte)
	b, err := result(wire.AppendResultHead((*s)[:0], c.id))
	if err == nil {
		b = append(b, '}')
		c.deliver(b, http.StatusOK)
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
	c.deliver(appendFailure(nil, c.id, parley.ToWire(err)), parley.ErrorRowOf(err).HTTP)
}

func (c *call) deliver(frame []byte, status int) {
	if c.socket != nil {
		c.socket.out.finish(c, frame)
		return
	}
	select {
	case c.reply <- answer{status, append([]byte(nil), frame...)}:
	default: // answered already
	}
}

// page waits, over a socket, until what is read next can go out. The caller owes a release.
func (c *call) page(ctx context.Context) (release func(), err error) {
	if c.socket == nil {
		return func() {}, ctx.Err()
	}
	return c.socket.page(ctx)
}
