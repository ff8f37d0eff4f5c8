package hub

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// Page is some visible events, as stored. NextSeq is the last seq examined.
type Page struct {
	Events    [][]byte
	NextSeq   int64
	LatestSeq int64
}

// maxExamined bounds the events that one page may look at to find visible ones.
const maxExamined = 20_000

// page gives visible events after a seq that match, at most limit of them, up to the seq latest: so that a page and the state
// beside it are of one moment.
func (c *conversation) page(seq, latest int64, limit int, match func(seq int64, m fold.Meta) bool) (Page, error) {
	p := Page{Events: [][]byte{}, NextSeq: seq, LatestSeq: latest}
	end := min(latest, seq+maxExamined)
	size := 0
	for p.NextSeq < end {
		frames, err := c.after(nil, p.NextSeq, min(max(limit, 50), 500))
		if err != nil {
			return Page{}, err
		}
		for _, f := range frames {
			if f.seq > end {
				break
			}
			if match(f.seq, f.meta) {
				if len(p.Events) > 0 && size+len(f.data) > parley.MaxPageBytes {
					return p, nil
				}
				p.Events = append(p.Events, f.data)
				size += len(f.data)
			}
			p.NextSeq = f.seq
			if len(p.Events) == limit {
				return p, nil
			}
		}
	}
	return p, nil
}

// all matches whatever a viewer sees.
func all(v fold.Viewer) func(int64, fold.Meta) bool {
	return func(_ int64, m fold.Meta) bool { return v.Sees(m) }
}

func checkLimit(limit, maximum, preset int) (int, error) {
	switch {
	case limit == 0:
		return preset, nil
	case limit < 0 || limit > maximum:
		return 0, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("limit is %d", limit), fmt.Sprintf("1 to %d", maximum))
	}
	return limit, nil
}

// latest is the last committed seq.
func (c *conversation) latest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.durable.Seq
}

// checkCursor refuses a cursor that is no seq of this log.
func (c *conversation) checkCursor(seq int64) error {
	latest, err := c.reached(context.Background(), seq)
	switch {
	case err != nil:
		return err
	case seq < 0:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("sinceSeq is %d", seq), "0 or more")
	case seq > latest:
		return parley.Refuse(parley.ErrCursorAhead, fmt.Sprintf("sinceSeq %d is beyond the log", seq), fmt.Sprintf("at most %d", latest))
	}
	return nil
}

// open is enter with a cursor and a limit; the conversation is pinned when there is no error.
func (h *Hub) open(p *Principal, method, id string, seq int64, limit int) (*conversation, int, error) {
	c, err := h.enter(p, method, id)
	if err != nil {
		return nil, 0, err
	}
	limit, err = checkLimit(limit, parley.MaxPage, parley.DefaultPage)
	if err == nil {
		err = c.checkCursor(seq)
	}
	if err != nil {
		h.unpin(c)
		return nil, 0, err
	}
	return c, limit, nil
}

// GetConversation gives a snapshot; the events are given beside it, as stored.
func (h *Hub) GetConversation(_ context.Context, p *Principal, q *parley.GetConversationParams) (*parley.Snapshot, [][]byte, error) {
	p = p.in(q.ConversationID)
	c, limit, err := h.open(p, parley.MethodGetConversation, q.ConversationID, q.SinceSeq, q.Limit)
	if err != nil {
		return nil, nil, err
	}
	defer h.unpin(c)
	return c.snapshot(p, q.SinceSeq, limit)
}

// snapshot gives the conversation as p sees it, with at most limit events after since; with limit 0 none.
func (c *conversation) snapshot(p *Principal, since int64, limit int) (*parley.Snapshot, [][]byte, error) {
	c.mu.Lock()
	s, hash := c.durable, c.hash
	c.mu.Unlock()
	end := s.Seq
	if limit == 0 {
		end = since
	}
	page, err := c.page(since, end, limit, all(p.viewer()))
	if err != nil {
		return nil, nil, err
	}
	snapshot := snapshotOf(&s)
	snapshot.Guidance = c.hub.guide(&s, p.AgentID, false)
	snapshot.HeadHash, snapshot.NextSeq = hex.EncodeToString(hash[:]), page.NextSeq
	return snapshot, page.Events, nil
}

func snapshotOf(s *fold.State) *parley.Snapshot {
	out := &parley.Snapshot{
		ConversationID: s.ID, Status: s.Status, Title: s.Title, CreatedBy: s.CreatedBy, CreatedAt: s.CreatedAt,
		Participants: append([]parley.Participant{}, s.Participants...), Policy: s.Policy, StartsWith: s.StartsWith, Limits: s.Limits,
		Metadata: bytes.Clone(s.Metadata), Workspace: s.Workspace, Session: sessionOf(s), Fork: forkOf(s), LatestSeq: s.Seq, Turn: s.CurrentTurn(),
		Outcome: outcomeOf(s), Events: []parley.Event{},
	}
	if s.Open {
		out.OpenTurn = &parley.OpenTurn{Turn: s.Turn, Owner: s.Owner, Claim: s.ClaimState()}
	}
	return out
}

