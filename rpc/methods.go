package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
)

// handler is how a method is served.
type handler struct {
	name   string
	scope  parley.Scope
	socket bool // needs one
	// waits: serve runs on a goroutine of its own. Otherwise it runs where the request was read and must not block.
	waits bool
	// params and result are the types of what is read and written: the published schemas are made from them.
	params, result reflect.Type

	// decode reads params. Nothing of what it gives points into data.
	decode func(data []byte) (any, error)
	serve  func(ctx context.Context, c *call)
}

// handlers has one for each method of parley.Methods that is served: see protocol.md, section 12.
var handlers = table(map[string]handler{
	parley.MethodAuthenticate: typed[parley.AuthenticateParams, parley.AuthenticateResult](handler{serve: authenticate}),
	parley.MethodPing:         typed[parley.PingParams, parley.PingResult](handler{serve: ping}),

	parley.MethodCreateConversation: write((*hub.Hub).CreateConversation, func(b []byte, s *parley.Snapshot) ([]byte, error) { return appendJSON(b, s) }),
	parley.MethodForkConversation:   typed[parley.ForkConversationParams, *parley.Snapshot](handler{serve: forkConversation}),
	parley.MethodAddParticipant:     write((*hub.Hub).AddParticipant, seqResult),
	parley.MethodCloseConversation:  write((*hub.Hub).CloseConversation, seqResult),
	parley.MethodSendMessage:        write((*hub.Hub).SendMessage, sendResult),
	parley.MethodSendTrace:          write((*hub.Hub).SendTrace, sendResult),
	parley.MethodSendNote:           write((*hub.Hub).SendNote, seqResult),
	parley.MethodSendDelta:          write(sendDelta, asJSON[parley.EmptyResult]),
	parley.MethodRegisterExecutor:   write((*hub.Hub).RegisterExecutor, asJSON[parley.RegisterExecutorResult]),
	parley.MethodClaimTurn:          write((*hub.Hub).ClaimTurn, asJSON[parley.ClaimTurnResult]),
	parley.MethodRenewClaim:         write((*hub.Hub).RenewClaim, asJSON[parley.RenewClaimResult]),
	parley.MethodReleaseClaim:       write((*hub.Hub).ReleaseClaim, asJSON[parley.EmptyResult]),
	parley.MethodCancelTurn:         write((*hub.Hub).CancelTurn, seqResult),
	parley.MethodRegisterBlueprints: write((*hub.Hub).RegisterBlueprints, asJSON[parley.RegisterBlueprintsResult]),
	parley.MethodCreateToken:        writeNoted((*hub.Hub).CreateToken, asJSON[parley.CreateTokenResult], (*audit).tokenCreated),
	parley.MethodRevokeToken:        writeNoted((*hub.Hub).RevokeToken, asJSON[parley.RevokeTokenResult], (*audit).tokensRevoked),
	parley.MethodPutAttachment:      read(plain((*hub.Hub).PutAttachment)), // waits for the disk
	parley.MethodCreateTicket:       typed[parley.CreateTicketParams, parley.CreateTicketResult](handler{waits: true, serve: createTicket}),

	parley.MethodGetConversation:    read(gated(reader[parley.GetConversationParams, parley.Snapshot](getConversation))),
	parley.MethodListConversations:  read(gated(plain((*hub.Hub).ListConversations))),
	parley.MethodWatchConversations: read(reader[parley.WatchConversationsParams, parley.WatchConversationsResult](watchConversations)),
	parley.MethodTail:               read(gated(reader[parley.TailParams, parley.TailResult](tail))),
	parley.MethodWaitForChange:      read(plain((*hub.Hub).WaitForChange)),
	parley.MethodGetUpdates:         read(reader[parley.GetUpdatesParams, parley.GetUpdatesResult](getUpdates)),
	parley.MethodGetGuidance:        read(plain((*hub.Hub).GetGuidance)),
	parley.MethodExplain:            read(gated(plain((*hub.Hub).Explain))),
	parley.MethodGetAttachment:      read(gated(plain((*hub.Hub).GetAttachment))),
	parley.MethodListAgents:         read(gated(plain((*hub.Hub).ListAgents))),
	parley.MethodStartSession:       reading(startSession), // may wait
	parley.MethodGetSession:         read(reader[parley.GetSessionParams, parley.Session](getSession)),
	parley.MethodStopSession:        read(gated(reader[parley.StopSessionParams, parley.Session](stopSession))),
	parley.MethodRequestApproval:    read(gated(plain((*hub.Hub).RequestApproval))),
	parley.MethodGetApproval:        read(reader[parley.GetApprovalParams, parley.Approval](getApproval)),
	parley.MethodListApprovals:      read(gated(plain((*hub.Hub).ListApprovals))),
	parley.MethodResolveApproval:    read(gated(plain((*hub.Hub).ResolveApproval))),
	parley.MethodGetContext:         read(waiting((*hub.Hub).GetContext)), // may wait for an embedder
	parley.MethodExplainTriggers:    reading(explainTriggers),
	parley.MethodListTokens:         read(gated(plain((*hub.Hub).ListTokens))),
	parley.MethodStats:              typed[parley.StatsParams, parley.Stats](handler{waits: true, serve: stats}),

	parley.MethodSubscribe:   typed[parley.SubscribeParams, parley.SubscribeResult](handler{waits: true, serve: subscribe}),
	parley.MethodUnsubscribe: typed[parley.UnsubscribeParams, parley.EmptyResult](handler{waits: true, serve: unsubscribe}),
})

