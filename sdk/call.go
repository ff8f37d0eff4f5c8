package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// repeat is what happens to a call whose answer was lost.
type repeat int

const (
	always repeat = iota // repeated: a read
	keyed                // repeated: a write that the hub recognizes
	once                 // not repeated; whether it was done is unknown
	lossy                // not repeated; it may be lost
)

// longestWait is how long one waiting request stays in the hub. A longer wait consists of several
// requests. So an abandoned wait soon frees its slot, and the client notices a dead connection.
const longestWait = 20 * time.Second

// entry returns a socket with a free slot for a request. The caller calls release when the request
// no longer uses the slot.
type entry func(ctx context.Context) (s *socket, release func(), err error)

// call sends a request, and repeats it where that is safe, until there is an answer.
func call[R any](ctx context.Context, c *Client, method string, params any, k repeat) (*R, error) {
	return callVia[R](ctx, c, c.enterCall, method, params, k)
}

func callVia[R any](ctx context.Context, c *Client, enter entry, method string, params any, k repeat) (*R, error) {
	body, err := encode(params)
	if err != nil {
		return nil, err
	}
	raw, err := c.ask(ctx, enter, method, body, k)
	if err != nil {
		return nil, err
	}
	r := new(R)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%w: result of %s: %w", parley.ErrInternal, method, err)
	}
	return r, nil
}

// ask is call with encoded params and result.
func (c *Client) ask(ctx context.Context, enter entry, method string, body []byte, k repeat) (json.RawMessage, error) {
	pauses := c.newBackoff()
	unknown := false // whether an attempt may have succeeded
	for {
		raw, l, err := c.attempt(ctx, enter, method, body)
		l.answered(err, k)
		switch {
		case err == nil:
			return raw, nil
		case c.hasEnded(ctx, err):
			return nil, honest(err, unknown || l != nil && k != always)
		case errors.Is(err, wire.ErrBroken):
			unknown = unknown || k == keyed || k == once
			if k == once || k == lossy {
				return nil, honest(err, unknown)
			}
			continue // the supervisor pauses before the next connection
		case errors.Is(err, parley.ErrRateLimited) && k != lossy: // nothing was done
			if ended := c.pause(ctx, max(min(pauses.NextBackOff(), c.o.MaxBackoff), retryAfter(err))); ended != nil {
				return nil, fmt.Errorf("%w: %w", honest(ended, unknown), err)
			}
			continue
		case k == once || k == lossy || !errors.Is(err, parley.ErrUnavailable) && !errors.Is(err, parley.ErrOutcomeUnknown):
			return nil, err
		}
		unknown = unknown || errors.Is(err, parley.ErrOutcomeUnknown) && k == keyed
		if err := c.pause(ctx, min(pauses.NextBackOff(), c.o.MaxBackoff)); err != nil {
			return nil, honest(err, unknown)
		}
	}
}

// insist repeats a write, which the hub does not deduplicate, until there is an answer. lost is
// true if an earlier attempt can have an effect. A refusal may then be a consequence of that
// attempt.
func (c *Client) insist(ctx context.Context, method string, body []byte) (raw json.RawMessage, lost bool, err error) {
	pauses := c.newBackoff()
	for {
		raw, err := c.ask(ctx, c.enterCall, method, body, once)
		again := errors.Is(err, parley.ErrOutcomeUnknown) || errors.Is(err, parley.ErrUnavailable)
		if err == nil || !again || ctx.Err() != nil || c.life.Err() != nil {
			return raw, lost, err
		}
		lost = lost || errors.Is(err, parley.ErrOutcomeUnknown)
		if err := c.pause(ctx, min(pauses.NextBackOff(), c.o.MaxBackoff)); err != nil {
			return nil, lost, honest(err, lost)
		}
	}
}

// retryAfter returns the minimum wait that the hub asks for.
func retryAfter(err error) time.Duration {
	var e *parley.Error
	if !errors.As(err, &e) {
		return 0
	}
	return time.Duration(min(e.RetryAfterMs, parley.MaxWaitMs)) * time.Millisecond
}

// hasEnded reports whether err means that ctx or the client ended.
func (c *Client) hasEnded(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) || c.life.Err() != nil && errors.Is(err, context.Cause(c.life))
}

// honest adds ErrOutcomeUnknown or ErrUnavailable to an error.
func honest(err error, unknown bool) error {
	switch {
	case unknown:
		return fmt.Errorf("%w: %w", parley.ErrOutcomeUnknown, err)
	case errors.Is(err, wire.ErrBroken):
		return fmt.Errorf("%w: %w", parley.ErrUnavailable, err)
	}
	return err
}

// attempt sends one request when there is a slot and a connection. If the hub may have received it,
// l is the connection; otherwise l is nil.
func (c *Client) attempt(
	ctx context.Context,
	enter entry,
	method string,
	body []byte,
) (raw json.RawMessage, l *link, err error) {
	s, release, err := enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	l, err = c.awaitLink(ctx, s)
	if err == nil && unnamed[method] {
		err = c.settle(ctx, s, l)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	raw, err = l.call(ctx, method, body, nil, release)
	return raw, l, err
}

// maxRefused is how often a hub may refuse writes as unavailable before its client tries another
// hub.
const maxRefused = 3

// answered records the result of a request. If there is another hub, the client leaves a hub that
// accepts no writes, such as one that lost the servers of its log. Reads alone do not show that. l
// is nil if nothing was sent.
func (l *link) answered(err error, k repeat) {
	switch {
	case l == nil || !l.c.hubs.several():
	case err == nil && k != always:
		l.refused.Store(0)
	case errors.Is(err, parley.ErrUnavailable) && !errors.Is(err, wire.ErrBroken) && l.refused.Add(1) == maxRefused:
		l.c.o.Logger.Debug("the hub takes no writes; another is tried", "url", l.url)
		l.gaveUp.Store(true)
		l.close()
	}
}

// enterCall waits for a slot on the first socket, for a call that the hub answers at once.
func (c *Client) enterCall(ctx context.Context) (*socket, func(), error) {
	s := c.firstSocket()
	release, err := c.acquireCallSlot(ctx, s)
	return s, release, err
}

func (c *Client) acquireCallSlot(ctx context.Context, s *socket) (release func(), err error) {
	select {
	case s.calls <- struct{}{}:
		return func() { <-s.calls }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.life.Done():
		return nil, context.Cause(c.life)
	}
}

// enterWait returns a socket with a slot for a request that waits in the hub.
func (c *Client) enterWait(context.Context) (*socket, func(), error) {
	s, err := c.takeSocket(func(s *socket) bool {
		if s.waits >= maxWaits {
			return false
		}
		s.waits++
		return true
	})
	return s, func() { s.withLock(func(s *socket) bool { s.waits--; return true }) }, err
}

// wait splits a request that waits into several. ask sends one of them, and reports whether it
// timed out.
func (c *Client) wait(timeoutMs int64, ask func(timeoutMs int64) (timedOut bool, err error)) error {
	timeout := time.Duration(min(timeoutMs, parley.MaxWaitMs)) * time.Millisecond
	start := time.Now()
	for {
		left := timeout - time.Since(start)
		timedOut, err := ask(max(min(left, longestWait).Milliseconds(), 1))
		if err != nil || !timedOut || left <= longestWait {
			return err
		}
	}
}
