package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

var errNoSession = parley.Refuse(parley.ErrNotFound, "there is no such session", "")

// findSession pins a session that is there for p, and gives p as who it is in it: who has started it where p could have.
func (h *Hub) findSession(p *auth.Principal, id string) (*conv.Conversation, *auth.Principal, error) {
	if conv.Reserved(id) || len(id) > auth.MaxIDBytes || id == "" {
		return nil, nil, errNoSession
	}
	c, err := h.conv.Pin(id)
	if err != nil {
		return nil, nil, err
	}
	s := c.Head()
	if s.Session != nil {
		if who := h.whoIn(p, &s); who != nil {
			return c, who, nil
		}
	}
	h.conv.Unpin(c)
	return nil, nil, errNoSession
}

// whoIn gives p as who it is in a session; nil where that does not exist for it.
func (h *Hub) whoIn(p *auth.Principal, s *fold.State) *auth.Principal {
	if p.CommandOf() != "" { // a command sees the sessions that it has started
		if s.Session.Parent == p.CommandOf() && s.CreatedBy == p.AgentID {
			return p
		}
		return nil
	}
	if p.In(s.ID).Sees(s) {
		return p.In(s.ID)
	}
	if runsWoken(p, s) {
		return p.As(s.Session.AgentID)
	}
	if s.Session.Parent == "" || !p.Reaches(s.Session.Parent) {
		return nil
	}
	if up := p.In(s.Session.Parent); up.AgentID == s.CreatedBy { // on the connection that works for its starter
		return up
	}
	return nil
}

// runsWoken reports whether p has registered the runner of a session that an event has started.
func runsWoken(p *auth.Principal, s *fold.State) bool {
	r := s.Session
	return r.Trigger != nil && r.Runner != nil && p.AgentID == r.Runner.ParticipantID && p.Claim() == nil && p.CommandOf() == "" && p.Reaches(s.ID)
}

// GetSession tells how a session stands, and waits for its end or for news as long as asked.
func (h *Hub) GetSession(ctx context.Context, p *auth.Principal, q *parley.GetSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.getSession(ctx, p, q) })
}

func (h *Hub) getSession(ctx context.Context, p *auth.Principal, q *parley.GetSessionParams) (*parley.Session, error) {
	if err := h.auth.Allow(p, parley.MethodGetSession); err != nil {
		return nil, err
	}
	if q.ProgressSince != nil && *q.ProgressSince < 0 {
		return nil, parley.Refuse(parley.ErrValidationFailed, "progressSince is negative", "0 or more")
	}
	c, p, err := h.findSession(p, q.SessionID)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	if err := h.durableSession(ctx, p, c); err != nil {
		return nil, err
	}
	return h.await(ctx, p, c, q.TimeoutMs, q.ProgressSince)
}

// durableSession waits until a session whose start was decided is committed.
func (h *Hub) durableSession(ctx context.Context, p *auth.Principal, c *conv.Conversation) error {
	timer, err := page.WaitTimer(parley.MaxWaitMs)
	if err != nil {
		return err
	}
	defer timer.Stop()
	for {
		latest, changed, err := c.Changed()
		if latest > 0 {
			return nil
		}
		if err = cmp.Or(err, p.Valid(h.Now())); err != nil {
			return err
		}
		if timedOut, err := h.conv.Wait(ctx, p, changed, timer, parley.MaxWaitMs); err != nil || timedOut {
			return cmp.Or(err, error(errNoSession))
		}
	}
}

// StopSession ends a session. One that has ended stays as it is.
func (h *Hub) StopSession(ctx context.Context, p *auth.Principal, q *parley.StopSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.stopSession(ctx, p, q) })
}

func (h *Hub) stopSession(ctx context.Context, p *auth.Principal, q *parley.StopSessionParams) (*parley.Session, error) {
	if err := h.auth.Allow(p, parley.MethodStopSession); err != nil {
		return nil, err
	}
	c, who, reads, err := h.findToStop(p, q.SessionID)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	if err := fold.CheckReason(q.Reason); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("The session was stopped by %s.", who.AgentID)
	if q.Reason != "" {
		text = fmt.Sprintf("The session was stopped by %s: %s", who.AgentID, q.Reason)
	}
	o := parley.Outcome{Status: parley.OutcomeCanceled, Reason: parley.ReasonStopped}
	if err := h.conv.Command(c.ID(), fold.Command{Verb: fold.EndSession, Outcome: &o, Detail: text}); err != nil {
		return nil, err
	}
	out, err := h.await(ctx, who, c, 0, nil)
	if err == nil && !reads {
		out.Result, out.Progress = nil, nil
	}
	return out, err
}

