package calls

import (
	"context"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// newHandlers returns the handlers of all methods except those that need the socket of the caller.
func newHandlers() Table {
	return Table{
		methods.Ping: NewHandler[parley.PingParams, parley.PingResult](false, ping),

		methods.CreateConversation: newWrite((*hub.Hub).CreateConversation, encodeJSON[*parley.Snapshot]),
		methods.ForkConversation: NewHandler[parley.ForkConversationParams, *parley.Snapshot](
			false, forkConversation),
		methods.AddParticipant:     newWrite((*hub.Hub).AddParticipant, encodeSeqResult),
		methods.CloseConversation:  newWrite((*hub.Hub).CloseConversation, encodeSeqResult),
		methods.SendMessage:        newWrite((*hub.Hub).SendMessage, encodeSendResult),
		methods.SendTrace:          newWrite((*hub.Hub).SendTrace, encodeSendResult),
		methods.SendNote:           newWrite((*hub.Hub).SendNote, encodeSeqResult),
		methods.SendDelta:          newWrite(sendDelta, encodeJSON[parley.EmptyResult]),
		methods.RegisterExecutor:   newWrite((*hub.Hub).RegisterExecutor, encodeJSON[parley.RegisterExecutorResult]),
		methods.ClaimTurn:          newWrite((*hub.Hub).ClaimTurn, encodeJSON[parley.ClaimTurnResult]),
		methods.RenewClaim:         newWrite((*hub.Hub).RenewClaim, encodeJSON[parley.RenewClaimResult]),
		methods.ReleaseClaim:       newWrite((*hub.Hub).ReleaseClaim, encodeJSON[parley.EmptyResult]),
		methods.CancelTurn:         newWrite((*hub.Hub).CancelTurn, encodeSeqResult),
		methods.RegisterBlueprints: newWrite((*hub.Hub).RegisterBlueprints, encodeJSON[parley.RegisterBlueprintsResult]),
		methods.CreateToken:        newWrite((*hub.Hub).CreateToken, encodeJSON[parley.CreateTokenResult]),
		methods.RevokeToken:        newWrite((*hub.Hub).RevokeToken, encodeJSON[parley.RevokeTokenResult]),
		methods.PutAttachment:      NewRead(small((*hub.Hub).PutAttachment)), // waits for the disk
		methods.CreateTicket:       NewHandler[parley.CreateTicketParams, parley.CreateTicketResult](true, createTicket),

		methods.GetConversation: NewRead(
			gated(Reader[parley.GetConversationParams, parley.Snapshot](getConversation))),
		methods.ListConversations: NewRead(gated(small((*hub.Hub).ListConversations))),
		methods.WatchConversations: NewRead(
			Reader[parley.WatchConversationsParams, parley.WatchConversationsResult](watchConversations)),
		methods.Tail:            NewRead(gated(Reader[parley.TailParams, parley.TailResult](readTail))),
		methods.WaitForChange:   NewRead(small((*hub.Hub).WaitForChange)),
		methods.GetUpdates:      NewRead(Reader[parley.GetUpdatesParams, parley.GetUpdatesResult](getUpdates)),
		methods.GetGuidance:     NewRead(small((*hub.Hub).GetGuidance)),
		methods.Explain:         NewRead(gated(small((*hub.Hub).Explain))),
		methods.GetAttachment:   NewRead(gated(small((*hub.Hub).GetAttachment))),
		methods.ListAgents:      NewRead(gated(small((*hub.Hub).ListAgents))),
		methods.StartSession:    NewRead(Reader[parley.StartSessionParams, parley.Session](startSession)), // may wait
		methods.GetSession:      NewRead(Reader[parley.GetSessionParams, parley.Session](getSession)),
		methods.StopSession:     NewRead(gated(Reader[parley.StopSessionParams, parley.Session](stopSession))),
		methods.RequestApproval: NewRead(gated(small((*hub.Hub).RequestApproval))),
		methods.GetApproval:     NewRead(Reader[parley.GetApprovalParams, parley.Approval](getApproval)),
		methods.ListApprovals:   NewRead(gated(small((*hub.Hub).ListApprovals))),
		methods.ResolveApproval: NewRead(gated(small((*hub.Hub).ResolveApproval))),
		methods.GetContext:      NewRead(waiting((*hub.Hub).GetContext)), // may wait for an embedder
		methods.ExplainTriggers: NewRead(
			Reader[parley.ExplainTriggersParams, *parley.ExplainTriggersResult](explainTriggers)),
		methods.ListTokens: NewRead(gated(small((*hub.Hub).ListTokens))),
		methods.Stats:      NewHandler[parley.StatsParams, parley.Stats](true, getStats),
	}
}

func ping(_ context.Context, c *Call, _ *parley.PingParams) {
	c.Succeed(JSON(parley.PingResult{NowMs: c.Hub().Now().UnixMilli()}))
}

func sendDelta(h *hub.Hub, p *hub.Principal, q *parley.SendDeltaParams, done func(parley.EmptyResult, error)) {
	h.SendDelta(p, q, func(err error) { done(parley.EmptyResult{}, err) })
}

// forkConversation counts the bytes that the fork copies as bytes of its caller. The call itself has few.
func forkConversation(_ context.Context, c *Call, q *parley.ForkConversationParams) {
	count := func(bytes int) error { return c.dispatcher.Admission.Rates.CountCopy(c.Principal, bytes) }
	fork := func(h *hub.Hub, p *hub.Principal, q *parley.ForkConversationParams, done func(*parley.Snapshot, error)) {
		h.ForkConversationPaid(p, q, count, done)
	}
	runWrite(c, fork, q, encodeJSON[*parley.Snapshot])
}

func createTicket(_ context.Context, c *Call, q *parley.CreateTicketParams) {
	holder := c.Principal
	if holder.IsCommand() {
		c.Fail(parley.Refuse(parley.ErrForbidden, "the token of a command makes no tickets", ""))
		return
	}
	var err error
	if q.ConversationID != "" {
		holder, err = c.Hub().Narrow(holder, q.ConversationID)
	}
	var ticket string
	if err == nil {
		ticket, err = c.dispatcher.Admission.CreateTicket(holder, q.Origin, limits.TicketLifeMs*time.Millisecond)
	}
	if err != nil {
		c.Fail(err)
		return
	}
	c.dispatcher.Admission.Audit.Grant("ticket_created", c.Actor())
	c.Succeed(JSON(parley.CreateTicketResult{Ticket: ticket, ExpiresInMs: limits.TicketLifeMs}))
}

// getStats answers with the counters of the hub and of the server.
func getStats(ctx context.Context, c *Call, q *parley.StatsParams) {
	n, err := c.Hub().Stats(ctx, c.Principal, q)
	if err != nil {
		c.Fail(err)
		return
	}
	c.dispatcher.AddStats(&n)
	c.Succeed(JSON(n))
}

func getConversation(ctx context.Context, c *Call, q *parley.GetConversationParams) (Encoder, error) {
	s, events, err := c.Hub().GetConversation(ctx, c.Principal, q)
	return func(b []byte) ([]byte, error) { return appendSnapshot(b, s, events) }, err
}

func getUpdates(ctx context.Context, c *Call, q *parley.GetUpdatesParams) (Encoder, error) {
	u, events, err := c.Hub().GetUpdatesWhen(ctx, c.Principal, q, c.WaitForPage)
	return func(b []byte) ([]byte, error) { return appendUpdates(b, u, events) }, err
}

// watchConversations waits for a page only if there are changes: while it waits for these, the caller
// reads other things.
func watchConversations(ctx context.Context, c *Call, q *parley.WatchConversationsParams) (Encoder, error) {
	r, err := c.Hub().WatchConversations(ctx, c.Principal, q)
	if err == nil && len(r.Conversations) > 0 {
		err = c.WaitForPage(ctx)
	}
	return JSON(r), err
}

func readTail(ctx context.Context, c *Call, q *parley.TailParams) (Encoder, error) {
	page, err := c.Hub().Tail(ctx, c.Principal, q)
	return func(b []byte) ([]byte, error) { return AppendTail(b, page.Events, page.NextSeq, page.LatestSeq), nil }, err
}

// explainTriggers may wait, and its answer may be large, so a socket has one such call at a time.
func explainTriggers(ctx context.Context, c *Call, q *parley.ExplainTriggersParams) (Encoder, error) {
	if c.Socket != nil {
		release, err := c.Socket.AcquireExplain(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return waiting((*hub.Hub).ExplainTriggers)(ctx, c, q)
}

// getApproval may wait, and its answer may be large. While there is no room for the answer, it is in
// the log only, not in memory.
func getApproval(ctx context.Context, c *Call, q *parley.GetApprovalParams) (Encoder, error) {
	a, err := c.Hub().GetApproval(ctx, c.Principal, q)
	if err != nil {
		return nil, err
	}
	timedOut := a.TimedOut
	a = nil
	if err := c.WaitForPage(ctx); err != nil {
		return nil, err
	}
	a, err = c.Hub().GetApproval(ctx, c.Principal, &parley.GetApprovalParams{ApprovalID: q.ApprovalID})
	if err != nil {
		return nil, err
	}
	a.TimedOut = timedOut && !a.Status.Resolved()
	return JSON(a), nil
}

func startSession(ctx context.Context, c *Call, q *parley.StartSessionParams) (Encoder, error) {
	s, err := c.Hub().StartSession(ctx, c.Principal, q)
	if err != nil {
		return nil, err
	}
	c.setSpanResult(s)
	return encodeSession(ctx, c, s)
}

func getSession(ctx context.Context, c *Call, q *parley.GetSessionParams) (Encoder, error) {
	s, err := c.Hub().GetSession(ctx, c.Principal, q)
	if err != nil {
		return nil, err
	}
	return encodeSession(ctx, c, s)
}

func stopSession(ctx context.Context, c *Call, q *parley.StopSessionParams) (Encoder, error) {
	s, err := c.Hub().StopSession(ctx, c.Principal, q)
	return JSON(s), err
}

// encodeSession answers with a session, whose result may be large. While there is no room for the
// answer, the result is in the log only, not in memory: a caller with scope read gets the session
// read again. Other callers may not read it again, so they get the session that their call returned.
func encodeSession(ctx context.Context, c *Call, s *parley.Session) (Encoder, error) {
	switch {
	case s.Result == nil:
		return JSON(s), nil
	case c.Principal.Has(parley.ScopeRead):
		return rereadSession(ctx, c, s.SessionID, s.Duplicate, s.TimedOut)
	}
	return JSON(s), c.WaitForPage(ctx)
}

// rereadSession does not take the session, so that its result can be collected during the wait.
func rereadSession(ctx context.Context, c *Call, id string, duplicate, timedOut bool) (Encoder, error) {
	if err := c.WaitForPage(ctx); err != nil {
		return nil, err
	}
	s, err := c.Hub().GetSession(ctx, c.Principal, &parley.GetSessionParams{SessionID: id})
	if err != nil {
		return nil, err
	}
	s.Duplicate, s.TimedOut = duplicate, timedOut
	return JSON(s), nil
}
