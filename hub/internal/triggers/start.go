package triggers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/conv"
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
		if err := s.opts.FollowRunners(); err != nil {
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
func (s *Service) prepare(parent *fold.State, w *fold.Match) (*sessions.Agent, json.RawMessage, error) {
	a := s.FindSeated(w.Agent)
	if w.Workspace {
		a = s.findWatcher(w.Agent, parent.Workspace)
	}
	if a == nil { // another runner may have the name, but its token may not speak as the agent
		return nil, nil, parley.Refuse(parley.ErrNotFound,
			fmt.Sprintf("no runner that may speak as %s subscribes for it any more", policy.Clip(w.Agent)),
			"a runner with its blueprint")
	}
	e, err := s.readEvent(parent.ID, w.Seq)
	if err != nil {
		return nil, nil, err
	}
	text, data, err := contentOf(e)
	if err != nil {
		return nil, nil, err
	}
	parameters, faults := triggerinput.Parameters(a.Session.Parameters.Properties(), text, data)
	if len(faults) > 0 {
		err = &parley.Error{
			Err: parley.ErrParameters, Message: "data.input is neither an object nor a text",
			Validation: &parley.ValidationFailure{
				AgentName: a.Session.Name, ValidationErrors: faults, ParametersSchema: a.Session.Parameters.Raw(),
			},
		}
	}
	return a.Session, parameters, err
}

// readEvent reads an event of a log.
func (s *Service) readEvent(id string, seq int64) (*parley.Event, error) {
	records, err := s.engine.Journal().Read(id, seq-1, 1, parley.MaxEventBytes)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", conv.ErrUnread, id, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%w: there is no event %d in %s", conv.ErrUnread, seq, id)
	}
	var e parley.Event
	if err := e.UnmarshalJSON(records[0].Data); err != nil {
		return nil, err
	}
	return &e, nil
}

// contentOf returns the text and the data of a note or message.
func contentOf(e *parley.Event) (text string, data json.RawMessage, err error) {
	if e.Type == parley.TypeSystem {
		sys, err := e.System()
		return "", sys.Data, err
	}
	m, err := e.Message()
	return m.Text, m.Data, err
}
