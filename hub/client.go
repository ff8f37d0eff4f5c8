package hub

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/internal/registration"
)

// Client gives a client that speaks as p, inside the hub's process: the same methods, types and errors as over a wire.
func (h *Hub) Client(p *auth.Principal) parley.Client {
	c := &client{hub: h, p: p}
	c.ctx, c.cancel = context.WithCancelCause(h.conv.Context())
	c.line.Store(c.connect())
	return c
}

// client is the in-process Client.
type client struct {
	hub    *Hub
	p      *auth.Principal // on no connection
	ctx    context.Context // ends with Close or the hub's
	cancel context.CancelCauseFunc

	registering atomic.Bool                // a loop over a registration is under way
	claiming    registration.Claiming      // what the next registration holds besides what its caller says
	line        atomic.Pointer[clientLine] // how it is connected
}

var _ parley.Client = (*client)(nil)

var errClientClosed = parley.Refuse(parley.ErrUnavailable, "the client is closed", "")

func (c *client) AgentID() string { return c.p.AgentID }

func (c *client) Close() error {
	c.cancel(errClientClosed)
	c.line.Load().conn.Close()
	return nil
}

// join gives a ctx that ends with the call's or the client's.
func (c *client) join(ctx context.Context) (context.Context, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if c.ctx.Err() != nil {
		return nil, nil, errClientClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(errClientClosed) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// read runs a read and tells a closed client from an ended ctx.
func read[T any](c *client, ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	var none T
	ctx, end, err := c.join(ctx)
	if err != nil {
		return none, err
	}
	defer end()
	out, err := f(ctx)
	if err != nil {
		if errors.Is(err, context.Canceled) && context.Cause(ctx) == errClientClosed {
			err = errClientClosed
		}
		return none, err
	}
	return out, nil
}

// write runs a write and waits for its answer. When ctx ends first the outcome is not known.
func write[T any](c *client, ctx context.Context, f func(done func(T, error))) (T, error) {
	var none T
	ctx, end, err := c.join(ctx)
	if err != nil {
		return none, err
	}
	defer end()
	type result struct {
		v   T
		err error
	}
	answer := make(chan result, 1) // done never blocks, even when nobody waits any more
	f(func(v T, err error) { answer <- result{v, err} })
	select {
	case r := <-answer:
		return r.v, r.err
	case <-ctx.Done():
		unknown := parley.ErrOutcomeUnknown
		if cause := context.Cause(ctx); cause != errClientClosed {
			unknown = errors.Join(unknown, cause)
		}
		return none, &parley.Error{Err: unknown, Message: "the call ended before its answer"}
	}
}

func (c *client) Now(ctx context.Context) (time.Time, error) {
	return read(c, ctx, func(context.Context) (time.Time, error) {
		return c.hub.Now(), c.hub.conv.Serving()
	})
}

func (c *client) CreateConversation(ctx context.Context, q *parley.CreateConversationParams) (*parley.Snapshot, error) {
	q = orZero(q)
	if err := check.JSON(q.Metadata, 2); err != nil {
		return nil, err
	}
	traced := *q
	traced.Traceparent = under(ctx, q.Traceparent)
	return write(c, ctx, func(done func(*parley.Snapshot, error)) { c.hub.CreateConversation(c.caller(), &traced, done) })
}

func (c *client) GetConversation(ctx context.Context, q *parley.GetConversationParams) (*parley.Snapshot, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.Snapshot, error) {
		snapshot, events, err := c.hub.GetConversation(ctx, c.caller(), q)
		if err != nil {
			return nil, err
		}
		snapshot.Events, err = conv.DecodeEvents(events)
		return snapshot, err
	})
}

func (c *client) ListConversations(ctx context.Context, q *parley.ListConversationsParams) (*parley.ListConversationsResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.ListConversationsResult, error) {
		return c.hub.ListConversations(ctx, c.caller(), q)
	})
}

func (c *client) AddParticipant(ctx context.Context, q *parley.AddParticipantParams) (*parley.SeqResult, error) {
	q = orZero(q)
	r, err := write(c, ctx, func(done func(parley.SeqResult, error)) { c.hub.AddParticipant(c.caller(), q, done) })
	return orNil(r, err)
}

func (c *client) CloseConversation(ctx context.Context, q *parley.CloseConversationParams) (*parley.SeqResult, error) {
	q = orZero(q)
	r, err := write(c, ctx, func(done func(parley.SeqResult, error)) { c.hub.CloseConversation(c.caller(), q, done) })
	return orNil(r, err)
}

func (c *client) Tail(ctx context.Context, q *parley.TailParams) (*parley.TailResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.TailResult, error) {
		page, err := c.hub.Tail(ctx, c.caller(), q)
		if err != nil {
			return nil, err
		}
		events, err := conv.DecodeEvents(page.Events)
		return &parley.TailResult{Events: events, NextSeq: page.NextSeq, LatestSeq: page.LatestSeq}, err
	})
}

func (c *client) WaitForChange(ctx context.Context, q *parley.WaitForChangeParams) (*parley.WaitForChangeResult, error) {
	q = orZero(q)
	r, err := read(c, ctx, func(ctx context.Context) (parley.WaitForChangeResult, error) {
		return c.hub.WaitForChange(ctx, c.caller(), q)
	})
	return orNil(r, err)
}

