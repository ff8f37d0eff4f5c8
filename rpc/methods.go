package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// handler is how a method is served.
type handler struct {
	name   string
	scope  parley.Scope
	socket bool // needs one
	// waits: serve runs on a goroutine of its own. Otherwise it runs where the request was read and must not block.
	waits bool
	serve func(ctx context.Context, c *call)
}

// handlers has one for each method of parley.Methods that is served: see protocol.md, section 11.
var handlers = table(map[string]handler{
	parley.MethodAuthenticate: {serve: authenticate},
	parley.MethodPing:         {serve: ping},

	parley.MethodCreateConversation: write((*hub.Hub).CreateConversation, func(b []byte, s *parley.Snapshot) ([]byte, error) { return appendJSON(b, s) }),
	parley.MethodAddParticipant:     write((*hub.Hub).AddParticipant, seqResult),
	parley.MethodCloseConversation:  write((*hub.Hub).CloseConversation, seqResult),
	parley.MethodSendMessage:        write((*hub.Hub).SendMessage, sendResult),
	parley.MethodSendTrace:          write((*hub.Hub).SendTrace, sendResult),
	parley.MethodSendNote:           write((*hub.Hub).SendNote, seqResult),
	parley.MethodSendDelta:          write(sendDelta, asJSON[parley.EmptyResult]),
	parley.MethodCreateToken:        write((*hub.Hub).CreateToken, asJSON[parley.CreateTokenResult]),

	parley.MethodGetConversation:   read(gated(getConversation)),
	parley.MethodListConversations: read(gated(plain((*hub.Hub).ListConversations))),
	parley.MethodTail:              read(gated(tail)),
	parley.MethodWaitForChange:     read(plain((*hub.Hub).WaitForChange)),
	parley.MethodGetUpdates:        read(getUpdates),
	parley.MethodGetGuidance:       read(plain((*hub.Hub).GetGuidance)),
	parley.MethodExplain:           read(gated(plain((*hub.Hub).Explain))),

	parley.MethodSubscribe:   {waits: true, serve: subscribe},
	parley.MethodUnsubscribe: {waits: true, serve: unsubscribe},
})

// table completes handlers from parley.Methods and checks that the two name the same.
func table(handlers map[string]handler) map[string]handler {
	served := 0
	for _, m := range parley.Methods {
		if m.Later {
			continue
		}
		h, ok := handlers[m.Name]
		if !ok {
			panic("rpc: no handler for " + m.Name)
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

// noSuchMethod refuses a method that is not served.
func noSuchMethod(name string) error {
	if m, known := parley.MethodByName(name); known && m.Later {
		return parley.Refuse(parley.ErrMethodNotFound, name+" is not served by this version", "")
	}
	return parley.Refuse(parley.ErrMethodNotFound, "there is no such method", "a method of protocol.md, section 11")
}

// write makes a handler of a method of the hub that answers through a callback.
func write[P, R any](f func(*hub.Hub, *hub.Principal, *P, func(R, error)), encode func([]byte, R) ([]byte, error)) handler {
	return handler{serve: func(_ context.Context, c *call) {
		q := new(P)
		if err := c.decode(q); err != nil {
			c.refuse(err)
			return
		}
		f(c.server.hub, c.principal, q, func(r R, err error) {
			if err != nil {
				c.fail(err)
				return
			}
			c.succeed(func(b []byte) ([]byte, error) { return encode(b, r) })
		})
	}}
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

// read makes a handler of a method that may wait.
func read[P any](f func(context.Context, *hub.Hub, *hub.Principal, *P, gate) (encoder, error)) handler {
	return handler{waits: true, serve: func(ctx context.Context, c *call) {
		q := new(P)
		if err := c.decode(q); err != nil {
			c.refuse(err)
			return
		}
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
		result, err := f(allowed, c.server.hub, c.principal, q, ask)
		if err != nil && context.Cause(allowed) == errExpired {
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
	}}
}

// plain adapts a read whose result is small, and encoded as it is.
func plain[P, R any](f func(*hub.Hub, context.Context, *hub.Principal, *P) (R, error)) func(context.Context, *hub.Hub, *hub.Principal, *P, gate) (encoder, error) {
	return func(ctx context.Context, h *hub.Hub, p *hub.Principal, q *P, _ gate) (encoder, error) {
		r, err := f(h, ctx, p, q)
		return func(b []byte) ([]byte, error) { return appendJSON(b, r) }, err
	}
}

// gated asks the gate first: for a read that does not wait.
func gated[P any](f func(context.Context, *hub.Hub, *hub.Principal, *P, gate) (encoder, error)) func(context.Context, *hub.Hub, *hub.Principal, *P, gate) (encoder, error) {
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

func tail(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.TailParams, _ gate) (encoder, error) {
	page, err := h.Tail(ctx, p, q)
	return func(b []byte) ([]byte, error) { return appendTail(b, page.Events, page.NextSeq, page.LatestSeq), nil }, err
}

func ping(_ context.Context, c *call) {
	if err := c.decode(&parley.PingParams{}); err != nil {
		c.refuse(err)
		return
	}
	now := c.server.hub.Now().UnixMilli()
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, parley.PingResult{NowMs: now}) })
}

// maxClientName bounds what a client says of itself for the log.
const maxClientName = 128

func authenticate(ctx context.Context, c *call) {
	var q parley.AuthenticateParams
	if err := c.decode(&q); err != nil {
		c.refuse(err)
		return
	}
	if len(q.ClientName) > maxClientName {
		c.refuse(parley.Refuse(parley.ErrValidationFailed, "clientName is too long", fmt.Sprintf("at most %d bytes", maxClientName)))
		return
	}
	if c.principal != nil && q.AgentID == "" {
		q.AgentID = c.principal.AgentID
	}
	p, err := c.server.hub.Authenticate(ctx, q.Token, q.AgentID)
	if err != nil {
		c.fail(err)
		return
	}
	if c.principal != nil && c.principal.AgentID != p.AgentID {
		c.refuse(parley.Refuse(parley.ErrForbidden, "the socket speaks as another id already", c.principal.AgentID))
		return
	}
	if err := c.socket.renew(p); err != nil {
		c.refuse(err)
		return
	}
	c.server.log.Debug("authenticated", "remote", c.socket.remote, "agent", p.AgentID, "token", p.TokenID, "client", q.ClientName)
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, c.server.welcome(p)) })
}

func (s *Server) welcome(p *hub.Principal) parley.AuthenticateResult {
	return parley.AuthenticateResult{
		OK: true, AgentID: p.AgentID, ProtocolVersion: parley.ProtocolVersion,
		Hub: parley.HubInfo{Version: s.hub.Version(), NowMs: s.hub.Now().UnixMilli()},
		Limits: parley.WireLimits{
			MaxFrameBytes: parley.MaxFrameBytes, MaxEventBytes: parley.MaxEventBytes, MaxDepth: parley.MaxDepth,
			MaxInFlight: parley.MaxInFlight, MaxSubscriptions: parley.MaxSubscriptions, MaxWaitMs: parley.MaxWaitMs, MaxPage: parley.MaxPage,
		},
	}
}
