package hub

import (
	"cmp"
	"context"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// sessionView returns a session as GetSession does.
func (h *Hub) sessionView(c *conv.Conversation, s *fold.State) (*parley.Session, error) {
	r := s.Session
	out := &parley.Session{
		SessionID: s.ID, AgentName: r.Agent, AgentType: r.Type, Status: s.SessionStatus(), Mode: r.Mode, CreatedBy: s.CreatedBy,
		ParentConversationID: r.Parent, Depth: r.Depth, CreatedAt: s.CreatedAt, StartedAt: s.ClaimedAt, LatestSeq: s.Seq,
	}
	if r.Runner != nil {
		out.RunnerID = r.Runner.RunnerID
	}
	var err error
	switch {
	case s.Closed():
		out.EndedAt, out.Reason = s.LastAt, s.Outcome.Reason
		out.Result, err = readResult(c, s, resultSeq(s))
	case out.Status == parley.SessionInputRequired && s.MessageBy == r.AgentID:
		out.Result, err = readResult(c, s, s.MessageSeq)
	case s.Progress != nil:
		progress := *s.Progress
		out.Progress = &progress
	}
	if err == nil && r.Mode == parley.ModeAsyncCallback {
		out.Callback, err = h.callbackState(s)
	}
	return out, err
}

// callbackState tells what has become of the callback of a session.
func (h *Hub) callbackState(s *fold.State) (parley.CallbackState, error) {
	parent, err := h.conv.StateOf(s.Session.Parent)
	if err != nil {
		return "", err
	}
	waits := parent.Child(s.ID) >= 0 || parent.CallsBack(s.ID) || h.sessions.isUntold(s.ID)
	switch {
	case parent.Closed() && (waits || !s.Closed()):
		return parley.CallbackUndeliverable, nil
	case waits || !s.Closed():
		return parley.CallbackPending, nil
	case parent.Closed() && s.Outcome.Reason == parley.ReasonParentClosed:
		return parley.CallbackUndeliverable, nil
	}
	return parley.CallbackDelivered, nil
}

// await waits until a session has ended or waits for its caller; with progressSince, until there is newer progress too.
func (h *Hub) await(ctx context.Context, p *auth.Principal, c *conv.Conversation, timeoutMs int64, progressSince *int64) (*parley.Session, error) {
	timer, err := page.WaitTimer(timeoutMs)
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	for timedOut := false; ; {
		s, changed, err := c.Look()
		if err = cmp.Or(err, p.Valid(h.Now())); err != nil {
			return nil, err
		}
		status := s.SessionStatus()
		there := status.Ended() || status == parley.SessionInputRequired
		news := progressSince != nil && s.Progress != nil && s.Progress.Seq > *progressSince
		if there || news || timedOut {
			out, err := h.sessionView(c, &s)
			if err == nil {
				out.TimedOut = !there && !news && timeoutMs > 0
			}
			return out, err
		}
		if timedOut, err = h.conv.Wait(ctx, p, changed, timer, timeoutMs); err != nil {
			return nil, err
		}
	}
}