func (c *client) GetUpdates(ctx context.Context, q *parley.GetUpdatesParams) (*parley.GetUpdatesResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.GetUpdatesResult, error) {
		updates, messages, err := c.hub.GetUpdates(ctx, c.caller(), q)
		if err != nil {
			return nil, err
		}
		updates.Messages, err = conv.DecodeEvents(messages)
		return updates, err
	})
}

func (c *client) GetGuidance(ctx context.Context, q *parley.GetGuidanceParams) (*parley.GetGuidanceResult, error) {
	q = orZero(q)
	r, err := read(c, ctx, func(ctx context.Context) (parley.GetGuidanceResult, error) {
		return c.hub.GetGuidance(ctx, c.caller(), q)
	})
	return orNil(r, err)
}

func (c *client) Explain(ctx context.Context, q *parley.ExplainParams) (*parley.ExplainResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.ExplainResult, error) { return c.hub.Explain(ctx, c.caller(), q) })
}

func (c *client) SendMessage(ctx context.Context, q *parley.SendMessageParams) (*parley.SendResult, error) {
	q = orZero(q)
	if err := check.JSON(q.Payload, 2); err != nil {
		return nil, err
	}
	traced := *q
	traced.Traceparent = under(ctx, q.Traceparent)
	r, err := write(c, ctx, func(done func(parley.SendResult, error)) { c.hub.SendMessage(c.caller(), &traced, done) })
	return orNil(r, err)
}

func (c *client) SendTrace(ctx context.Context, q *parley.SendTraceParams) (*parley.SendResult, error) {
	q = orZero(q)
	if err := check.JSON(q.Payload, 2); err != nil {
		return nil, err
	}
	traced := *q
	traced.Traceparent = under(ctx, q.Traceparent)
	r, err := write(c, ctx, func(done func(parley.SendResult, error)) { c.hub.SendTrace(c.caller(), &traced, done) })
	return orNil(r, err)
}

func (c *client) SendNote(ctx context.Context, q *parley.SendNoteParams) (*parley.SeqResult, error) {
	q = orZero(q)
	if err := check.JSON(q.Payload.Data, 3); err != nil {
		return nil, err
	}
	traced := *q
	traced.Traceparent = under(ctx, q.Traceparent)
	r, err := write(c, ctx, func(done func(parley.SeqResult, error)) { c.hub.SendNote(c.caller(), &traced, done) })
	return orNil(r, err)
}

func (c *client) SendDelta(ctx context.Context, q *parley.SendDeltaParams) error {
	q = orZero(q)
	_, err := write(c, ctx, func(done func(struct{}, error)) {
		c.hub.SendDelta(c.caller(), q, func(err error) { done(struct{}{}, err) })
	})
	return err
}

func (c *client) CreateToken(ctx context.Context, q *parley.CreateTokenParams) (*parley.CreateTokenResult, error) {
	q = orZero(q)
	r, err := write(c, ctx, func(done func(parley.CreateTokenResult, error)) { c.hub.CreateToken(c.caller(), q, done) })
	return orNil(r, err)
}

func (c *client) ListTokens(ctx context.Context, q *parley.ListTokensParams) (*parley.ListTokensResult, error) {
	q = orZero(q)
	return plainRead(c, ctx, (*Hub).ListTokens, q)
}

func (c *client) RevokeToken(ctx context.Context, q *parley.RevokeTokenParams) (*parley.RevokeTokenResult, error) {
	q = orZero(q)
	r, err := write(c, ctx, func(done func(parley.RevokeTokenResult, error)) { c.hub.RevokeToken(c.caller(), q, done) })
	return orNil(r, err)
}

func (c *client) Stats(ctx context.Context, q *parley.StatsParams) (*parley.Stats, error) {
	q = orZero(q)
	return plainRead(c, ctx, (*Hub).Stats, q)
}

func (c *client) ListAgents(ctx context.Context, q *parley.ListAgentsParams) (*parley.ListAgentsResult, error) {
	q = orZero(q)
	return plainRead(c, ctx, (*Hub).ListAgents, q)
}

func (c *client) PutAttachment(ctx context.Context, q *parley.PutAttachmentParams) (*parley.PutAttachmentResult, error) {
	q = orZero(q)
	return plainRead(c, ctx, (*Hub).PutAttachment, q)
}

func (c *client) GetAttachment(ctx context.Context, q *parley.GetAttachmentParams) (*parley.GetAttachmentResult, error) {
	q = orZero(q)
	return plainRead(c, ctx, (*Hub).GetAttachment, q)
}

// plainRead makes a call of the client's principal.
func plainRead[P, R any](c *client, ctx context.Context, f func(*Hub, context.Context, *auth.Principal, *P) (R, error), q *P) (*R, error) {
	r, err := read(c, ctx, func(ctx context.Context) (R, error) { return f(c.hub, ctx, c.caller(), q) })
	return orNil(r, err)
}

// under returns the traceparent of a call: its own, or that of ctx.
func under(ctx context.Context, own string) string { return cmp.Or(own, parley.TraceparentOf(ctx)) }

// orZero gives the params; nil is none.
func orZero[P any](q *P) *P {
	if q == nil {
		return new(P)
	}
	return q
}

func orNil[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}