// table completes handlers from parley.Methods and checks that the two name the same.
func table(handlers map[string]handler) map[string]handler {
	served := 0
	for _, m := range parley.Methods {
		h, ok := handlers[m.Name]
		if !ok {
			panic("rpc: no handler for " + m.Name)
		}
		if h.params == nil || h.result == nil {
			panic("rpc: the handler of " + m.Name + " does not say its types")
		}
		h.name, h.scope, h.socket = m.Name, m.Scope, m.Socket
		handlers[m.Name] = h
		served++
	}
	if served != len(handlers) {
		panic("rpc: a handler for a method that is not in parley.Methods")
	}
	return handlers
}

// typed notes what a method reads and writes. R may be a pointer to it.
func typed[P, R any](h handler) handler {
	h.params, h.result = reflect.TypeFor[P](), reflect.TypeFor[R]()
	h.decode = func(data []byte) (any, error) {
		q := new(P)
		return q, wire.Decode(data, q)
	}
	if h.result.Kind() == reflect.Pointer {
		h.result = h.result.Elem()
	}
	return h
}

// errNoSuchMethod refuses a method that is not served.
var errNoSuchMethod = parley.Refuse(parley.ErrMethodNotFound, "there is no such method", "a method of protocol.md, section 12")

// write makes a handler of a method of the hub that answers through a callback.
func write[P, R any](f func(*hub.Hub, *hub.Principal, *P, func(R, error)), encode func([]byte, R) ([]byte, error)) handler {
	return writeNoted(f, encode, func(*audit, *call, *P, R) {})
}

// writeNoted is write for what is noted in the audit.
func writeNoted[P, R any](f func(*hub.Hub, *hub.Principal, *P, func(R, error)), encode func([]byte, R) ([]byte, error), note func(*audit, *call, *P, R)) handler {
	return typed[P, R](handler{serve: func(_ context.Context, c *call) {
		q, err := paramsOf[P](c)
		if err != nil {
			c.refuse(err)
			return
		}
		f(c.server.hub, c.principal, q, func(r R, err error) {
			if err != nil {
				c.server.audit.callRefused(c, err)
				c.fail(err)
				return
			}
			note(c.server.audit, c, q, r)
			c.wrote(r)
			answerWith(c, encode, r)
		})
	}})
}

func seqResult(b []byte, r parley.SeqResult) ([]byte, error) { return appendSeqResult(b, r), nil }

func sendResult(b []byte, r parley.SendResult) ([]byte, error) { return appendSendResult(b, r), nil }

