package triggers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/triggerinput"
)

// maxOfAgent bounds the sessions of one agent that run at once for the events of one conversation, so
// that others of the tree find room too.
const maxOfAgent = limits.MaxLiveSessions / 2

// Committed implements conv.Observer: it queues the start of sessions. After a failed append the state
// may be one whose starts failed; the queue tries these again later.
func (s *Service) Committed(c conv.Commit) {
	if !c.NeedsWork() || !slices.ContainsFunc(c.State.Matches, func(w fold.Match) bool { return !w.ByTurn() }) {
		return
	}
	s.startsMu.Lock()
	defer s.startsMu.Unlock()
	if s.tried[c.ID] != c.State.Seq {
		s.queue.AddAfter(c.ID, c.Foreign(s.engine.Shared()))
	}
}

// startSessions is the task of the queue: it starts the sessions of a conversation that wait to start,
// as far as there is room. A session that cannot start now does not delay the others.
//
//	match in the log -> has a session? -> event -> agent -> parameters -> place in the tree -> session
//	                 -> log of the parent (the task of the session)
func (s *Service) startSessions(id string) error {
	state, err := s.engine.StateOf(id)
	if err != nil || !state.Exists() {
		return err
	}
	if s.engine.Shared() { // a runner may have registered before the match
		if err := s.opts.Registry.Follow(); err != nil {
			return err
		}
	}
	s.startsMu.Lock()
	s.tried[id] = state.Seq
	s.startsMu.Unlock()
	var failed error
	left, full := 0, false
	if !state.Closed() {
		waiting, running := s.sortMatches(&state)
		for _, w := range waiting {
			if full || running[w.AgentID] >= maxOfAgent {
				left++
				continue
			}
			err := s.start(&state, &w)
			switch {
			case err == nil:
				running[w.AgentID]++
			case errors.Is(err, sessions.ErrTreeFull):
				left, full = left+1, true
			default:
				failed = errors.Join(failed, err)
			}
		}
	}
	s.startsMu.Lock()
	if failed == nil {
		delete(s.tried, id)
	}
	if delete(s.waiting, id); left > 0 {
		s.waiting[id] = struct{}{}
	}
	s.startsMu.Unlock()
	if full && s.opts.Sessions.HasRoom(id) { // a session ended before this one was known to wait
		s.queue.Add(id)
	}
	return failed
}

// sortMatches returns the matches whose sessions wait to start, and the number of sessions of each agent
// that run. The first match of each agent is before the second one of any, so that an agent with many
// does not delay the others.
func (s *Service) sortMatches(state *fold.State) (waiting []fold.Match, running map[string]int) {
	running = make(map[string]int)
	for _, w := range state.Matches {
		switch {
		case w.ByTurn():
		case state.ChildIndex(w.SessionID) >= 0, s.opts.Sessions.Runs(w.SessionID):
			running[w.AgentID]++
		default:
			waiting = append(waiting, w)
		}
	}
	counts, ranks := maps.Clone(running), make(map[string]int)
	for _, w := range waiting {
		counts[w.AgentID]++
		ranks[w.SessionID] = counts[w.AgentID]
	}
	slices.SortStableFunc(waiting, func(a, b fold.Match) int { return ranks[a.SessionID] - ranks[b.SessionID] })
	return waiting, running
}

// start starts the session of a match, unless it exists. If the session can never start, the match ends.
func (s *Service) start(parent *fold.State, w *fold.Match) error {
	c, err := s.engine.Pin(w.SessionID)
	if err != nil {
		return err
	}
	defer s.engine.Unpin(c)
	if head := c.Head(); head.Exists() {
		if head.Closed() {
			s.opts.Sessions.ReportMissed(c.ID())
		}
		return nil
	}
	a, parameters, err := s.prepare(parent, w)
	if err == nil {
		err = s.opts.Sessions.StartTriggered(c, parent, w, a, parameters)
	}
	refusal := lasting(err)
	if refusal == nil {
		return err
	}
	if s.engine.Shared() { // another hub may have started it
		if err := s.engine.CatchUp(context.Background()); err != nil {
			return err
		}
		c.Freshen()
		if head := c.Head(); head.Exists() {
			return nil
		}
	}
	return s.refuse(parent, w, refusal)
}

