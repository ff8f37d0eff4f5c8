package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/internal/methods"
)

var errNoSession = parley.Refuse(parley.ErrNotFound, "there is no such session", "")

// pin pins a session by its id.
func (s *Service) pin(id string) (*conv.Conversation, fold.State, error) {
	if conv.Reserved(id) || len(id) > auth.MaxIDBytes || id == "" {
		return nil, fold.State{}, errNoSession
	}
	c, err := s.engine.Pin(id)
	if err != nil {
		return nil, fold.State{}, err
	}
	head := c.Head()
	if head.Session == nil {
		s.engine.Unpin(c)
		return nil, fold.State{}, errNoSession
	}
	return c, head, nil
}

// find pins a session that p may see, and returns p as its identity in the session. That is its
// starter if p may speak as the starter.
func (s *Service) find(p *auth.Principal, id string) (*conv.Conversation, *auth.Principal, error) {
	c, head, err := s.pin(id)
	if err != nil {
		return nil, nil, err
	}
	by := identify(p, &head)
	if by == nil {
		s.engine.Unpin(c)
		return nil, nil, errNoSession
	}
	return c, by, nil
}

// identify returns p as its identity in a session, or nil if p may not see it.
func identify(p *auth.Principal, state *fold.State) *auth.Principal {
	parent := state.Session.Parent
	switch own := p.In(state.ID); {
	case p.CommandOf() != "": // a command sees the sessions that it started
		if parent == p.CommandOf() && state.CreatedBy == p.AgentID {
			return p
		}
	case own.Sees(state):
		return own
	case runsTriggered(p, state):
		return p.As(state.Session.AgentID)
	case parent != "" && p.Reaches(parent):
		if up := p.In(parent); up.AgentID == state.CreatedBy { // the connection works for the starter
			return up
		}
	}
	return nil
}

// runsTriggered reports whether p registered the runner of a session that an event started.
func runsTriggered(p *auth.Principal, state *fold.State) bool {
	r := state.Session
	return r.Trigger != nil && r.Runner != nil && p.AgentID == r.Runner.ParticipantID &&
		p.Claim() == nil && p.CommandOf() == "" && p.Reaches(state.ID)
}

// Get returns a session. It waits until the session ended, waits for its caller or has newer progress,
// for as long as the params say.
func (s *Service) Get(ctx context.Context, p *auth.Principal, q *parley.GetSessionParams) (*parley.Session, error) {
	if err := s.opts.Auth.Allow(p, methods.GetSession); err != nil {
		return nil, err
	}
	if q.ProgressSince != nil && *q.ProgressSince < 0 {
		return nil, parley.Refuse(parley.ErrValidationFailed, "progressSince is negative", "0 or more")
	}
	c, p, err := s.find(p, q.SessionID)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	if err := s.waitCommitted(ctx, p, c); err != nil {
		return nil, err
	}
	return s.await(ctx, p, c, q.TimeoutMs, q.ProgressSince)
}

// waitCommitted waits until a session whose start was decided is committed.
func (s *Service) waitCommitted(ctx context.Context, p *auth.Principal, c *conv.Conversation) error {
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
		if err = cmp.Or(err, p.Valid(s.engine.Now())); err != nil {
			return err
		}
		if timedOut, err := s.engine.Wait(ctx, p, changed, timer, parley.MaxWaitMs); err != nil || timedOut {
			return cmp.Or(err, error(errNoSession))
		}
	}
}

// await waits until a session ended or waits for its caller; with progressSince, until it has newer
// progress too.
func (s *Service) await(
	ctx context.Context, p *auth.Principal, c *conv.Conversation, timeoutMs int64, progressSince *int64,
) (*parley.Session, error) {
	timer, err := page.WaitTimer(timeoutMs)
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	for timedOut := false; ; {
		state, changed, err := c.Look()
		if err = cmp.Or(err, p.Valid(s.engine.Now())); err != nil {
			return nil, err
		}
		status := state.SessionStatus()
		ready := status.Ended() || status == parley.SessionInputRequired ||
			progressSince != nil && state.Progress != nil && state.Progress.Seq > *progressSince
		if ready || timedOut {
			out, err := s.describe(c, &state)
			if err == nil {
				out.TimedOut = !ready && timeoutMs > 0
			}
			return out, err
		}
		if timedOut, err = s.engine.Wait(ctx, p, changed, timer, timeoutMs); err != nil {
			return nil, err
		}
	}
}

