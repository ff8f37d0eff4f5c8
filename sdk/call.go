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

// repeat says what is done with a call whose answer did not come.
type repeat int

const (
	always repeat = iota // made again: a read
	keyed                // made again: a write that the hub recognizes
	once                 // not made again; whether it was done is unknown
	lossy                // not made again; it may be lost
)

// longestWait is how long one waiting request stays with the hub; a longer wait is several of them. So a wait that was given up
// does not take up room for long, and a dead connection is noticed.
const longestWait = 20 * time.Second

// entry returns a socket with room for one more request. release is called when the request takes none any more.
type entry func(ctx context.Context) (s *socket, release func(), err error)

// call asks the hub, again and again where that is safe, until there is an answer.
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
	unknown := false // an attempt may have taken effect
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
			continue // the next connection has a pause of its own
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

// insist makes a write that the hub does not recognize again and again until there is an answer. lost is true when an attempt may have taken effect before the
// last one: then a refusal may speak of that.
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

// retryAfter is how long the hub asks to wait, at least.
func retryAfter(err error) time.Duration {
	var e *parley.Error
	if !errors.As(err, &e) {
		return 0
	}
	return time.Duration(min(e.RetryAfterMs, parley.MaxWaitMs)) * time.Millisecond
}

// hasEnded reports whether err says that ctx or the client has ended.
func (c *Client) hasEnded(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) || c.life.Err() != nil && errors.Is(err, context.Cause(c.life))
}

// honest says also that the outcome is unknown, where it is.
func honest(err error, unknown bool) error {
	switch {
	case unknown:
		return fmt.Errorf("%w: %w", parley.ErrOutcomeUnknown, err)
	case errors.Is(err, wire.ErrBroken):
		return fmt.Errorf("%w: %w", parley.ErrUnavailable, err)
	}
	return err
}

// attempt makes one request, when there is room and a connection. Where it was sent, so that the hub may have got it, l is the connection, else nil.
func (c *Client) attempt(ctx context.Context, enter entry, method string, body []byte) (raw json.RawMessage, l *link, err error) {
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

// maxRefused is how often a hub may say that it can take no writes at the moment before its client goes to another.
const maxRefused = 3

// answered notes what became of a request. A hub that takes no writes, such as one that has lost the servers of its log, is left where there is another: reads alone do
// not show it. l is nil where nothing was sent.
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

// enterCall waits for room for a call that the hub answers at once, on the first socket.
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

// enterWait finds room for a request that the hub may hold on to.
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

// wait makes a request that waits, in pieces. ask sends one with the timeout given and reports whether it ended without what was waited for.
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
