// Package calls runs the methods of a hub. It owns the method table, the life of a call from its
// params to its one answer, the encoding of answers, and the counters of refusals.
//
// It does not know how a call arrives. A transport verifies the caller, builds a Request, and gets
// the answer in one of two ways: as a frame of a Socket, or from Await:
//
//	c := dispatcher.NewCall(calls.Request{Handler: h, Principal: p, Params: body, From: address})
//	a := c.Await(ctx) // over HTTP
//	c.Run(ctx)        // over a socket: calls Socket.Finish
//
// Handlers run on the goroutine of Run, except that a callback of the hub may answer later.
package calls

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/quota"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/admission"
)

// The most answers with events, of at most [limits.MaxPageBytes] each, that are on their way over
// HTTP: of all accounts, and of one. A socket has one at a time.
const (
	maxPages          = 512
	maxPagesOfAccount = 16
)

// maxScratch is the largest buffer that is used again.
const maxScratch = 64 << 10

// Options of a Dispatcher.
type Options struct {
	Hub       *hub.Hub
	Admission *admission.Controller
	Log       *slog.Logger
	Tracer    parley.Tracer // may be nil
	// PageTimeout is how long a read over HTTP waits for the right to send its answer.
	PageTimeout time.Duration
	// AddStats adds the counters of the server to those of the hub.
	AddStats func(*parley.Stats)
}

// Dispatcher creates calls.
type Dispatcher struct {
	Options
	pages    *quota.Quota             // of answers over HTTP that are on their way, by account
	refusals map[string]*atomic.Int64 // by reason, one for each of parley.Errors; the map does not change
}

// NewDispatcher returns a dispatcher.
func NewDispatcher(o Options) *Dispatcher {
	d := &Dispatcher{Options: o, pages: quota.New(maxPages, maxPagesOfAccount)}
	d.refusals = make(map[string]*atomic.Int64, len(parley.Errors))
	for _, row := range parley.Errors {
		d.refusals[row.Reason()] = new(atomic.Int64)
	}
	return d
}

// CountRefusal counts a call or a request that is answered with err.
func (d *Dispatcher) CountRefusal(err error) { d.refusals[parley.ErrorRowOf(err).Reason()].Add(1) }

// Refusals returns the counts of refusals by reason, without zeros.
func (d *Dispatcher) Refusals() map[string]int64 {
	counts := map[string]int64{}
	for reason, count := range d.refusals {
		if n := count.Load(); n > 0 {
			counts[reason] = n
		}
	}
	return counts
}

// Socket is the WebSocket of a call.
type Socket interface {
	// Finish sends the answer of a call. The frame belongs to the caller again after the return.
	Finish(c *Call, frame []byte)
	// AcquirePage waits until a page of events can be sent. It fails with ErrSocketEnded or that of ctx.
	AcquirePage(ctx context.Context) (release func(), err error)
	// AcquireExplain waits for the one slot for explainTriggers.
	AcquireExplain(ctx context.Context) (release func(), err error)
}

// Request is the input of a call.
type Request struct {
	Handler   Handler
	ID        string // of the JSON-RPC request, as written
	Params    []byte
	Decoded   any            // the params, if they were decoded when the request was read
	Size      int            // bytes of Decoded, before decoding
	Principal *hub.Principal // nil for authenticate on a new socket

	Socket Socket // nil over HTTP
	From   netip.Addr
	Plain  bool   // plain HTTP: the answer has no JSON-RPC envelope
	Key    string // plain HTTP: the header Idempotency-Key
	File   int64  // bytes of a file beside the params; -1: not known

	Traceparent string // of the connection or request, for params without one
}

// Call is one request on its way to its one answer.
type Call struct {
	Request
	dispatcher  *Dispatcher
	answer      chan Answer  // over HTTP; has room for one
	release     func()       // over HTTP: releases the room of the answer; may be nil
	waitForPage func() error // of a Reader
	span        parley.Span  // nil if the call is not traced
}

// NewCall returns a call for a request.
func (d *Dispatcher) NewCall(r Request) *Call { return &Call{Request: r, dispatcher: d} }

// Hub returns the hub of the call.
func (c *Call) Hub() *hub.Hub { return c.dispatcher.Hub }

// Await runs a call over HTTP and returns its answer. The answer is empty if the peer has left.
func (c *Call) Await(ctx context.Context) Answer {
	c.answer = make(chan Answer, 1)
	c.Run(ctx)
	var a Answer
	select {
	case a = <-c.answer:
	case <-ctx.Done():
		select {
		case a = <-c.answer: // it came before the end of ctx
		default:
		}
	}
	a.Release = c.release
	return a
}

// Run serves the call. The peer gets an answer even if the handler panics.
func (c *Call) Run(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			c.dispatcher.Log.Error("a handler panicked",
				"method", c.Handler.Name, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			c.Refuse(parley.ErrInternal)
		}
	}()
	err := c.CheckAllowed()
	if err == nil && c.Principal != nil && c.Handler.isWrite() {
		err = c.dispatcher.Admission.Rates.CountWrite(c.Principal, c.size())
	}
	if err != nil {
		c.Refuse(err)
		return
	}
	c.Handler.Serve(ctx, c)
}

