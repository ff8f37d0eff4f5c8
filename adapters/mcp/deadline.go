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

// How long a request may take when the hub does not answer. A client of the hub would wait for it for ever.
const (
	// DefaultCallTimeout is for what does not wait for others.
	DefaultCallTimeout = 30 * time.Second
	// grace is how much longer than it waits a call may take: the hub ends the wait, and its answer is on the way for a moment.
	grace = 5 * time.Second
)

// notReached is what is said of the hub when it has not answered in time.
const notReached = "the hub cannot be reached at the moment"

// callTimeout is the bound of a call that does not wait. No call takes longer than one that waits as long as it may.
func (o *Options) callTimeout() time.Duration {
	if o.CallTimeout > 0 {
		return o.CallTimeout
	}
	return min(DefaultCallTimeout, o.MaxWait+grace)
}

// waiting is what the arguments of tools have that wait: for how many seconds.
type waiting interface{ waits() float64 }

func (in *waitArgs) waits() float64 { return in.WaitSeconds }

func (in *sessionArgs) waits() float64 { return in.WaitSeconds }

func (in *startArgs) waits() float64 {
	if in.Mode != string(parley.ModeSync) {
		return 0
	}
	return in.WaitSeconds
}

// unreached is what the arguments of a tool have that has an answer to give when the hub was not reached in time.
type unreached[Out said] interface {
	unreached(c *call, waited time.Duration) Out
}

// timeout is how long a call with these arguments may take.
func (c *call) timeout(in any) time.Duration {
	most := c.server.opts.CallTimeout
	w, ok := in.(waiting)
	if !ok {
		return most
	}
	wait := c.wait(w.waits()) + min(grace, most)
	if _, ok := in.(*waitArgs); ok {
		return wait
	}
	return max(wait, most) // it asks, and waits after that
}

// answer connects to the hub and does what a tool does, in the time of the call.
func answer[In any, Out said](ctx context.Context, c *call, in *In, f func(context.Context, *call, *In) (Out, error)) (out Out, err error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeout(in))
	defer cancel()
	client, release, err := c.server.opts.Connect(ctx, c.req.Extra)
	if err == nil {
		defer release()
		c.client = client
		out, err = f(ctx, c, in)
	} else {
		err = explained(err, hints{})
	}
	if !isLate(ctx, err) {
		return out, err
	}
	if u, ok := any(in).(unreached[Out]); ok {
		return u.unreached(c, time.Since(start)), nil
	}
	return out, c.late(err)
}

// isLate reports whether a call has failed because its time was over.
func isLate(ctx context.Context, err error) bool {
	return ctx.Err() == context.DeadlineExceeded && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, parley.ErrUnavailable))
}

// late explains a call that has failed because its time was over. What may have been done nevertheless is said to be unknown.
func (c *call) late(err error) error {
	var f *failure
	if errors.Is(err, parley.ErrOutcomeUnknown) && errors.As(err, &f) {
		_, next, _ := strings.Cut(f.text, "\n")
		return &failure{err, fmt.Sprintf("%v: %s.\n%s", parley.ErrOutcomeUnknown, notReached, next)}
	}
	if c.tool.hint.destructive { // an end has no key, and who ends a thing is not told of an earlier attempt
		return explained(parley.Refuse(parley.ErrOutcomeUnknown, notReached, ""), hints{})
	}
	return explained(parley.Refuse(parley.ErrUnavailable, notReached, ""), hints{})
}

// asking are the methods besides tools/call that ask the hub, and what is said where it was not reached in time.
var asking = map[string]error{
	"resources/list": parley.ErrUnavailable, "resources/read": parley.ErrUnavailable, "prompts/get": parley.ErrUnavailable, "tasks/get": parley.ErrUnavailable,
	"tasks/update": parley.ErrOutcomeUnknown, "tasks/cancel": parley.ErrOutcomeUnknown,
}

// bounded bounds what asks the hub and is no tool.
func (s *Server) bounded(next protocol.MethodHandler) protocol.MethodHandler {
	return func(ctx context.Context, method string, req protocol.Request) (r protocol.Result, err error) {
		reason, ok := asking[method]
		if !ok {
			return next(ctx, method, req)
		}
		err = s.inTime(ctx, reason, func(ctx context.Context) (err error) {
			r, err = next(ctx, method, req)
			return err
		})
		return r, err
	}
}

// subscribe is that of the subscriptions, bounded.
func (s *Server) subscribe(ctx context.Context, req *protocol.SubscribeRequest) error {
	return s.inTime(ctx, parley.ErrUnavailable, func(ctx context.Context) error { return s.subs.subscribe(ctx, req) })
}

func (s *Server) inTime(ctx context.Context, reason error, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	err := do(ctx)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return fault(parley.Refuse(reason, notReached, ""), hints{})
	}
	return err
}