func asJSON[R any](b []byte, r R) ([]byte, error) { return appendJSON(b, r) }

func sendDelta(h *hub.Hub, p *hub.Principal, q *parley.SendDeltaParams, done func(parley.EmptyResult, error)) {
	h.SendDelta(p, q, func(err error) { done(parley.EmptyResult{}, err) })
}

// encoder writes a result.
type encoder func(b []byte) ([]byte, error)

// gate is asked once by a read before it reads what may be large.
type gate = func(context.Context) error

// reader is a method that may wait. Its encoder writes an R.
type reader[P, R any] func(context.Context, *hub.Hub, *hub.Principal, *P, gate) (encoder, error)

// read makes a handler of a reader.
func read[P, R any](f reader[P, R]) handler {
	return reading(func(*call) reader[P, R] { return f })
}

// reading makes a handler of a reader for each call.
func reading[P, R any](of func(*call) reader[P, R]) handler {
	return typed[P, R](handler{waits: true, serve: func(ctx context.Context, c *call) {
		q, err := paramsOf[P](c)
		if err != nil {
			c.refuse(err)
			return
		}
		defer c.ended()
		allowed, cancel := c.untilExpiry(ctx)
		defer cancel()
		release := func() {}
		defer func() { release() }()
		ask := func(context.Context) error {
			done, err := c.page(ctx)
			if err == nil {
				release = done
			}
			return err
		}
		result, err := of(c)(allowed, c.server.hub, c.principal, q, ask)
		if err != nil && context.Cause(allowed) == errExpired && !errors.Is(err, parley.ErrOutcomeUnknown) {
			err = errExpired
		}
		if ctx.Err() != nil || errors.Is(err, errSocketEnded) {
			return // nobody is there to be answered
		}
		if err != nil {
			c.fail(err)
			return
		}
		c.succeed(result)
	}})
}

// plain adapts a read whose result is small, and encoded as it is.
func plain[P, R any](f func(*hub.Hub, context.Context, *hub.Principal, *P) (R, error)) reader[P, R] {
	return func(ctx context.Context, h *hub.Hub, p *hub.Principal, q *P, _ gate) (encoder, error) {
		r, err := f(h, ctx, p, q)
		return func(b []byte) ([]byte, error) { return appendJSON(b, r) }, err
	}
}

// gated asks the gate first: for a read that does not wait.
func gated[P, R any](f reader[P, R]) reader[P, R] {
	return func(ctx context.Context, h *hub.Hub, p *hub.Principal, q *P, g gate) (encoder, error) {
		if err := g(ctx); err != nil {
			return nil, err
		}
		return f(ctx, h, p, q, g)
	}
}

func getConversation(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetConversationParams, _ gate) (encoder, error) {
	s, events, err := h.GetConversation(ctx, p, q)
	return func(b []byte) ([]byte, error) { return appendSnapshot(b, s, events) }, err
}

func getUpdates(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetUpdatesParams, g gate) (encoder, error) {
	u, events, err := h.GetUpdatesWhen(ctx, p, q, g)
	return func(b []byte) ([]byte, error) { return appendUpdates(b, u, events) }, err
}

// watchConversations asks the gate where it has something to tell: while it waits the caller reads other things.
func watchConversations(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.WatchConversationsParams, g gate) (encoder, error) {
	r, err := h.WatchConversations(ctx, p, q)
	if err == nil && len(r.Conversations) > 0 {
		err = g(ctx)
	}
	return func(b []byte) ([]byte, error) { return appendJSON(b, r) }, err
}

// waiting asks the gate when the answer is there: meanwhile the caller reads other things.
func waiting[P, R any](f func(*hub.Hub, context.Context, *hub.Principal, *P) (R, error)) reader[P, R] {
	return func(ctx context.Context, h *hub.Hub, p *hub.Principal, q *P, g gate) (encoder, error) {
		r, err := f(h, ctx, p, q)
		if err == nil {
			err = g(ctx)
		}
		return func(b []byte) ([]byte, error) { return appendJSON(b, r) }, err
	}
}

