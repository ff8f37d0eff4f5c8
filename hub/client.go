package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/internal/registration"
)

// Client returns a client inside the hub's process that acts as p. It has the methods, types and errors
// of a client over a connection.
func (h *Hub) Client(p *auth.Principal) parley.Client {
	c := &client{hub: h, p: p}
	c.ctx, c.cancel = context.WithCancelCause(h.conv.Context())
	c.conn.Store(c.connect())
	return c
}

type client struct {
	hub    *Hub
	p      *auth.Principal // without a connection
	ctx    context.Context // ends with Close or with the hub
	cancel context.CancelCauseFunc

	registering atomic.Bool                      // an iteration over a registration is running
	claiming    registration.Claiming            // claims that the next registration adds to those of its caller
	conn        atomic.Pointer[clientConnection] // the current connection
}

var _ parley.Client = (*client)(nil)

var errClientClosed = parley.Refuse(parley.ErrUnavailable, "the client is closed", "")

func (c *client) AgentID() string { return c.p.AgentID }

func (c *client) Close() error {
	c.cancel(errClientClosed)
	c.conn.Load().conn.Close()
	return nil
}

// join returns a context that ends with ctx or with the client, and a function that releases it.
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

// read calls f. It returns errClientClosed instead of context.Canceled if the client was closed.
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

// write calls f and waits until f calls done. It returns ErrOutcomeUnknown if ctx or the client ends
// first.
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
	answer := make(chan result, 1) // done never blocks, even if the call has returned
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

// callRead calls a method of the hub that returns a pointer, unless one of the checks failed. A nil q means
// the zero value.
func callRead[P, R any](
	c *client, ctx context.Context, f func(*Hub, context.Context, *auth.Principal, *P) (*R, error), q *P,
	checks ...error,
) (*R, error) {
	if err := cmp.Or(checks...); err != nil {
		return nil, err
	}
	return read(c, ctx, func(ctx context.Context) (*R, error) { return f(c.hub, ctx, c.caller(), orZero(q)) })
}

// callReadValue is callRead for a method that returns a value.
func callReadValue[P, R any](
	c *client, ctx context.Context, f func(*Hub, context.Context, *auth.Principal, *P) (R, error), q *P,
) (*R, error) {
	r, err := read(c, ctx, func(ctx context.Context) (R, error) { return f(c.hub, ctx, c.caller(), orZero(q)) })
	return orNil(r, err)
}

// callWrite is callRead for a method that calls done with a value.
func callWrite[P, R any](
	c *client, ctx context.Context, f func(*Hub, *auth.Principal, *P, func(R, error)), q *P, checks ...error,
) (*R, error) {
	if err := cmp.Or(checks...); err != nil {
		return nil, err
	}
	r, err := write(c, ctx, func(done func(R, error)) { f(c.hub, c.caller(), orZero(q), done) })
	return orNil(r, err)
}

// traceOf returns the traceparent of a call: its own, or that of ctx.
func traceOf(ctx context.Context, own string) string { return cmp.Or(own, parley.TraceparentOf(ctx)) }

// orZero returns q, or the zero value if q is nil.
func orZero[P any](q *P) *P {
	if q == nil {
		return new(P)
	}
	return q
}

