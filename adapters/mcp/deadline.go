package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// Limits of a request to a hub that does not answer. Without them, a client of the hub waits
// forever.
const (
	// DefaultCallTimeout limits calls that do not wait for other participants.
	DefaultCallTimeout = 30 * time.Second
	// grace is added to the wait of a call, for the way of the answer after the hub ends the wait.
	grace = 5 * time.Second
)

// hubUnreachable is the message when the hub does not answer in time.
const hubUnreachable = "the hub cannot be reached at the moment"

// callTimeout returns the limit of a call that does not wait. It is never above that of a call that
// waits as long as possible.
func (o *Options) callTimeout() time.Duration {
	if o.CallTimeout > 0 {
		return o.CallTimeout
	}
	return min(DefaultCallTimeout, o.MaxWait+grace)
}

// waiter is implemented by the arguments of tools that wait.
type waiter interface{ waitSeconds() float64 }

func (in *waitArgs) waitSeconds() float64 { return in.WaitSeconds }

func (in *sessionArgs) waitSeconds() float64 { return in.WaitSeconds }

func (in *startArgs) waitSeconds() float64 {
	if in.Mode != string(parley.ModeSync) {
		return 0
	}
	return in.WaitSeconds
}

// unreachedResult is implemented by the arguments of tools that return a result, not an error, when
// the hub does not answer in time.
type unreachedResult[Out toolResult] interface {
	unreached(c *call, waited time.Duration) Out
}

// timeout returns the limit of a call with these arguments.
func (c *call) timeout(in any) time.Duration {
	most := c.server.opts.CallTimeout
	w, ok := in.(waiter)
	if !ok {
		return most
	}
	wait := c.wait(w.waitSeconds()) + min(grace, most)
	if _, ok := in.(*waitArgs); ok {
		return wait
	}
	return max(wait, most) // the tool makes a call first, then waits
}

// postAnswer connects to the hub and runs a tool within the limit of the call.
func answer[In any, Out toolResult](ctx context.Context, c *call, in *In, f func(context.Context, *call, *In) (Out,
	error)) (out Out, err error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeout(in))
	defer cancel()
	client, release, err := c.server.opts.Connect(ctx, c.req.Extra)
	if err == nil {
		defer release()
		c.client = client
		out, err = f(ctx, c, in)
	} else {
		err = explain(err, hints{})
	}
	if !isTimeout(ctx, err) {
		return out, err
	}
	if u, ok := any(in).(unreachedResult[Out]); ok {
		return u.unreached(c, time.Since(start)), nil
	}
	return out, c.timeoutError(err)
}

// isTimeout reports whether a call failed because its time was over.
func isTimeout(ctx context.Context, err error) bool {
	return ctx.Err() == context.DeadlineExceeded && (errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, parley.ErrUnavailable))
}

// timeoutError explains a call that timed out. It reports an unknown outcome if the call may have
// had an effect.
func (c *call) timeoutError(err error) error {
	var f *failure
	if errors.Is(err, parley.ErrOutcomeUnknown) && errors.As(err, &f) {
		_, next, _ := strings.Cut(f.text, "\n")
		return &failure{err, fmt.Sprintf("%v: %s.\n%s", parley.ErrOutcomeUnknown, hubUnreachable, next)}
	}
	if c.tool.hint.destructive { // such a call has no key, and a repeated call does not report an earlier one
		return explain(parley.Refuse(parley.ErrOutcomeUnknown, hubUnreachable, ""), hints{})
	}
	return explain(parley.Refuse(parley.ErrUnavailable, hubUnreachable, ""), hints{})
}

// hubMethods are the methods other than tools/call that need the hub, with the error after a
// timeout.
var hubMethods = map[string]error{
	"resources/list": parley.ErrUnavailable, "resources/read": parley.ErrUnavailable, "prompts/get": parley.ErrUnavailable,
	"tasks/get":    parley.ErrUnavailable,
	"tasks/update": parley.ErrOutcomeUnknown, "tasks/cancel": parley.ErrOutcomeUnknown,
}

// limitTime is the middleware that limits the time of hubMethods.
func (s *Server) limitTime(next protocol.MethodHandler) protocol.MethodHandler {
	return func(ctx context.Context, method string, req protocol.Request) (r protocol.Result, err error) {
		reason, ok := hubMethods[method]
		if !ok {
			return next(ctx, method, req)
		}
		err = s.withTimeout(ctx, reason, func(ctx context.Context) (err error) {
			r, err = next(ctx, method, req)
			return err
		})
		return r, err
	}
}

// subscribe adds the time limit to the subscribe of the subscriptions.
func (s *Server) subscribe(ctx context.Context, req *protocol.SubscribeRequest) error {
	return s.withTimeout(ctx, parley.ErrUnavailable, func(ctx context.Context) error { return s.subs.subscribe(ctx, req) })
}

func (s *Server) withTimeout(ctx context.Context, reason error, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	err := do(ctx)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return protocolError(parley.Refuse(reason, hubUnreachable, ""), hints{})
	}
	return err
}
