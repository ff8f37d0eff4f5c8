package hub

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// open enters a conversation and checks the cursor and the limit of a method. The conversation is pinned if
// there is no error.
func (h *Hub) open(p *auth.Principal, method, id string, seq int64, limit int) (*conv.Conversation, int, error) {
	c, err := h.auth.Enter(p, method, id)
	if err != nil {
		return nil, 0, err
	}
	limit, err = page.CheckLimit(limit, parley.MaxPage, limits.DefaultPage)
	if err == nil {
		err = checkCursor(c, seq)
	}
	if err != nil {
		h.conv.Unpin(c)
		return nil, 0, err
	}
	return c, limit, nil
}

// checkCursor refuses a seq that is negative or beyond the log.
func checkCursor(c *conv.Conversation, seq int64) error {
	latest, err := c.Reached(context.Background(), seq)
	switch {
	case err != nil:
		return err
	case seq < 0:
		return page.Invalid("0 or more", "sinceSeq is %d", seq)
	case seq > latest:
		return parley.Refuse(parley.ErrCursorAhead,
			fmt.Sprintf("sinceSeq %d is beyond the log", seq), fmt.Sprintf("at most %d", latest))
	}
	return nil
}

// GetConversation returns a snapshot without events, and the encoded events.
func (h *Hub) GetConversation(
	_ context.Context, p *auth.Principal, q *parley.GetConversationParams,
) (*parley.Snapshot, [][]byte, error) {
	p = p.In(q.ConversationID)
	c, limit, err := h.open(p, methods.GetConversation, q.ConversationID, q.SinceSeq, q.Limit)
	if err != nil {
		return nil, nil, err
	}
	defer h.conv.Unpin(c)
	return h.snapshot(c, p, q.SinceSeq, limit)
}

// snapshot returns the conversation as p sees it, and at most limit encoded events after since. limit may be
// 0.
func (h *Hub) snapshot(
	c *conv.Conversation, p *auth.Principal, since int64, limit int,
) (*parley.Snapshot, [][]byte, error) {
	s, hash := c.DurableHash()
	end := s.Seq
	if limit == 0 {
		end = since
	}
	page, err := c.Page(since, end, limit, conv.VisibleTo(p.Viewer()))
	if err != nil {
		return nil, nil, err
	}
	snapshot := snapshotOf(&s)
	snapshot.Guidance = h.guidance(&s, p.AgentID, false)
	snapshot.HeadHash, snapshot.NextSeq = hex.EncodeToString(hash[:]), page.NextSeq
	return snapshot, page.Events, nil
}

func snapshotOf(s *fold.State) *parley.Snapshot {
	out := &parley.Snapshot{
		ConversationID: s.ID, Status: s.Status, Title: s.Title, CreatedBy: s.CreatedBy, CreatedAt: s.CreatedAt,
		Participants: append([]parley.Participant{}, s.Participants...), Policy: s.Policy, StartsWith: s.StartsWith,
		Limits: s.Limits, Metadata: bytes.Clone(s.Metadata), Workspace: s.Workspace, Session: cloneSession(s.Session),
		Fork: clone(s.Fork), LatestSeq: s.Seq, Turn: s.CurrentTurn(), Outcome: clone(s.Outcome), Events: []parley.Event{},
	}
	if s.Open {
		out.OpenTurn = &parley.OpenTurn{Turn: s.Turn, Owner: s.Owner, Claim: s.ClaimState()}
	}
	return out
}

// cloneSession returns a deep copy of r; r may be nil.
func cloneSession(r *parley.SessionRecord) *parley.SessionRecord {
	if r = clone(r); r != nil {
		r.Demands = maps.Clone(r.Demands)
		r.Runner, r.Trigger, r.Cause = clone(r.Runner), clone(r.Trigger), clone(r.Cause)
	}
	return r
}

// clone returns a copy of v, which callers inside the process may change; v may be nil.
func clone[T any](v *T) *T {
	if v == nil {
		return nil
	}
	copied := *v
	return &copied
}

// Tail returns a page of at most Limit encoded events after SinceSeq.
func (h *Hub) Tail(_ context.Context, p *auth.Principal, q *parley.TailParams) (conv.Page, error) {
	p = p.In(q.ConversationID)
	c, limit, err := h.open(p, methods.Tail, q.ConversationID, q.SinceSeq, q.Limit)
	if err != nil {
		return conv.Page{}, err
	}
	defer h.conv.Unpin(c)
	return c.Page(q.SinceSeq, c.Durable().Seq, limit, conv.VisibleTo(p.Viewer()))
}

// GetGuidance returns the guidance of the caller.
func (h *Hub) GetGuidance(
	_ context.Context, p *auth.Principal, q *parley.GetGuidanceParams,
) (parley.GetGuidanceResult, error) {
	p = p.In(q.ConversationID)
	c, err := h.auth.Enter(p, methods.GetGuidance, q.ConversationID)
	if err != nil {
		return parley.GetGuidanceResult{}, err
	}
	defer h.conv.Unpin(c)
	s := c.Durable()
	return parley.GetGuidanceResult{Guidance: h.guidance(&s, p.AgentID, q.Explain), LatestSeq: s.Seq}, nil
}