// findToStop is findSession for who stops a session: its starter, a human of the conversation that it was started out of, who runs it where an event has started it, or an admin. reads is false for a
// human that may stop it and no more.
func (h *Hub) findToStop(p *auth.Principal, id string) (c *conv.Conversation, who *auth.Principal, reads bool, err error) {
	if c, who, err = h.findSession(p, id); err == nil {
		s := c.Head()
		if starter := s.CreatedBy; who.Admin() || who.AgentID == starter || p.AgentID == starter || runsWoken(p, &s) {
			return c, who, true, nil
		}
		h.conv.Unpin(c)
	}
	if errors.Is(err, errNoSession) || err == nil {
		if c, who := h.sessionOfHuman(p, id); c != nil {
			return c, who, err == nil, nil
		}
	}
	if err == nil {
		err = parley.Refuse(parley.ErrForbidden, "only who has started a session, people in its parent conversation and admins stop it", "")
	}
	return nil, nil, false, err
}

// sessionOfHuman pins a session that was started out of a conversation in which p is a human; nil where there is none.
func (h *Hub) sessionOfHuman(p *auth.Principal, id string) (*conv.Conversation, *auth.Principal) {
	if p.CommandOf() != "" || conv.Reserved(id) || len(id) > auth.MaxIDBytes || id == "" {
		return nil, nil
	}
	c, err := h.conv.Pin(id)
	if err != nil {
		return nil, nil
	}
	s := c.Head()
	if s.Session != nil && s.Session.Parent != "" && p.Reaches(s.Session.Parent) {
		who := p.In(s.Session.Parent)
		parent, err := h.conv.StateOf(s.Session.Parent)
		if i := parent.Seat(who.AgentID); err == nil && i >= 0 && parent.Participants[i].Kind == parley.KindHuman {
			return c, who
		}
	}
	h.conv.Unpin(c)
	return nil, nil
}

// resume says the next message of a session that waits for its caller.
func (h *Hub) resume(ctx context.Context, p *auth.Principal, q *parley.StartSessionParams) (*parley.Session, error) {
	c, who, err := h.findSession(p, q.Resume)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	s := c.Head()
	switch {
	case s.Session.Deterministic():
		return nil, parley.Refuse(parley.ErrValidationFailed, "Deterministic agents do not support resumption", "a new session")
	case q.AgentName != s.Session.Agent:
		return nil, parley.Refuse(parley.ErrValidationFailed, "the session is of "+s.Session.Agent, "agentName "+s.Session.Agent)
	case who.AgentID != s.Session.Caller:
		return nil, parley.Refuse(parley.ErrForbidden, "only who has started a session resumes it", s.Session.Caller)
	}
	name := q.AgentName
	if r := s.Session; r.Hosted && r.Runner != nil {
		name = plainName(name) + "@" + r.Runner.RunnerID
	}
	t, err := h.findAgent(name, nil)
	if err != nil {
		return nil, err
	}
	parameters, err := t.accept(q.Parameters)
	if err != nil {
		return nil, err
	}
	duplicate, err := h.say(ctx, who, c, callerMessage(parameters), q)
	if err != nil {
		return nil, err
	}
	return h.answerStart(ctx, who, c, q, duplicate)
}

// say appends a message of a session's caller.
func (h *Hub) say(ctx context.Context, p *auth.Principal, c *conv.Conversation, payload []byte, q *parley.StartSessionParams) (duplicate bool, err error) {
	cmd := fold.Command{
		Verb: fold.Message, From: p.AgentID, Finality: parley.FinalityTurn, Payload: payload, Parameters: true, Key: q.ClientRequestID, Traceparent: q.Traceparent,
	}
	d, err := askKeyed(ctx, c, &conv.Request{Cmd: cmd})
	if err != nil {
		return false, err
	}
	return d.Duplicate, nil
}
