package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// startWait is how long the call that starts a session waits in the hub. It uses a slot of the
// other calls, and must not delay them.
const startWait = 50 * time.Millisecond

var errNotRegistered = parley.Refuse(
	parley.ErrValidationFailed,
	"this client is not registered as an executor",
	"RegisterExecutor, and then this when it yields Registered",
)

// RegisterBlueprints registers the agents of blueprints on the connection of the executor. It is
// not repeated when that connection breaks. RegisterExecutor yields Registered after the next
// connection, and then the caller repeats it.
func (c *Client) RegisterBlueprints(
	ctx context.Context,
	p *parley.RegisterBlueprintsParams,
) (*parley.RegisterBlueprintsResult, error) {
	q := value(p)
	if q.Blueprints == nil {
		q.Blueprints = []parley.Blueprint{} // the runner leaves
	}
	body, err := encode(q)
	if err != nil {
		return nil, err
	}
	pauses := c.newBackoff()
	for {
		raw, sent, err := c.onRegistered(ctx, methods.RegisterBlueprints, body)
		if err == nil {
			r := new(parley.RegisterBlueprintsResult)
			if err := json.Unmarshal(raw, r); err != nil {
				return nil, fmt.Errorf("%w: result of %s: %w", parley.ErrInternal, methods.RegisterBlueprints, err)
			}
			return r, nil
		}
		if !errors.Is(err, parley.ErrRateLimited) {
			return nil, honest(err, sent && (errors.Is(err, wire.ErrBroken) || c.hasEnded(ctx, err)))
		}
		if ended := c.pause(ctx, max(min(pauses.NextBackOff(), c.o.MaxBackoff), retryAfter(err))); ended != nil {
			return nil, fmt.Errorf("%w: %w", ended, err)
		}
	}
}

// onRegistered makes one call on the connection on which the executor is registered. sent is true
// when the hub may have got it.
func (c *Client) onRegistered(
	ctx context.Context,
	method string,
	body []byte,
) (raw json.RawMessage, sent bool, err error) {
	var l *link
	if r := c.executor.Load(); r != nil {
		l = r.stands.Load()
	}
	if l == nil {
		return nil, false, errNotRegistered
	}
	release, err := c.acquireCallSlot(ctx, c.firstSocket())
	if err != nil {
		return nil, false, err
	}
	raw, err = l.call(ctx, method, body, nil, release)
	return raw, true, err
}

// StartSession starts an agent for a result. It always has a key, so it starts one session only,
// over any number of reconnects. In mode sync it waits until the session ends or requires input.
// TimedOut is true if the timeout was reached first.
func (c *Client) StartSession(ctx context.Context, p *parley.StartSessionParams) (*parley.Session, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	if q.TimeoutMs < 0 {
		return call[parley.Session](ctx, c, methods.StartSession, q, keyed) // refused
	}
	if q.TimeoutMs == 0 {
		q.TimeoutMs = parley.MaxWaitMs
	}
	start, timeout := time.Now(), min(q.TimeoutMs, parley.MaxWaitMs)
	q.TimeoutMs = min(timeout, startWait.Milliseconds())
	started, err := call[parley.Session](ctx, c, methods.StartSession, q, keyed)
	left := timeout - time.Since(start).Milliseconds()
	if err != nil || !started.TimedOut || left <= 0 {
		return started, err
	}
	s, err := c.GetSession(ctx, &parley.GetSessionParams{SessionID: started.SessionID, TimeoutMs: left})
	if err != nil {
		return nil, err
	}
	s.Duplicate = started.Duplicate
	return s, nil
}

// GetSession returns the state of a session. With TimeoutMs it waits until the session ends or
// requires input.
func (c *Client) GetSession(ctx context.Context, p *parley.GetSessionParams) (*parley.Session, error) {
	q := value(p)
	if q.TimeoutMs <= 0 {
		return call[parley.Session](ctx, c, methods.GetSession, q, always)
	}
	start, timeout := time.Now(), time.Duration(min(q.TimeoutMs, parley.MaxWaitMs))*time.Millisecond
	for {
		q.TimeoutMs = max(min(timeout-time.Since(start), longestWait).Milliseconds(), 1)
		s, err := c.waitSession(ctx, q)
		if err != nil || !s.TimedOut || time.Since(start) >= timeout {
			return s, err
		}
	}
}

// waitSession is one request of a wait. If an agent of this client started the session, only the
// connection of its calls, which holds the claim, can read it. A long wait there would use a slot
// of the other calls, so it waits briefly.
func (c *Client) waitSession(ctx context.Context, q parley.GetSessionParams) (*parley.Session, error) {
	s, err := callVia[parley.Session](ctx, c, c.enterWait, methods.GetSession, q, always)
	if !errors.Is(err, parley.ErrNotFound) {
		return s, err
	}
	q.TimeoutMs = min(q.TimeoutMs, startWait.Milliseconds())
	return call[parley.Session](ctx, c, methods.GetSession, q, always)
}

// StopSession stops a session. It returns a session that has already ended unchanged.
func (c *Client) StopSession(ctx context.Context, p *parley.StopSessionParams) (*parley.Session, error) {
	return call[parley.Session](ctx, c, methods.StopSession, value(p), keyed)
}