// sessionOf gives a copy, as outcomeOf does.
func sessionOf(s *fold.State) *parley.SessionRecord {
	if s.Session == nil {
		return nil
	}
	r := *s.Session
	r.Demands = maps.Clone(r.Demands)
	if r.Runner != nil {
		ref := *r.Runner
		r.Runner = &ref
	}
	if r.Trigger != nil {
		trigger := *r.Trigger
		r.Trigger = &trigger
	}
	if r.Cause != nil {
		cause := *r.Cause
		r.Cause = &cause
	}
	return &r
}

// outcomeOf gives a copy: callers inside the process may do with it what they like.
func outcomeOf(s *fold.State) *parley.Outcome {
	if s.Outcome == nil {
		return nil
	}
	o := *s.Outcome
	return &o
}

// Tail gives a page of events.
func (h *Hub) Tail(_ context.Context, p *Principal, q *parley.TailParams) (Page, error) {
	p = p.in(q.ConversationID)
	c, limit, err := h.open(p, parley.MethodTail, q.ConversationID, q.SinceSeq, q.Limit)
	if err != nil {
		return Page{}, err
	}
	defer h.unpin(c)
	return c.page(q.SinceSeq, c.latest(), limit, all(p.viewer()))
}

// GetGuidance gives the caller's guidance.
func (h *Hub) GetGuidance(_ context.Context, p *Principal, q *parley.GetGuidanceParams) (parley.GetGuidanceResult, error) {
	p = p.in(q.ConversationID)
	c, err := h.enter(p, parley.MethodGetGuidance, q.ConversationID)
	if err != nil {
		return parley.GetGuidanceResult{}, err
	}
	defer h.unpin(c)
	c.mu.Lock()
	s := c.durable
	c.mu.Unlock()
	return parley.GetGuidanceResult{Guidance: h.guide(&s, p.AgentID, q.Explain), LatestSeq: s.Seq}, nil
}

// Explain gives the guidance of every participant at a seq, with the rules tried.
func (h *Hub) Explain(ctx context.Context, p *Principal, q *parley.ExplainParams) (*parley.ExplainResult, error) {
	p = p.in(q.ConversationID)
	c, err := h.enter(p, parley.MethodExplain, q.ConversationID)
	if err != nil {
		return nil, err
	}
	defer h.unpin(c)
	if _, err := c.reached(ctx, q.Seq); err != nil {
		return nil, err
	}
	c.mu.Lock()
	s := c.durable
	c.mu.Unlock()
	if q.Seq < 0 || q.Seq > s.Seq {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("seq is %d", q.Seq), fmt.Sprintf("1 to %d", s.Seq))
	}
	if q.Seq > 0 && q.Seq < s.Seq {
		if s, err = h.stateAt(ctx, c.id, q.Seq); err != nil {
			return nil, err
		}
	}
	out := &parley.ExplainResult{Seq: s.Seq, Guidance: []parley.ParticipantGuidance{}}
	for _, seat := range s.Participants {
		out.Guidance = append(out.Guidance, parley.ParticipantGuidance{ParticipantID: seat.ID, Guidance: s.Guidance(seat.ID, true)})
	}
	return out, nil
}

// stateAt folds the events up to a seq.
func (h *Hub) stateAt(ctx context.Context, id string, seq int64) (fold.State, error) {
	s := fold.State{ID: id}
	for s.Seq < seq {
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
		records, err := h.journal.Read(id, s.Seq, int(min(seq-s.Seq, 1000)), 4<<20)
		if err != nil {
			return s, fmt.Errorf("read %s: %w", id, err)
		}
		for _, r := range records {
			var e parley.Event
			if err := e.UnmarshalJSON(r.Data); err != nil {
				return s, err
			}
			if s, err = s.Apply(&e, len(r.Data)); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

func decodeEvents(raw [][]byte) ([]parley.Event, error) {
	events := make([]parley.Event, len(raw))
	for i, b := range raw {
		if err := events[i].UnmarshalJSON(b); err != nil {
			return nil, fmt.Errorf("decode a stored event: %w", err)
		}
	}
	return events, nil
}

// waitTime gives a timer for a timeout of the wire.
func waitTime(timeoutMs int64) (timer *time.Timer, err error) {
	if timeoutMs < 0 {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("timeoutMs is %d", timeoutMs), fmt.Sprintf("0 to %d", parley.MaxWaitMs))
	}
	return time.NewTimer(time.Duration(min(timeoutMs, parley.MaxWaitMs)) * time.Millisecond), nil
}