// Explain returns the guidance of every participant at a seq, with the rules that the policy tried. Seq 0
// means the latest.
func (h *Hub) Explain(ctx context.Context, p *auth.Principal, q *parley.ExplainParams) (*parley.ExplainResult, error) {
	p = p.In(q.ConversationID)
	c, err := h.auth.Enter(p, methods.Explain, q.ConversationID)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	if _, err := c.Reached(ctx, q.Seq); err != nil {
		return nil, err
	}
	s := c.Durable()
	if q.Seq < 0 || q.Seq > s.Seq {
		return nil, page.Invalid(fmt.Sprintf("1 to %d", s.Seq), "seq is %d", q.Seq)
	}
	if q.Seq > 0 && q.Seq < s.Seq {
		if s, err = conv.StateAt(ctx, h.journal, c.ID(), q.Seq); err != nil {
			return nil, err
		}
	}
	out := &parley.ExplainResult{Seq: s.Seq, Guidance: []parley.ParticipantGuidance{}}
	for _, seat := range s.Participants {
		g := parley.ParticipantGuidance{ParticipantID: seat.ID, Guidance: s.Guidance(seat.ID, true)}
		out.Guidance = append(out.Guidance, g)
	}
	return out, nil
}

// Subscribe returns a subscription from sinceSeq on. It keeps the conversation in memory until Close.
func (h *Hub) Subscribe(_ context.Context, p *Principal, q *parley.SubscribeParams) (*Subscription, error) {
	p = p.In(q.ConversationID)
	c, _, err := h.open(p, methods.Subscribe, q.ConversationID, q.SinceSeq, 0)
	if err != nil {
		return nil, err
	}
	s, err := c.Subscribe(p, q.SinceSeq, q.Types)
	if err != nil {
		h.conv.Unpin(c)
	}
	return s, err
}

// Connect returns a connection of a caller outside of the hub's process. notify is called with the
// notifications of its registration, in order; it must not block. replaced is called once when another
// connection registers as the same executor; then this one should end. Both may be nil.
func (h *Hub) Connect(notify func(parley.ExecutorNotification), replaced func()) *Connection {
	return h.turns.NewConnection(false, notify, replaced)
}

// CancelTurn ends a turn without a final message.
func (h *Hub) CancelTurn(p *Principal, q *parley.CancelTurnParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterOwn(p, methods.CancelTurn, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	err = check.Reason(q.Reason)
	if q.Turn < 1 {
		err = page.Invalid("1 or more", "turn is %d", q.Turn)
	}
	h.decide(c, p, err, fold.Command{Do: &fold.Cancel{Turn: q.Turn, Detail: q.Reason}}, nil, done)
}

// guidance returns the guidance of a state for a participant. It adds to the reason that attempts failed
// or that the speaker has no executor. Whether an executor is online is not in the log.
func (h *Hub) guidance(s *fold.State, id string, explain bool) parley.Guidance {
	g := s.Guidance(id, explain)
	seat := s.Seat(g.Speaker)
	if g.Kind == parley.Closed || g.Claim != nil || s.AwaitsApproval() || seat < 0 || !s.Participants[seat].Kind.Claims() {
		return g
	}
	for _, a := range s.Asks() {
		if a.AgentID == g.Speaker && !a.Offer {
			g.Reason += fmt.Sprintf(" The %d attempts at turn %d have failed.", a.Attempts, g.Turn)
		}
	}
	if !h.turns.IsOnline(s, seat) {
		g.Reason += fmt.Sprintf(" No executor of %s is registered.", fold.AgentName(s.Participants[seat]))
	}
	return g
}

// floor returns whose turn it is in a conversation and what blocks the turn, or nil if the conversation is
// closed. Whether an executor is online is not in the log.
func (h *Hub) floor(s *fold.State) *parley.Floor {
	if s.Closed() || !s.Exists() {
		return nil
	}
	out := &parley.Floor{
		Turn: s.CurrentTurn(), Speaker: s.Floor().Speaker, Open: s.Open, Since: s.FloorSince,
		Claim: s.ClaimState(), Approvals: len(s.Pending()),
	}
	for _, t := range s.Tries {
		out.Attempts += t.Attempts
	}
	seat := s.Seat(out.Speaker)
	if seat >= 0 {
		out.Kind = s.Participants[seat].Kind
	}
	out.Stuck = h.stuckReason(s, seat)
	return out
}

// stuckReason returns what the turn of a seat waits for that needs an action, or an empty reason. seat is
// negative if no participant has the floor.
func (h *Hub) stuckReason(s *fold.State, seat int) parley.StuckReason {
	switch {
	case s.AwaitsApproval():
		return parley.StuckApproval
	case s.Claim != nil, seat < 0, !s.Participants[seat].Kind.Claims():
		return ""
	case !h.turns.IsOnline(s, seat):
		return parley.StuckNoExecutor
	case s.Attempts(s.Participants[seat].ID) >= s.Limits.Attempts() &&
		s.Limits.AtTurnTimeout() == parley.TurnReoffer:
		return parley.StuckAttempts
	}
	return ""
}
