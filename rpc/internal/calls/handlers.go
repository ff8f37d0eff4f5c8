package calls

import (
	"context"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// newHandlers returns the handlers of all methods except those that need the socket of the caller.
func newHandlers() Table {
	return Table{
		parley.MethodPing: Typed[parley.PingParams, parley.PingResult](Handler{Serve: ping}),

		parley.MethodCreateConversation: newWrite((*hub.Hub).CreateConversation, encodeJSON[*parley.Snapshot]),
		parley.MethodForkConversation: Typed[parley.ForkConversationParams, *parley.Snapshot](
			Handler{Serve: forkConversation}),
		parley.MethodAddParticipant:     newWrite((*hub.Hub).AddParticipant, encodeSeqResult),
		parley.MethodCloseConversation:  newWrite((*hub.Hub).CloseConversation, encodeSeqResult),
		parley.MethodSendMessage:        newWrite((*hub.Hub).SendMessage, encodeSendResult),
		parley.MethodSendTrace:          newWrite((*hub.Hub).SendTrace, encodeSendResult),
		parley.MethodSendNote:           newWrite((*hub.Hub).SendNote, encodeSeqResult),
		parley.MethodSendDelta:          newWrite(sendDelta, encodeJSON[parley.EmptyResult]),
		parley.MethodRegisterExecutor:   newWrite((*hub.Hub).RegisterExecutor, encodeJSON[parley.RegisterExecutorResult]),
		parley.MethodClaimTurn:          newWrite((*hub.Hub).ClaimTurn, encodeJSON[parley.ClaimTurnResult]),
		parley.MethodRenewClaim:         newWrite((*hub.Hub).RenewClaim, encodeJSON[parley.RenewClaimResult]),
		parley.MethodReleaseClaim:       newWrite((*hub.Hub).ReleaseClaim, encodeJSON[parley.EmptyResult]),
		parley.MethodCancelTurn:         newWrite((*hub.Hub).CancelTurn, encodeSeqResult),
		parley.MethodRegisterBlueprints: newWrite((*hub.Hub).RegisterBlueprints, encodeJSON[parley.RegisterBlueprintsResult]),
		parley.MethodCreateToken: newAuditedWrite(
			(*hub.Hub).CreateToken, encodeJSON[parley.CreateTokenResult], auditTokenCreated),
		parley.MethodRevokeToken: newAuditedWrite(
			(*hub.Hub).RevokeToken, encodeJSON[parley.RevokeTokenResult], auditTokensRevoked),
		parley.MethodPutAttachment: NewRead(small((*hub.Hub).PutAttachment)), // waits for the disk
		parley.MethodCreateTicket: Typed[parley.CreateTicketParams, parley.CreateTicketResult](
			Handler{Waits: true, Serve: createTicket}),

		parley.MethodGetConversation: NewRead(
			gated(Reader[parley.GetConversationParams, parley.Snapshot](getConversation))),
		parley.MethodListConversations: NewRead(gated(small((*hub.Hub).ListConversations))),
		parley.MethodWatchConversations: NewRead(
			Reader[parley.WatchConversationsParams, parley.WatchConversationsResult](watchConversations)),
		parley.MethodTail:            NewRead(gated(Reader[parley.TailParams, parley.TailResult](readTail))),
		parley.MethodWaitForChange:   NewRead(small((*hub.Hub).WaitForChange)),
		parley.MethodGetUpdates:      NewRead(Reader[parley.GetUpdatesParams, parley.GetUpdatesResult](getUpdates)),
		parley.MethodGetGuidance:     NewRead(small((*hub.Hub).GetGuidance)),
		parley.MethodExplain:         NewRead(gated(small((*hub.Hub).Explain))),
		parley.MethodGetAttachment:   NewRead(gated(small((*hub.Hub).GetAttachment))),
		parley.MethodListAgents:      NewRead(gated(small((*hub.Hub).ListAgents))),
		parley.MethodStartSession:    newReadFor(startSession), // may wait
		parley.MethodGetSession:      NewRead(Reader[parley.GetSessionParams, parley.Session](getSession)),
		parley.MethodStopSession:     NewRead(gated(Reader[parley.StopSessionParams, parley.Session](stopSession))),
		parley.MethodRequestApproval: NewRead(gated(small((*hub.Hub).RequestApproval))),
		parley.MethodGetApproval:     NewRead(Reader[parley.GetApprovalParams, parley.Approval](getApproval)),
		parley.MethodListApprovals:   NewRead(gated(small((*hub.Hub).ListApprovals))),
		parley.MethodResolveApproval: NewRead(gated(small((*hub.Hub).ResolveApproval))),
		parley.MethodGetContext:      NewRead(waiting((*hub.Hub).GetContext)), // may wait for an embedder
		parley.MethodExplainTriggers: newReadFor(explainTriggers),
		parley.MethodListTokens:      NewRead(gated(small((*hub.Hub).ListTokens))),
		parley.MethodStats:           Typed[parley.StatsParams, parley.Stats](Handler{Waits: true, Serve: getStats}),
	}
}

func ping(_ context.Context, c *Call) {
	if _, err := ParamsOf[parley.PingParams](c); err != nil {
		c.Refuse(err)
		return
	}
	c.Succeed(JSON(parley.PingResult{NowMs: c.dispatcher.Hub.Now().UnixMilli()}))
}

func sendDelta(h *hub.Hub, p *hub.Principal, q *parley.SendDeltaParams, done func(parley.EmptyResult, error)) {
	h.SendDelta(p, q, func(err error) { done(parley.EmptyResult{}, err) })
}

// forkConversation counts the bytes that the fork copies as bytes of its caller. The call itself has few.
func forkConversation(ctx context.Context, c *Call) {
	count := func(bytes int) error { return c.dispatcher.Admission.Rates.CountCopy(c.Principal, bytes) }
	fork := func(h *hub.Hub, p *hub.Principal, q *parley.ForkConversationParams, done func(*parley.Snapshot, error)) {
		h.ForkConversationPaid(p, q, count, done)
	}
	newWrite(fork, encodeJSON[*parley.Snapshot]).Serve(ctx, c)
}

func createTicket(_ context.Context, c *Call) {
	q, err := ParamsOf[parley.CreateTicketParams](c)
	if err != nil {
		c.Refuse(err)
		return
	}
	holder := c.Principal
	if holder.IsCommand() {
		c.Fail(parley.Refuse(parley.ErrForbidden, "the token of a command makes no tickets", ""))
		return
	}
	if q.ConversationID != "" {
		holder, err = c.dispatcher.Hub.Narrow(holder, q.ConversationID)
	}
	var ticket string
	if err == nil {
		ticket, err = c.dispatcher.Admission.CreateTicket(holder, q.Origin, parley.TicketLifeMs*time.Millisecond)
	}
	if err != nil {
		c.Fail(err)
		return
	}
	c.dispatcher.Admission.Audit.Grant("ticket_created", c.Actor())
	c.Succeed(JSON(parley.CreateTicketResult{Ticket: ticket, ExpiresInMs: parley.TicketLifeMs}))
}

// getStats answers with the counters of the hub and of the server.
func getStats(ctx context.Context, c *Call) {
	q, err := ParamsOf[parley.StatsParams](c)
	if err != nil {
		c.Refuse(err)
		return
	}
	n, err := c.dispatcher.Hub.Stats(ctx, c.Principal, q)
	if err != nil {
		c.Fail(err)
		return
	}
	c.dispatcher.AddStats(&n)
	c.Succeed(JSON(n))
}

func getConversation(
	ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetConversationParams, _ Gate,
) (Encoder, error) {
	s, events, err := h.GetConversation(ctx, p, q)
	return func(b []byte) ([]byte, error) { return appendSnapshot(b, s, events) }, err
}

func getUpdates(
	ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetUpdatesParams, gate Gate,
) (Encoder, error) {
	u, events, err := h.GetUpdatesWhen(ctx, p, q, gate)
	return func(b []byte) ([]byte, error) { return appendUpdates(b, u, events) }, err
}

// watchConversations waits for the gate only if there are changes: while it waits for these, the
// caller reads other things.
func watchConversations(
	ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.WatchConversationsParams, gate Gate,
) (Encoder, error) {
	r, err := h.WatchConversations(ctx, p, q)
	if err == nil && len(r.Conversations) > 0 {
		err = gate(ctx)
	}
	return JSON(r), err
}

func readTail(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.TailParams, _ Gate) (Encoder, error) {
	page, err := h.Tail(ctx, p, q)
	return func(b []byte) ([]byte, error) { return AppendTail(b, page.Events, page.NextSeq, page.LatestSeq), nil }, err
}

// explainTriggers may wait, and its answer may be large, so a socket has one such call at a time.
func explainTriggers(c *Call) Reader[parley.ExplainTriggersParams, *parley.ExplainTriggersResult] {
	return func(
		ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.ExplainTriggersParams, gate Gate,
	) (Encoder, error) {
		if c.Socket != nil {
			release, err := c.Socket.AcquireExplain(ctx)
			if err != nil {
				return nil, err
			}
			defer release()
		}
		return waiting((*hub.Hub).ExplainTriggers)(ctx, h, p, q, gate)
	}
}

// getApproval may wait, and its answer may be large. While there is no room for the answer, it is in
// the log only, not in memory.
func getApproval(
	ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetApprovalParams, gate Gate,
) (Encoder, error) {
	a, err := h.GetApproval(ctx, p, q)
	if err != nil {
		return nil, err
	}
	timedOut := a.TimedOut
	a = nil
	if err := gate(ctx); err != nil {
		return nil, err
	}
	if a, err = h.GetApproval(ctx, p, &parley.GetApprovalParams{ApprovalID: q.ApprovalID}); err != nil {
		return nil, err
	}
	a.TimedOut = timedOut && !a.Status.Resolved()
	return JSON(a), nil
}

func startSession(c *Call) Reader[parley.StartSessionParams, parley.Session] {
	return func(
		ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.StartSessionParams, gate Gate,
	) (Encoder, error) {
		s, err := h.StartSession(ctx, p, q)
		if err != nil {
			return nil, err
		}
		c.setSpanResult(s)
		return encodeSession(ctx, h, p, s, gate)
	}
}

func getSession(
	ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetSessionParams, gate Gate,
) (Encoder, error) {
	s, err := h.GetSession(ctx, p, q)
	if err != nil {
		return nil, err
	}
	return encodeSession(ctx, h, p, s, gate)
}

func stopSession(
	ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.StopSessionParams, _ Gate,
) (Encoder, error) {
	s, err := h.StopSession(ctx, p, q)
	return JSON(s), err
}

// encodeSession answers with a session, whose result may be large. While there is no room for the
// answer, the result is in the log only, not in memory: a caller with scope read gets the session
// read again. Other callers may not read it again, so they get the session that their call returned.
func encodeSession(
	ctx context.Context, h *hub.Hub, p *hub.Principal, s *parley.Session, gate Gate,
) (Encoder, error) {
	switch {
	case s.Result == nil:
		return JSON(s), nil
	case p.Has(parley.ScopeRead):
		return rereadSession(ctx, h, p, s.SessionID, s.Duplicate, s.TimedOut, gate)
	}
	return JSON(s), gate(ctx)
}

// rereadSession does not take the session, so that its result can be collected during the wait.
func rereadSession(
	ctx context.Context, h *hub.Hub, p *hub.Principal, id string, duplicate, timedOut bool, gate Gate,
) (Encoder, error) {
	if err := gate(ctx); err != nil {
		return nil, err
	}
	s, err := h.GetSession(ctx, p, &parley.GetSessionParams{SessionID: id})
	if err != nil {
		return nil, err
	}
	s.Duplicate, s.TimedOut = duplicate, timedOut
	return JSON(s), nil
}
