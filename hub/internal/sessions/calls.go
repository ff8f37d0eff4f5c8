package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

var errNoSession = parley.Refuse(parley.ErrNotFound, "there is no such session", "")

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
		return nil, page.Invalid("0 or more", "progressSince is negative")
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
	return page.Poll(ctx, s.engine, p, parley.MaxWaitMs, func(timedOut bool) (<-chan struct{}, bool, error) {
		latest, changed, err := c.Changed()
		if latest == 0 && timedOut {
			err = cmp.Or(err, error(errNoSession))
		}
		return changed, latest > 0, err
	})
}

// await waits until a session ended or waits for its caller; with progressSince, until it has newer
// progress too.
func (s *Service) await(
	ctx context.Context, p *auth.Principal, c *conv.Conversation, timeoutMs int64, progressSince *int64,
) (*parley.Session, error) {
	var out *parley.Session
	err := page.Poll(ctx, s.engine, p, timeoutMs, func(timedOut bool) (<-chan struct{}, bool, error) {
		state, changed, err := c.Look()
		if err != nil {
			return nil, false, err
		}
		status := state.SessionStatus()
		ready := status.Ended() || status == parley.SessionInputRequired ||
			progressSince != nil && state.Progress != nil && state.Progress.Seq > *progressSince
		if !ready && !timedOut {
			return changed, false, nil
		}
		if out, err = s.describe(&state); err == nil {
			out.TimedOut = !ready && timeoutMs > 0
		}
		return nil, true, err
	})
	return out, err
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
	if err := s.end(c.ID(), fold.EndSession{Outcome: stopped, Detail: text}); err != nil {
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
		return nil, page.Invalid("a new session", "Deterministic agents do not support resumption")
	case name != r.Agent:
		return nil, page.Invalid("agentName "+r.Agent, "the session is of %s", r.Agent)
	case by.AgentID != r.Caller:
		return nil, parley.Refuse(parley.ErrForbidden, "only who has started a session resumes it", r.Caller)
	case r.Hosted && r.Runner != nil:
		name = plainName(name) + "@" + r.Runner.RunnerID
	}
	a, err := s.findAgent(name, nil)
	if err != nil {
		return nil, err
	}
	parameters, err := a.accept(q.Parameters)
	if err != nil {
		return nil, err
	}
	d, err := c.AskOnce(ctx, &conv.Request{Cmd: fold.Command{
		Do: &fold.Message{
			Finality: parley.FinalityTurn, Payload: callerMessage(parameters), Speech: check.Speech{Parameters: true},
		},
		From: by.AgentID, Key: q.ClientRequestID, Traceparent: q.Traceparent,
	}}, keyedRetry)
	if err != nil {
		return nil, err
	}
	return s.answerStart(ctx, by, c, q, d.Duplicate)
}

// describe returns a session as Get does.
func (s *Service) describe(state *fold.State) (*parley.Session, error) {
	r := state.Session
	out := &parley.Session{
		SessionID: state.ID, AgentName: r.Agent, AgentType: r.Type, Status: state.SessionStatus(), Mode: r.Mode,
		CreatedBy: state.CreatedBy, ParentConversationID: r.Parent, Depth: r.Depth,
		CreatedAt: state.CreatedAt, StartedAt: state.ClaimedAt, LatestSeq: state.Seq,
	}
	if r.Runner != nil {
		out.RunnerID = r.Runner.RunnerID
	}
	var err error
	switch {
	case state.Closed():
		out.EndedAt, out.Reason = state.LastAt, state.Outcome.Reason
		out.Result, err = readResult(s.engine, state.ID, r, resultSeq(state))
	case out.Status == parley.SessionInputRequired && state.MessageBy == r.AgentID:
		out.Result, err = readResult(s.engine, state.ID, r, state.MessageSeq)
	case state.Progress != nil:
		progress := *state.Progress
		out.Progress = &progress
	}
	if err == nil && r.Mode == parley.ModeAsyncCallback {
		out.Callback, err = s.callbackState(state)
	}
	return out, err
}

// callbackState returns whether the parent got, or will get, the callback of a session.
func (s *Service) callbackState(state *fold.State) (parley.CallbackState, error) {
	parent, err := s.engine.StateOf(state.Session.Parent)
	if err != nil {
		return "", err
	}
	pending := !state.Closed() || parent.ChildIndex(state.ID) >= 0 || parent.HasCallback(state.ID) || s.isMissed(state.ID)
	switch {
	case parent.Closed() && (pending || state.Outcome.Reason == parley.ReasonParentClosed):
		return parley.CallbackUndeliverable, nil
	case pending:
		return parley.CallbackPending, nil
	}
	return parley.CallbackDelivered, nil
}