// Stop ends a session. It returns one that ended before as it is.
func (s *Service) Stop(ctx context.Context, p *auth.Principal, q *parley.StopSessionParams) (*parley.Session, error) {
	if err := s.opts.Auth.Allow(p, methods.StopSession); err != nil {
		return nil, err
	}
	c, by, reads, err := s.findToStop(p, q.SessionID)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	if err := check.Reason(q.Reason); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("The session was stopped by %s.", by.AgentID)
	if q.Reason != "" {
		text = fmt.Sprintf("The session was stopped by %s: %s", by.AgentID, q.Reason)
	}
	stopped := parley.Outcome{Status: parley.OutcomeCanceled, Reason: parley.ReasonStopped}
	if err := s.end(c.ID(), func() (parley.Outcome, string) { return stopped, text }); err != nil {
		return nil, err
	}
	out, err := s.await(ctx, by, c, 0, nil)
	if err == nil && !reads {
		out.Result, out.Progress = nil, nil
	}
	return out, err
}

// findToStop is find for a principal that may stop the session: its starter, a human of the parent, the
// runner if an event started it, or an admin. reads is false for a human who may not see the session.
func (s *Service) findToStop(
	p *auth.Principal, id string,
) (c *conv.Conversation, by *auth.Principal, reads bool, err error) {
	if c, by, err = s.find(p, id); err == nil {
		head := c.Head()
		starter := head.CreatedBy
		if by.Admin() || by.AgentID == starter || p.AgentID == starter || runsTriggered(p, &head) {
			return c, by, true, nil
		}
		s.engine.Unpin(c)
	}
	if errors.Is(err, errNoSession) || err == nil {
		if c, by := s.findAsHuman(p, id); c != nil {
			return c, by, err == nil, nil
		}
	}
	if err == nil {
		err = parley.Refuse(parley.ErrForbidden,
			"only who has started a session, people in its parent conversation and admins stop it", "")
	}
	return nil, nil, false, err
}

// findAsHuman pins a session whose parent has p as a human participant; nil if that is not so.
func (s *Service) findAsHuman(p *auth.Principal, id string) (*conv.Conversation, *auth.Principal) {
	if p.CommandOf() != "" {
		return nil, nil
	}
	c, head, err := s.pin(id)
	if err != nil {
		return nil, nil
	}
	if up := head.Session.Parent; up != "" && p.Reaches(up) {
		by := p.In(up)
		parent, err := s.engine.StateOf(up)
		if i := parent.Seat(by.AgentID); err == nil && i >= 0 && parent.Participants[i].Kind == parley.KindHuman {
			return c, by
		}
	}
	s.engine.Unpin(c)
	return nil, nil
}

// resume writes the next message of the caller of a session that waits for it.
func (s *Service) resume(
	ctx context.Context, p *auth.Principal, q *parley.StartSessionParams,
) (*parley.Session, error) {
	c, by, err := s.find(p, q.Resume)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	head := c.Head()
	r, name := head.Session, q.AgentName
	switch {
	case r.Deterministic():
		return nil, parley.Refuse(parley.ErrValidationFailed,
			"Deterministic agents do not support resumption", "a new session")
	case name != r.Agent:
		return nil, parley.Refuse(parley.ErrValidationFailed, "the session is of "+r.Agent, "agentName "+r.Agent)
	case by.AgentID != r.Caller:
		return nil, parley.Refuse(parley.ErrForbidden, "only who has started a session resumes it", r.Caller)
	case r.Hosted && r.Runner != nil:
		name = plainName(name) + "@" + r.Runner.RunnerID
	}
	a, err := s.opts.Agents.FindAgent(name, nil)
	if err != nil {
		return nil, err
	}
	parameters, err := a.accept(q.Parameters)
	if err != nil {
		return nil, err
	}
	d, err := askKeyed(ctx, c, &conv.Request{Cmd: fold.Command{
		Do: &fold.Message{
			Finality: parley.FinalityTurn, Payload: callerMessage(parameters), Speech: check.Speech{Parameters: true},
		},
		From: by.AgentID, Key: q.ClientRequestID, Traceparent: q.Traceparent,
	}})
	if err != nil {
		return nil, err
	}
	return s.answerStart(ctx, by, c, q, d.Duplicate)
}