// lasting returns a refusal that another try would get again, or nil.
func lasting(err error) *parley.Error {
	var e *parley.Error
	if !errors.As(err, &e) || errors.Is(err, sessions.ErrTreeFull) {
		return nil
	}
	for _, sentinel := range []error{
		parley.ErrParameters, parley.ErrValidationFailed, parley.ErrInvalidParams, parley.ErrParse,
		parley.ErrTooLarge, parley.ErrNotFound, parley.ErrForbidden, parley.ErrAlreadyExists,
	} {
		if errors.Is(e, sentinel) {
			return e
		}
	}
	return nil
}

// prepare returns the agent of a match and the parameters that its event gets.
func (s *Service) prepare(parent *fold.State, w *fold.Match) (*registry.Blueprint, json.RawMessage, error) {
	a := s.FindSeated(w.Agent)
	if w.Workspace {
		a = s.findWatcher(w.Agent, parent.Workspace)
	}
	if a == nil { // another runner may have the name, but its token may not speak as the agent
		return nil, nil, parley.Refuse(parley.ErrNotFound,
			fmt.Sprintf("no runner that may speak as %s subscribes for it any more", policy.Clip(w.Agent)),
			"a runner with its blueprint")
	}
	e, err := s.engine.EventAt(parent.ID, w.Seq)
	if err != nil {
		return nil, nil, err
	}
	text, data, err := contentOf(e)
	if err != nil {
		return nil, nil, err
	}
	parameters, faults := triggerinput.Parameters(a.Parameters.Properties(), text, data)
	if len(faults) > 0 {
		err = sessions.RefuseParameters("data.input is neither an object nor a text", a.Name, a.Parameters, faults)
	}
	return a, parameters, err
}

func contentOf(e *parley.Event) (text string, data json.RawMessage, err error) {
	if e.Type == parley.TypeSystem {
		sys, err := e.System()
		return "", sys.Data, err
	}
	m, err := e.Message()
	return m.Text, m.Data, err
}

// AddAnswer implements sessions.Triggers: it sets the note with which child answers the event that started
// it, and the agents that the note triggers. It returns the traceparent of the end of child.
func (s *Service) AddAnswer(parent, child *fold.State, answer *fold.Answer) (string, error) {
	i := parent.MatchIndex(child.ID)
	if i < 0 || child.Session.Trigger == nil {
		return "", nil
	}
	result, traceparent, err := s.opts.Sessions.ReadResult(child.ID)
	if err != nil {
		return "", err
	}
	a := parley.Answer{
		Status: child.SessionStatus(), Output: result.ResultData, Error: result.Error,
		ValidationErrors: result.ValidationErrors, Omitted: result.Omitted,
	}
	if a.Output == nil && result.ResultText != nil {
		a.Text = *result.ResultText
	}
	if a.Status != parley.SessionCompleted {
		a.Error = cmp.Or(a.Error, child.Outcome.Reason, string(a.Status))
	}
	s.setAnswer(parent, &parent.Matches[i], a, answer)
	return traceparent, nil
}

// refuse ends a match whose session cannot start, and answers the event with the reason.
func (s *Service) refuse(parent *fold.State, w *fold.Match, why *parley.Error) error {
	end := &fold.EndTrigger{SessionID: w.SessionID, Detail: policy.Cut(why.Message, parley.MaxReasonBytes)}
	a := parley.Answer{Status: parley.SessionFailed, Error: why.Message}
	if why.Validation != nil {
		a.ValidationErrors = why.Validation.ValidationErrors
	}
	s.setAnswer(parent, w, a, &end.Answer)
	return s.engine.Command(parent.ID, fold.Command{Do: end, Traceparent: w.Traceparent})
}

// setAnswer sets the note of an answer, within its bound, and the agents that the note triggers.
func (s *Service) setAnswer(parent *fold.State, w *fold.Match, a parley.Answer, answer *fold.Answer) {
	a.Agent, a.SessionID, a.TriggerSeq = w.Agent, w.SessionID, w.Seq
	data := eventdata.Encode(a)
	if len(data) > limits.MaxAnswerBytes || !s.opts.Sessions.FitsNotification(a.Output) {
		a.Output, a.Text, a.ValidationErrors, a.Omitted = nil, "", nil, true
		a.Error = policy.Cut(a.Error, parley.MaxReasonBytes)
		data = eventdata.Encode(a)
	}
	answer.Note, answer.By = &parley.Note{Schema: w.AnswerSchema, Data: data}, w.AgentID
	answer.Wakes = s.match(parent, eventOfNote(w.AgentID, answer.Note))
}