// explainTriggers waits too, and its answer may be large: so of one socket there is one at a time.
func explainTriggers(c *call) reader[parley.ExplainTriggersParams, *parley.ExplainTriggersResult] {
	return func(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.ExplainTriggersParams, g gate) (encoder, error) {
		if c.socket != nil {
			select {
			case c.socket.explains <- struct{}{}:
				defer func() { <-c.socket.explains }()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return waiting((*hub.Hub).ExplainTriggers)(ctx, h, p, q, g)
	}
}

func tail(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.TailParams, _ gate) (encoder, error) {
	page, err := h.Tail(ctx, p, q)
	return func(b []byte) ([]byte, error) { return appendTail(b, page.Events, page.NextSeq, page.LatestSeq), nil }, err
}

func ping(_ context.Context, c *call) {
	if _, err := paramsOf[parley.PingParams](c); err != nil {
		c.refuse(err)
		return
	}
	now := c.server.hub.Now().UnixMilli()
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, parley.PingResult{NowMs: now}) })
}

// maxClientName bounds what a client says of itself for the log.
const maxClientName = 128

func authenticate(ctx context.Context, c *call) {
	q, err := paramsOf[parley.AuthenticateParams](c)
	if err != nil {
		c.refuse(err)
		return
	}
	if len(q.ClientName) > maxClientName {
		c.refuse(parley.Refuse(parley.ErrValidationFailed, "clientName is too long", fmt.Sprintf("at most %d bytes", maxClientName)))
		return
	}
	if q.Traceparent != "" && !parley.ValidTraceparent(q.Traceparent) {
		c.refuse(parley.Refuse(parley.ErrValidationFailed, "traceparent is not one", "a traceparent of W3C Trace Context, version 00"))
		return
	}
	if c.principal != nil && q.AgentID == "" {
		q.AgentID = c.principal.AgentID
	}
	p, err := c.server.verify(ctx, c.socket.peer, q.Token, q.AgentID, c.handler.name)
	if err != nil {
		c.fail(err)
		return
	}
	if c.principal != nil && c.principal.AgentID != p.AgentID {
		c.turnDown(p, parley.Refuse(parley.ErrForbidden, "the socket speaks as another id already", c.principal.AgentID))
		return
	}
	c.server.audit.granted(p, c.from(), c.handler.name)
	if err := c.socket.renew(p); err != nil {
		c.turnDown(p, err)
		return
	}
	c.socket.traceparent = cmp.Or(q.Traceparent, c.socket.traceparent)
	c.socket.checkRevoked()
	c.server.log.Debug("hello", "remote", c.socket.remote, "agent", hostile(p.AgentID), "token", p.TokenID, "client", hostile(q.ClientName))
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, c.server.welcome(p)) })
}

// turnDown refuses a token that is good but not for this socket.
func (c *call) turnDown(p *hub.Principal, err error) {
	c.server.audit.refused(refusal{event: "agent_refused", from: c.from(), agent: p.AgentID, tokenID: p.TokenID, method: c.handler.name, err: err})
	c.refuse(err)
}

// timestampOf gives zero for the time of what never ends.
func timestampOf(t time.Time) parley.Timestamp {
	if t.IsZero() {
		return 0
	}
	return parley.TimestampOf(t)
}

func (s *Server) welcome(p *hub.Principal) parley.AuthenticateResult {
	return parley.AuthenticateResult{
		OK: true, AgentID: p.AgentID, ProtocolVersion: parley.ProtocolVersion, Agents: p.Agents(), Scopes: p.Scopes(), ExpiresAt: timestampOf(p.ExpiresAt),
		Hub: s.hub.Info(),
		Limits: parley.WireLimits{
			MaxFrameBytes: parley.MaxFrameBytes, MaxEventBytes: parley.MaxEventBytes, MaxDepth: parley.MaxDepth,
			MaxInFlight: parley.MaxInFlight, MaxSubscriptions: parley.MaxSubscriptions, MaxWaitMs: parley.MaxWaitMs, MaxPage: parley.MaxPage,
		},
	}
}