// callBack writes a callback to a conversation, for the sessions of one starter that ended.
func (s *Service) callBack(parent *fold.State) error {
	by := parent.CallbackRecipient()
	var callbacks []parley.Callback
	size, traceparent := 0, ""
	for _, c := range parent.Callbacks {
		if c.By != by {
			continue
		}
		result, trace, err := s.ReadResult(c.ID)
		if err != nil {
			return err
		}
		callback := parley.Callback{
			CallbackType: parley.CallbackChildCompleted, ChildSessionID: c.ID, AgentName: c.Agent, Status: c.Status,
			Result: s.fit(result),
		}
		encoded, err := json.Marshal(callback)
		if err != nil {
			return err
		}
		if size += len(encoded); size > limits.MaxCallbackBytes && len(callbacks) > 0 {
			break // the others follow in the next callback
		}
		callbacks, traceparent = append(callbacks, callback), cmp.Or(traceparent, trace)
	}
	return s.engine.Command(parent.ID, fold.Command{Do: &fold.Callback{Callbacks: callbacks}, Traceparent: traceparent})
}

// resultLevel is the depth of a result in a notification of an event with callbacks.
const resultLevel = 8

// FitsNotification reports whether the data of a result does not nest too deep for a notification.
func (s *Service) FitsNotification(data json.RawMessage) bool {
	return check.JSON(data, resultLevel) == nil
}

// fit returns a result as a callback has it: whole, or without what is large or nests too deep.
func (s *Service) fit(result *parley.SessionResult) *parley.SessionResult {
	b, err := json.Marshal(result)
	if err == nil && len(b) <= limits.MaxCallbackResultBytes && s.FitsNotification(result.ResultData) {
		return result
	}
	less := *result
	less.ResultText, less.ResultData, less.ValidationErrors, less.Omitted = nil, nil, nil, true
	if len(less.Error) > parley.MaxReasonBytes {
		less.Error = policy.Cut(less.Error, parley.MaxReasonBytes)
	}
	return &less
}

// ReadResult returns the result of a session that ended, and the traceparent of its last message, or of
// the event that its last turn answers. A parent does not wait for a session whose log is damaged: the
// result then has an error. ReadResult fails only while the hub does not serve.
func (s *Service) ReadResult(id string) (result *parley.SessionResult, traceparent string, err error) {
	result, traceparent, err = s.readEnded(id)
	if err == nil || s.engine.Serving() != nil {
		return result, traceparent, err
	}
	s.engine.Log().Error("the result of a session cannot be read", "session", id, "error", err)
	const unread = "the result cannot be read"
	return &parley.SessionResult{ResultType: parley.AgentTypeAgent, Error: unread, Omitted: true}, traceparent, nil
}

func (s *Service) readEnded(id string) (result *parley.SessionResult, traceparent string, err error) {
	state, err := s.engine.StateOf(id)
	if err != nil {
		return nil, "", err
	}
	if !state.Closed() || state.Session == nil {
		return nil, "", fmt.Errorf("session %s has no result", id)
	}
	if traceparent = state.Traceparent; traceparent == "" && state.EndedTurn != nil {
		traceparent = state.EndedTurn.Traceparent
	}
	result, err = readResult(s.engine, id, state.Session, resultSeq(&state))
	return result, traceparent, err
}

// resultSeq is the seq of the message with the result of a session that ended: the last one, or the last
// one of its agent if the caller closed the session with a message.
func resultSeq(state *fold.State) int64 {
	if state.MessageSeq == state.Seq && state.MessageBy == state.Session.Caller && state.OtherSeq > 0 {
		return state.OtherSeq
	}
	return state.Seq
}

// readResult returns the result in the message at a seq, or one that it makes of its text and data.
func readResult(e *conv.Engine, id string, r *parley.SessionRecord, seq int64) (*parley.SessionResult, error) {
	m, err := readMessage(e, id, seq)
	if err != nil {
		return nil, err
	}
	if m.Result != nil {
		return m.Result, nil
	}
	out := &parley.SessionResult{ResultType: r.Type, ResultData: m.Data}
	if m.Text != "" {
		out.ResultText = &m.Text
	}
	if len(m.Attachments) > 0 {
		out.Attachment = &m.Attachments[0]
	}
	return out, nil
}

func readMessage(e *conv.Engine, id string, seq int64) (parley.Message, error) {
	event, err := e.EventAt(id, seq)
	if err != nil {
		return parley.Message{}, err
	}
	return event.Message()
}
