package hub

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
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
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("sinceSeq is %d", seq), "0 or more")
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

// snapshotOf returns a snapshot of a state without events and guidance.
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
		return nil, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("seq is %d", q.Seq), fmt.Sprintf("1 to %d", s.Seq))
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
