package hub

import (
	"context"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/methods"
)

// A wait reads the state and takes the channel that the next change closes, under one lock. So it misses no
// change between the read and the wait.

// WaitForChange waits until the log is longer than SinceSeq, for at most TimeoutMs.
func (h *Hub) WaitForChange(
	ctx context.Context, p *auth.Principal, q *parley.WaitForChangeParams,
) (parley.WaitForChangeResult, error) {
	p = p.In(q.ConversationID)
	c, _, err := h.open(p, methods.WaitForChange, q.ConversationID, q.SinceSeq, 0)
	if err != nil {
		return parley.WaitForChangeResult{}, err
	}
	defer h.conv.Unpin(c)
	var out parley.WaitForChangeResult
	err = page.Poll(ctx, h.conv, p, q.TimeoutMs, func(timedOut bool) (<-chan struct{}, bool, error) {
		latest, changed, err := c.Changed()
		grown := latest > q.SinceSeq
		out = parley.WaitForChangeResult{LatestSeq: latest, TimedOut: timedOut && !grown && q.TimeoutMs > 0}
		return changed, grown, err
	})
	return out, err
}

// GetUpdates waits until the condition Until holds, for at most TimeoutMs. It returns the guidance of the
// caller, and the encoded messages after SinceSeq.
func (h *Hub) GetUpdates(
	ctx context.Context, p *auth.Principal, q *parley.GetUpdatesParams,
) (*parley.GetUpdatesResult, [][]byte, error) {
	return h.GetUpdatesWhen(ctx, p, q, func(context.Context) error { return nil })
}

// GetUpdatesWhen is GetUpdates that calls gate after the wait and before it reads the messages. So a
// connection can wait until its peer accepts them. An error of gate ends the call.
func (h *Hub) GetUpdatesWhen(
	ctx context.Context, p *auth.Principal, q *parley.GetUpdatesParams, gate func(context.Context) error,
) (*parley.GetUpdatesResult, [][]byte, error) {
	p = p.In(q.ConversationID)
	c, limit, err := h.open(p, methods.GetUpdates, q.ConversationID, q.SinceSeq, q.Limit)
	if err != nil {
		return nil, nil, err
	}
	defer h.conv.Unpin(c)
	u := updates{hub: h, c: c, p: p, viewer: p.Viewer(), until: q.Until, seen: q.SinceSeq}
	if u.until == "" {
		u.until = parley.UntilAny
	}
	if !u.valid() {
		return nil, nil, page.Invalid("any, message, my_turn or closed", "until is %q", q.Until)
	}
	var out *parley.GetUpdatesResult
	var messages [][]byte
	err = page.Poll(ctx, h.conv, p, q.TimeoutMs, func(timedOut bool) (<-chan struct{}, bool, error) {
		s, changed, err := c.Look()
		if err != nil {
			return nil, false, err
		}
		holds, err := u.holds(&s)
		if err != nil || !holds && !timedOut {
			return changed, false, err
		}
		if err := gate(ctx); err != nil {
			return nil, false, err
		}
		out, messages, err = u.result(&s, q.SinceSeq, limit, !holds && q.TimeoutMs > 0)
		return nil, true, err
	})
	return out, messages, err
}

type updates struct {
	hub    *Hub
	c      *conv.Conversation
	p      *auth.Principal
	viewer eventdata.Viewer
	until  parley.Until
	seen   int64 // the last event that was checked
	found  bool  // an event up to seen meets the condition
}

func (u *updates) valid() bool {
	switch u.until {
	case parley.UntilAny, parley.UntilMessage, parley.UntilMyTurn, parley.UntilClosed:
		return true
	}
	return false
}

// holds reports whether the condition holds in a state.
func (u *updates) holds(s *fold.State) (bool, error) {
	if s.Closed() {
		return true, nil
	}
	switch u.until {
	case parley.UntilMyTurn:
		return s.MaySpeak(u.p.AgentID) && u.canTake(s), nil
	case parley.UntilClosed:
		return false, nil
	}
	for !u.found && u.seen < s.Seq {
		frames, err := u.c.After(nil, u.seen, 500)
		if err != nil {
			return false, err
		}
		for _, f := range frames {
			if f.Seq > s.Seq {
				break // it is checked in a later state
			}
			u.found = u.found || u.matches(s, f.Seq, f.Meta)
			u.seen = f.Seq
		}
	}
	return u.found, nil
}

func (u *updates) matches(s *fold.State, seq int64, m eventdata.Meta) bool {
	if !u.viewer.Sees(m) {
		return false
	}
	return u.until == parley.UntilAny || m.Type == parley.TypeMessage && !s.IsWithdrawn(seq)
}

// canTake reports whether no other caller has a claim on the turn.
func (u *updates) canTake(s *fold.State) bool {
	if s.Claim == nil {
		return true
	}
	hash, _ := u.p.Implied(s.ID, s.Claim)
	return hash != nil && *hash == s.Claim.Hash
}

// result returns the messages after since, up to the state of the guidance.
func (u *updates) result(
	s *fold.State, since int64, limit int, timedOut bool,
) (*parley.GetUpdatesResult, [][]byte, error) {
	page, err := u.c.Page(since, s.Seq, limit, func(seq int64, m eventdata.Meta) bool {
		return m.Type == parley.TypeMessage && u.viewer.Sees(m) && !s.IsWithdrawn(seq)
	})
	if err != nil {
		return nil, nil, err
	}
	return &parley.GetUpdatesResult{
		Messages: []parley.Event{}, Withdrawn: withdrawnAfter(s, since, page.NextSeq),
		Guidance: u.hub.guidance(s, u.p.AgentID, false), NextSeq: page.NextSeq,
		LatestSeq: s.Seq, Status: s.Status, TimedOut: timedOut,
	}, page.Events, nil
}

// withdrawnAfter returns the ranges that events after since, up to next, withdrew.
func withdrawnAfter(s *fold.State, since, next int64) []parley.Withdrawn {
	var out []parley.Withdrawn
	for _, w := range s.Withdrawn {
		if w.To > since && w.To <= next {
			out = append(out, parley.Withdrawn{Turn: w.Turn, FromSeq: w.From, ToSeq: w.To - 1})
		}
	}
	return out
}
