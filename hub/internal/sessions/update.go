package sessions

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// updateConversation is the task of the queue: it makes what follows from the state of a conversation.
func (s *Service) updateConversation(id string) error {
	state, err := s.engine.StateOf(id)
	if err != nil || !state.Exists() {
		return err
	}
	if state.Session != nil {
		if err := s.updateSession(&state); err != nil {
			return err
		}
	}
	if state.Closed() {
		for _, c := range state.Children {
			s.queue.Add(c.ID)
		}
		return nil
	}
	if state.CallbackRecipient() != "" {
		return s.callBack(&state)
	}
	return nil
}

func (s *Service) updateSession(state *fold.State) error {
	r := state.Session
	if r.Parent != "" {
		if ended, err := s.updateParent(state); ended || err != nil {
			return err
		}
	}
	if s.engine.Shared() && r.OfRunner() { // a runner may have registered before the session started
		if err := s.opts.Agents.FollowRunners(); err != nil {
			return err
		}
	}
	if state.Closed() || !r.OfRunner() {
		return nil
	}
	if r.Runner == nil {
		return s.bind(state)
	}
	runnerIs, agentIs := s.opts.Agents.IsRegistered(*r.Runner, plainName(r.Agent), r.Type)
	switch {
	case !runnerIs && r.Hosted:
		return nil // its turn is in the log, and the runner may return before the turn is over
	case !runnerIs && state.Claim != nil:
		return s.end(state.ID, fold.InterruptedOutcome)
	case !agentIs && state.Claim == nil:
		return s.end(state.ID, fold.NoRunnerOutcome)
	}
	return nil
}

func (s *Service) end(id string, how func() (parley.Outcome, string)) error {
	o, text := how()
	return s.engine.Command(id, fold.Command{Do: &fold.EndSession{Outcome: o, Detail: text}})
}

// parentClosed is the end of a session whose parent was closed.
func parentClosed() (parley.Outcome, string) {
	return parley.Outcome{Status: parley.OutcomeCanceled, Reason: parley.ReasonParentClosed},
		"The conversation out of which the session was started is closed."
}

// maxStale is how often a task tries at once to write to a parent whose head moved.
const maxStale = 10

// updateParent writes the start and the end of a session to its parent, and reports whether the session
// ended. Only the task of the session calls it, and so never twice at once: two calls could write a
// start after an end. Where several hubs do this, each writes a start only on the state without it.
func (s *Service) updateParent(state *fold.State) (ended bool, err error) {
	for range maxStale {
		if ended, err = s.updateParentOnce(state); !errors.Is(err, conv.ErrStale) {
			break
		}
	}
	return ended, err
}

func (s *Service) updateParentOnce(state *fold.State) (ended bool, err error) {
	parent, err := s.engine.StateOf(state.Session.Parent)
	if err != nil {
		return false, err
	}
	if s.engine.Shared() { // read after the parent, so that it ended if the parent has its end
		if *state, err = s.engine.StateOf(state.ID); err != nil {
			return false, err
		}
	}
	if parent.Exists() && !parent.Closed() {
		err = s.reportTo(&parent, state)
		if !errors.Is(err, parley.ErrConversationClosed) {
			return state.Closed(), err
		}
	}
	s.confirm(state.ID, false) // its parent never will
	if state.Closed() {
		return true, nil
	}
	return true, s.end(state.ID, parentClosed)
}

// reportTo writes the start and the end of a session to its open parent, as far as they are missing.
func (s *Service) reportTo(parent, state *fold.State) error {
	r, known := state.Session, parent.ChildIndex(state.ID) >= 0
	child := fold.Child{ID: state.ID, By: r.Caller, Agent: r.Agent, Mode: r.Mode, Hops: r.Hops}
	waits := r.Trigger == nil || parent.MatchIndex(state.ID) >= 0 // else the parent has its end
	if !known && (!state.Closed() || s.isMissed(state.ID) && waits) {
		on, written, err := s.findStart(parent, state)
		if err == nil && !written {
			err = s.engine.CommandAt(r.Parent, on, fold.Command{Do: &fold.StartChild{Child: child}})
		}
		if err != nil {
			return err
		}
		known = !written
	}
	if known && state.Closed() {
		end := &fold.EndChild{SessionID: state.ID, Status: state.SessionStatus()}
		traceparent, err := s.triggers.AddAnswer(parent, state, &end.Answer)
		if err != nil {
			return err
		}
		if err := s.engine.Command(r.Parent, fold.Command{Do: end, Traceparent: traceparent}); err != nil {
			return err
		}
	}
	s.confirm(state.ID, false)
	return nil
}

// findStart returns the seq of the parent on which the start of a session may be written; 0: any. It
// reports whether the log has the start and the end already, which other hubs wrote. This hub may see
// the end of the session before it sees the start in the parent.
func (s *Service) findStart(parent, state *fold.State) (on int64, written bool, err error) {
	if !s.engine.Shared() {
		return 0, false, nil
	}
	for after := int64(0); state.Closed() && after < parent.Seq; {
		records, err := s.engine.Journal().Read(parent.ID, after, 1000, 4<<20)
		if err != nil || len(records) == 0 {
			return 0, false, fmt.Errorf("%w: read %s after %d: %w", conv.ErrUnread, parent.ID, after, err)
		}
		for _, record := range records {
			var e parley.Event
			if err := e.UnmarshalJSON(record.Data); err != nil {
				return 0, false, err
			}
			if after = e.Seq; e.Type != parley.TypeSystem {
				continue
			}
			sys, err := e.System()
			if err != nil {
				return 0, false, err
			}
			if sys.Kind == parley.KindSessionStarted && sys.SessionID == state.ID {
				return 0, true, nil
			}
		}
	}
	return parent.Seq, false, nil
}

// bind binds a session to a runner that meets its demands and whose agent accepts its parameters, if
// there is one.
func (s *Service) bind(state *fold.State) error {
	r := state.Session
	a := s.opts.Agents.FindOnRunner(r.Agent, r.Demands)
	if a == nil || a.Type != r.Type {
		return nil
	}
	c, err := s.engine.Pin(state.ID)
	if err != nil {
		return nil
	}
	defer s.engine.Unpin(c)
	m, err := readMessage(c, state.MessageSeq)
	if err != nil {
		return nil
	}
	if faults, err := a.validate(m.Parameters); err != nil || len(faults) > 0 {
		return nil
	}
	return s.engine.Command(state.ID, fold.Command{Do: &fold.Bind{Runner: a.Runner}})
}