// orNil returns a pointer to v, or nil if there is an error.
func orNil[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// checkEach checks JSON that has passed no decoder. level is its number of levels in a message.
func checkEach(level int, all ...json.RawMessage) error {
	for _, raw := range all {
		if err := check.JSON(raw, level); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) Now(ctx context.Context) (time.Time, error) {
	return read(c, ctx, func(context.Context) (time.Time, error) { return c.hub.Now(), c.hub.conv.Serving() })
}

func (c *client) CreateConversation(ctx context.Context, q *parley.CreateConversationParams) (*parley.Snapshot, error) {
	q = orZero(q)
	if err := checkEach(2, q.Metadata); err != nil {
		return nil, err
	}
	traced := *q
	traced.Traceparent = traceOf(ctx, q.Traceparent)
	return write(c, ctx, func(done func(*parley.Snapshot, error)) { c.hub.CreateConversation(c.caller(), &traced, done) })
}

func (c *client) ForkConversation(ctx context.Context, q *parley.ForkConversationParams) (*parley.Snapshot, error) {
	q = orZero(q)
	traced := *q
	traced.Traceparent = traceOf(ctx, q.Traceparent)
	return write(c, ctx, func(done func(*parley.Snapshot, error)) { c.hub.ForkConversation(c.caller(), &traced, done) })
}

func (c *client) GetConversation(ctx context.Context, q *parley.GetConversationParams) (*parley.Snapshot, error) {
	return read(c, ctx, func(ctx context.Context) (*parley.Snapshot, error) {
		snapshot, events, err := c.hub.GetConversation(ctx, c.caller(), orZero(q))
		if err != nil {
			return nil, err
		}
		snapshot.Events, err = conv.DecodeEvents(events)
		return snapshot, err
	})
}

func (c *client) ListConversations(
	ctx context.Context, q *parley.ListConversationsParams,
) (*parley.ListConversationsResult, error) {
	return callRead(c, ctx, (*Hub).ListConversations, q)
}

func (c *client) WatchConversations(
	ctx context.Context, q *parley.WatchConversationsParams,
) (*parley.WatchConversationsResult, error) {
	return callRead(c, ctx, (*Hub).WatchConversations, q)
}

func (c *client) AddParticipant(ctx context.Context, q *parley.AddParticipantParams) (*parley.SeqResult, error) {
	return callWrite(c, ctx, (*Hub).AddParticipant, q)
}

func (c *client) CloseConversation(ctx context.Context, q *parley.CloseConversationParams) (*parley.SeqResult, error) {
	return callWrite(c, ctx, (*Hub).CloseConversation, q)
}

func (c *client) Tail(ctx context.Context, q *parley.TailParams) (*parley.TailResult, error) {
	return read(c, ctx, func(ctx context.Context) (*parley.TailResult, error) {
		page, err := c.hub.Tail(ctx, c.caller(), orZero(q))
		if err != nil {
			return nil, err
		}
		events, err := conv.DecodeEvents(page.Events)
		return &parley.TailResult{Events: events, NextSeq: page.NextSeq, LatestSeq: page.LatestSeq}, err
	})
}

func (c *client) WaitForChange(
	ctx context.Context, q *parley.WaitForChangeParams,
) (*parley.WaitForChangeResult, error) {
	return callReadValue(c, ctx, (*Hub).WaitForChange, q)
}

func (c *client) GetUpdates(ctx context.Context, q *parley.GetUpdatesParams) (*parley.GetUpdatesResult, error) {
	return read(c, ctx, func(ctx context.Context) (*parley.GetUpdatesResult, error) {
		updates, messages, err := c.hub.GetUpdates(ctx, c.caller(), orZero(q))
		if err != nil {
			return nil, err
		}
		updates.Messages, err = conv.DecodeEvents(messages)
		return updates, err
	})
}

func (c *client) GetGuidance(ctx context.Context, q *parley.GetGuidanceParams) (*parley.GetGuidanceResult, error) {
	return callReadValue(c, ctx, (*Hub).GetGuidance, q)
}

func (c *client) Explain(ctx context.Context, q *parley.ExplainParams) (*parley.ExplainResult, error) {
	return callRead(c, ctx, (*Hub).Explain, q)
}

func (c *client) SendMessage(ctx context.Context, q *parley.SendMessageParams) (*parley.SendResult, error) {
	q = orZero(q)
	traced := *q
	traced.Traceparent = traceOf(ctx, q.Traceparent)
	return callWrite(c, ctx, (*Hub).SendMessage, &traced, checkEach(2, q.Payload))
}

func (c *client) SendTrace(ctx context.Context, q *parley.SendTraceParams) (*parley.SendResult, error) {
	q = orZero(q)
	traced := *q
	traced.Traceparent = traceOf(ctx, q.Traceparent)
	return callWrite(c, ctx, (*Hub).SendTrace, &traced, checkEach(2, q.Payload))
}

func (c *client) SendNote(ctx context.Context, q *parley.SendNoteParams) (*parley.SeqResult, error) {
	q = orZero(q)
	traced := *q
	traced.Traceparent = traceOf(ctx, q.Traceparent)
	return callWrite(c, ctx, (*Hub).SendNote, &traced, checkEach(3, q.Payload.Data))
}

func (c *client) SendDelta(ctx context.Context, q *parley.SendDeltaParams) error {
	_, err := write(c, ctx, func(done func(struct{}, error)) {
		c.hub.SendDelta(c.caller(), orZero(q), func(err error) { done(struct{}{}, err) })
	})
	return err
}

func (c *client) CreateToken(ctx context.Context, q *parley.CreateTokenParams) (*parley.CreateTokenResult, error) {
	return callWrite(c, ctx, (*Hub).CreateToken, q)
}

func (c *client) ListTokens(ctx context.Context, q *parley.ListTokensParams) (*parley.ListTokensResult, error) {
	return callReadValue(c, ctx, (*Hub).ListTokens, q)
}

func (c *client) RevokeToken(ctx context.Context, q *parley.RevokeTokenParams) (*parley.RevokeTokenResult, error) {
	return callWrite(c, ctx, (*Hub).RevokeToken, q)
}

func (c *client) Stats(ctx context.Context, q *parley.StatsParams) (*parley.Stats, error) {
	return callReadValue(c, ctx, (*Hub).Stats, q)
}

func (c *client) ListAgents(ctx context.Context, q *parley.ListAgentsParams) (*parley.ListAgentsResult, error) {
	return callReadValue(c, ctx, (*Hub).ListAgents, q)
}

func (c *client) RegisterBlueprints(
	ctx context.Context, q *parley.RegisterBlueprintsParams,
) (*parley.RegisterBlueprintsResult, error) {
	q = orZero(q)
	for i := range q.Blueprints {
		b := &q.Blueprints[i]
		if err := checkEach(registry.SchemaLevel, b.ParametersSchema, b.OutputSchema); err != nil {
			return nil, err
		}
	}
	return callWrite(c, ctx, (*Hub).RegisterBlueprints, q)
}

func (c *client) StartSession(ctx context.Context, q *parley.StartSessionParams) (*parley.Session, error) {
	q = orZero(q)
	traced := *q
	traced.Traceparent = traceOf(ctx, q.Traceparent)
	return callRead(c, ctx, (*Hub).StartSession, &traced, checkEach(2, q.Parameters, q.Metadata))
}

func (c *client) GetSession(ctx context.Context, q *parley.GetSessionParams) (*parley.Session, error) {
	return callRead(c, ctx, (*Hub).GetSession, q)
}

func (c *client) StopSession(ctx context.Context, q *parley.StopSessionParams) (*parley.Session, error) {
	return callRead(c, ctx, (*Hub).StopSession, q)
}

func (c *client) RequestApproval(ctx context.Context, q *parley.RequestApprovalParams) (*parley.Approval, error) {
	q = orZero(q)
	return callRead(c, ctx, (*Hub).RequestApproval, q, checkEach(2, q.Details, q.AnswerSchema))
}

func (c *client) GetApproval(ctx context.Context, q *parley.GetApprovalParams) (*parley.Approval, error) {
	return callRead(c, ctx, (*Hub).GetApproval, q)
}

func (c *client) ListApprovals(
	ctx context.Context, q *parley.ListApprovalsParams,
) (*parley.ListApprovalsResult, error) {
	return callRead(c, ctx, (*Hub).ListApprovals, q)
}

func (c *client) ResolveApproval(ctx context.Context, q *parley.ResolveApprovalParams) (*parley.Approval, error) {
	q = orZero(q)
	return callRead(c, ctx, (*Hub).ResolveApproval, q, checkEach(2, q.Answer))
}

func (c *client) PutAttachment(
	ctx context.Context, q *parley.PutAttachmentParams,
) (*parley.PutAttachmentResult, error) {
	return callReadValue(c, ctx, (*Hub).PutAttachment, q)
}

func (c *client) GetAttachment(
	ctx context.Context, q *parley.GetAttachmentParams,
) (*parley.GetAttachmentResult, error) {
	return callReadValue(c, ctx, (*Hub).GetAttachment, q)
}

func (c *client) GetContext(ctx context.Context, q *parley.GetContextParams) (*parley.GetContextResult, error) {
	return callRead(c, ctx, (*Hub).GetContext, q)
}

func (c *client) ExplainTriggers(
	ctx context.Context, q *parley.ExplainTriggersParams,
) (*parley.ExplainTriggersResult, error) {
	return callRead(c, ctx, (*Hub).ExplainTriggers, q)
}

// maxItems is the largest number of items that a subscription of a client takes at once.
const maxItems = 200

func (c *client) Subscribe(ctx context.Context, q *parley.SubscribeParams) iter.Seq2[parley.Notification, error] {
	q = orZero(q)
	return func(yield func(parley.Notification, error) bool) {
		caller := ctx
		ctx, end, err := c.join(ctx)
		if err != nil {
			yield(parley.Notification{}, err)
			return
		}
		defer end()
		s, err := c.hub.Subscribe(ctx, c.caller(), q)
		if err != nil {
			yield(parley.Notification{}, err)
			return
		}
		defer s.Close()
		for {
			items, err := s.Next(ctx, maxItems)
			if err != nil {
				if caller.Err() == nil && context.Cause(ctx) == errClientClosed {
					err = errClientClosed
				}
				yield(parley.Notification{}, err)
				return
			}
			if !yieldItems(items, q.ConversationID, yield) {
				return
			}
		}
	}
}

// yieldItems reports whether the iteration continues.
func yieldItems(items []Item, conversation string, yield func(parley.Notification, error) bool) bool {
	for _, item := range items {
		n, err := notificationOf(&item, conversation)
		if !yield(n, err) || err != nil {
			return false
		}
	}
	return true
}

func notificationOf(i *Item, conversation string) (parley.Notification, error) {
	switch {
	case i.Event != nil:
		events, err := conv.DecodeEvents([][]byte{i.Event})
		if err != nil {
			return parley.Notification{}, err
		}
		return parley.Notification{Event: &events[0]}, nil
	case i.CaughtUp:
		return parley.Notification{CaughtUp: &parley.CaughtUpNotification{ConversationID: conversation, Seq: i.Seq}}, nil
	case i.Guidance != nil:
		g := parley.GuidanceNotification{ConversationID: conversation, Seq: i.Seq, Guidance: *i.Guidance}
		return parley.Notification{Guidance: &g}, nil
	}
	return parley.Notification{Delta: i.Delta}, nil
}

func (c *client) Events(ctx context.Context, conversationID string, since int64) iter.Seq2[parley.Event, error] {
	return parley.EventsOf(c.Subscribe(ctx, &parley.SubscribeParams{ConversationID: conversationID, SinceSeq: since}))
}
