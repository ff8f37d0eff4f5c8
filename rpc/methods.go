package rpc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// handlers has the handler of each method. Those of this file need the socket of their call.
var handlers = calls.NewTable(calls.Table{
	methods.Authenticate: calls.NewHandler[parley.AuthenticateParams, parley.AuthenticateResult](false, authenticate),
	methods.Subscribe:    calls.NewHandler[parley.SubscribeParams, parley.SubscribeResult](true, subscribe),
	methods.Unsubscribe:  calls.NewHandler[parley.UnsubscribeParams, parley.EmptyResult](true, unsubscribe),
})

// maxClientName bounds the name that a client sends for the log.
const maxClientName = 128

func authenticate(ctx context.Context, c *calls.Call, q *parley.AuthenticateParams) {
	k := c.Socket.(*socket)
	if len(q.ClientName) > maxClientName {
		c.Refuse(parley.Refuse(parley.ErrValidationFailed,
			"clientName is too long", fmt.Sprintf("at most %d bytes", maxClientName)))
		return
	}
	if q.Traceparent != "" && !parley.ValidTraceparent(q.Traceparent) {
		c.Refuse(parley.Refuse(parley.ErrValidationFailed,
			"traceparent is not one", "a traceparent of W3C Trace Context, version 00"))
		return
	}
	if c.Principal != nil && q.AgentID == "" {
		q.AgentID = c.Principal.AgentID
	}
	p, err := k.server.admission.VerifyToken(ctx, k.client, q.Token, q.AgentID, c.Handler.Name)
	if err != nil {
		c.Fail(err)
		return
	}
	if c.Principal != nil && c.Principal.AgentID != p.AgentID {
		err := parley.Refuse(parley.ErrForbidden, "the socket speaks as another id already", c.Principal.AgentID)
		k.refuseToken(c, p, err)
		return
	}
	k.server.admission.Audit.GrantLogin(p, c.From, c.Handler.Name)
	if err := k.replaceCaller(p); err != nil {
		k.refuseToken(c, p, err)
		return
	}
	k.traceparent = cmp.Or(q.Traceparent, k.traceparent)
	k.checkRevoked()
	k.server.log.Debug("hello", "remote", k.remote, "agent", admission.Untrusted(p.AgentID),
		"token", p.TokenID, "client", admission.Untrusted(q.ClientName))
	c.Succeed(calls.JSON(k.server.describeHub(p)))
}

// refuseToken refuses a good token that this socket cannot use.
func (k *socket) refuseToken(c *calls.Call, p *hub.Principal, err error) {
	k.server.admission.Audit.Refuse("agent_refused", admission.NewActor(p, c.From, c.Handler.Name), err, "")
	c.Refuse(err)
}

// describeHub returns the answer to authenticate.
func (s *Server) describeHub(p *hub.Principal) parley.AuthenticateResult {
	return parley.AuthenticateResult{
		OK: true, AgentID: p.AgentID, ProtocolVersion: parley.ProtocolVersion, Agents: p.Agents(),
		Scopes: p.Scopes(), ExpiresAt: optionalTimestamp(p.ExpiresAt), Hub: s.hub.Info(),
		Limits: parley.WireLimits{
			MaxFrameBytes: parley.MaxFrameBytes, MaxEventBytes: parley.MaxEventBytes, MaxDepth: limits.MaxDepth,
			MaxInFlight: limits.MaxInFlight, MaxSubscriptions: limits.MaxSubscriptions,
			MaxWaitMs: parley.MaxWaitMs, MaxPage: parley.MaxPage,
		},
	}
}

// optionalTimestamp returns 0 for the zero time.
func optionalTimestamp(t time.Time) parley.Timestamp {
	if t.IsZero() {
		return 0
	}
	return parley.TimestampOf(t)
}

// subscribe answers, and then starts the subscription.
func subscribe(ctx context.Context, c *calls.Call, q *parley.SubscribeParams) {
	k := c.Socket.(*socket)
	s, err := k.openSubscription(ctx, c.Principal, q)
	if err != nil {
		c.Fail(err)
		return
	}
	defer k.server.pumps.submit(s) // also after a panic: only a pump ends it
	s.cursor.OnChange(s.wake)
	c.Succeed(calls.JSON(parley.SubscribeResult{SubscriptionID: s.id, LatestSeq: s.cursor.LatestSeq()}))
}

// unsubscribe answers after the last notification of the subscription.
func unsubscribe(ctx context.Context, c *calls.Call, q *parley.UnsubscribeParams) {
	s := c.Socket.(*socket).subscriptions.remove(q.SubscriptionID)
	if s == nil {
		c.Refuse(parley.Refuse(parley.ErrNotFound, "the socket has no such subscription", ""))
		return
	}
	s.end()
	select {
	case <-s.done:
	case <-ctx.Done():
		return
	}
	c.Succeed(calls.JSON(parley.EmptyResult{}))
}