// size returns the number of bytes that the call brings.
func (c *Call) size() int {
	file := c.File
	if file < 0 {
		file = parley.MaxAttachmentBytes
	}
	return max(c.Size, len(c.Params)) + int(file)
}

// CheckAllowed refuses a caller whose token is no longer valid, or lacks the scope of the method. It is
// called before the params are read.
func (c *Call) CheckAllowed() error {
	if c.Principal == nil || c.Handler.Name == methods.Authenticate {
		return nil
	}
	if err := c.Hub().Valid(c.Principal); err != nil {
		return err
	}
	if c.Principal.Has(c.Handler.Scope) {
		return nil
	}
	err := parley.Refuse(parley.ErrForbidden,
		fmt.Sprintf("%s needs the scope %s", c.Handler.Name, c.Handler.Scope),
		fmt.Sprintf("a token with scope %s", c.Handler.Scope))
	c.dispatcher.Admission.Audit.Refuse("scope_refused", c.Actor(), err, "")
	return err
}

// Actor returns the caller for the audit.
func (c *Call) Actor() admission.Actor {
	return admission.NewActor(c.Principal, c.From, c.Handler.Name)
}

// DecodeParams decodes the params, with the Idempotency-Key.
func (c *Call) DecodeParams(into any) error {
	err := wire.Decode(c.Params, into)
	if err == nil && c.Key != "" {
		return setKey(into, c.Key)
	}
	return err
}

// WithExpiry ends ctx with the token of the call, so that no wait outlives it. The token that the
// socket has shown later does not matter.
func (c *Call) WithExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Principal.ExpiresAt.IsZero() {
		return ctx, func() {}
	}
	left := c.Principal.ExpiresAt.Sub(c.Hub().Now())
	return context.WithTimeoutCause(ctx, left, admission.ErrExpired)
}

// WaitForPage waits until an answer with events can be sent. A Reader calls it. Its signature is that
// of the callback of hub.GetUpdatesWhen; the wait ends with the call, not with the token.
func (c *Call) WaitForPage(context.Context) error { return c.waitForPage() }

// acquirePage waits until the answer with the events that are read next can be sent. The caller must
// call release. Over HTTP, the answer releases the room when it has been sent.
func (c *Call) acquirePage(ctx context.Context) (release func(), err error) {
	if c.Socket != nil {
		return c.Socket.AcquirePage(ctx)
	}
	waiting, cancel := context.WithTimeout(ctx, c.dispatcher.PageTimeout)
	defer cancel()
	c.release, err = c.dispatcher.pages.Acquire(waiting, c.Principal.Account, 1)
	if err != nil && ctx.Err() == nil {
		return nil, &parley.Error{
			Err: parley.ErrUnavailable, RetryAfterMs: admission.RetryMs,
			Message: "too many answers are on their way to readers that do not take them",
		}
	}
	return func() {}, err
}

// scratch has buffers for the encoding of answers.
var scratch = sync.Pool{New: func() any {
	b := make([]byte, 0, 1<<10)
	return &b
}}

// Succeed answers with a result.
func (c *Call) Succeed(result Encoder) {
	succeedWith(c, func(b []byte, result Encoder) ([]byte, error) { return result(b) }, result)
}

// succeedWith answers with a result that encode encodes. Unlike Succeed it allocates no closure.
func succeedWith[R any](c *Call, encode func([]byte, R) ([]byte, error), r R) {
	s := scratch.Get().(*[]byte)
	b := (*s)[:0]
	var err error
	if c.Plain {
		b, err = encode(b, r)
	} else {
		b, err = encode(wire.AppendResultHead(b, c.ID), r)
		b = append(b, '}')
	}
	if err == nil {
		c.deliver(Answer{Status: http.StatusOK, Body: b})
	}
	if cap(b) <= maxScratch {
		*s = b
		scratch.Put(s)
	}
	if err != nil {
		c.Fail(fmt.Errorf("encode the result of %s: %w", c.Handler.Name, err))
	}
}

// Fail answers with an error of the hub. It logs internal errors.
func (c *Call) Fail(err error) {
	if parley.ErrorRowOf(err).Err == parley.ErrInternal {
		c.dispatcher.Log.Error("a call failed", "method", c.Handler.Name, "error", err)
	}
	c.Refuse(err)
}

// Refuse answers with an error.
func (c *Call) Refuse(err error) {
	c.dispatcher.CountRefusal(err)
	c.failSpan(err)
	if c.Plain {
		c.deliver(Problem(err))
		return
	}
	c.deliver(Failure(c.ID, err))
}

// deliver sends an answer, and copies its body. The first answer of a call counts.
func (c *Call) deliver(a Answer) {
	c.endSpan() // before the answer, so that a caller with the answer finds the span
	if c.Socket != nil {
		c.Socket.Finish(c, a.Body)
		return
	}
	a.Body = bytes.Clone(a.Body)
	select {
	case c.answer <- a:
	default: // answered already
	}
}
