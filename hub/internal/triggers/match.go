package triggers

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/selector"
)

// event is a note or a final message as selectors see it, before or after the decision.
type event struct {
	from   string
	isNote bool
	selector.Event
}

func eventOfNote(from string, n *parley.Note) *event {
	return &event{from, true, selector.Event{Type: parley.TypeSystem, Schema: n.Schema, Tags: n.Tags, Data: n.Data}}
}

func eventOfMessage(from string, payload []byte) (*event, error) {
	var m parley.Message
	if err := m.UnmarshalJSON(payload); err != nil {
		return nil, err
	}
	return &event{from, false, selector.Event{Type: parley.TypeMessage, Schema: m.Schema, Tags: m.Tags, Data: m.Data}}, nil
}

// eventOfLog returns an event of the log, or nil if it triggers no one: it is neither a note nor a
// message with which a participant ends a turn.
func eventOfLog(e *parley.Event) (*event, error) {
	switch {
	case e.Type == parley.TypeMessage && e.Finality == parley.FinalityTurn && e.From != parley.HubID:
		return eventOfMessage(e.From, e.Payload)
	case e.Type != parley.TypeSystem:
		return nil, nil
	}
	sys, err := e.System()
	if err != nil || sys.Kind != parley.KindNote {
		return nil, err
	}
	return eventOfNote(e.From, &parley.Note{Schema: sys.Schema, Tags: sys.Tags, Data: sys.Data}), nil
}

// MatchNote returns the agents that a note triggers. It is called before the decision on the note,
// without the lock of the conversation.
func (s *Service) MatchNote(c *conv.Conversation, from string, n *parley.Note) []parley.Wake {
	if s.known.Load() == 0 || conv.Reserved(c.ID()) {
		return nil
	}
	head := c.Head()
	return s.match(&head, eventOfNote(from, n))
}

// MatchMessage is MatchNote for a message that ends a turn.
func (s *Service) MatchMessage(c *conv.Conversation, from string, payload []byte) []parley.Wake {
	if s.known.Load() == 0 || conv.Reserved(c.ID()) {
		return nil
	}
	head := c.Head()
	if head.Policy.Kind != parley.PolicyTriggers && head.Workspace == "" {
		return nil
	}
	e, err := eventOfMessage(from, payload)
	if err != nil {
		return nil // the decision refuses the message
	}
	return s.match(&head, e)
}

func (s *Service) match(state *fold.State, e *event) []parley.Wake {
	if s.known.Load() == 0 || state.Session != nil || state.Closed() {
		return nil
	}
	return append(s.matchSeats(state, e), s.matchWatchers(state, e)...)
}

// matchSeats matches the agents that take part: a note starts their sessions, and a message makes their
// turns if the policy depends on triggers.
func (s *Service) matchSeats(state *fold.State, e *event) []parley.Wake {
	if !e.isNote && state.Policy.Kind != parley.PolicyTriggers {
		return nil
	}
	var out []parley.Wake
	matched := make(map[*Agent]int) // an agent may have many seats
	for _, seat := range state.Participants {
		if !seat.Kind.Claims() {
			continue
		}
		name := fold.AgentName(seat)
		a := s.FindSeated(name)
		if a == nil || e.from == seat.ID && !a.Set.Subscriptions.IncludeSelf {
			continue
		}
		i, ok := matched[a]
		if !ok {
			i = a.matchSeated(&e.Event, state.Workspace)
			matched[a] = i
		}
		if i >= 0 {
			out = append(out, s.newWake(a, name, seat.ID, i, e.isNote))
		}
	}
	return out
}

// matchSeated returns the first trigger that matches an event where the agent takes part, or -1.
// Triggers for the workspace count if the workspace was granted.
func (a *Agent) matchSeated(e *selector.Event, workspace string) int {
	here := a.Set.Wakes(e, false)
	if !a.isGranted(workspace) {
		return here
	}
	there := a.Set.Wakes(e, true)
	if here < 0 || there >= 0 && there < here {
		return there
	}
	return here
}

// newWake returns a match that waits for a session, if startsSession, or else for a turn.
func (s *Service) newWake(a *Agent, name, seat string, i int, startsSession bool) parley.Wake {
	w := parley.Wake{Agent: name, AgentID: seat, Selector: i}
	if !startsSession {
		return w
	}
	w.SessionID, w.AnswerSchema = s.opts.NewID(conv.SessionPrefix), a.Set.Subscriptions.AnswerSchema
	switch {
	case w.AnswerSchema != "":
	case a.Session.Type == parley.AgentTypeAgent:
		w.AnswerSchema = parley.AgentResponseSchema
	default:
		w.AnswerSchema = parley.ToolResponseSchema
	}
	return w
}

// matchWatchers matches the agents that watch the workspace of the conversation and take no part in it.
func (s *Service) matchWatchers(state *fold.State, e *event) []parley.Wake {
	if state.Workspace == "" {
		return nil
	}
	var out []parley.Wake
	for _, workspace := range []string{state.Workspace, auth.AnyWorkspace} {
		s.mu.RLock()
		x := s.indexes[workspace]
		s.mu.RUnlock()
		if x == nil {
			continue
		}
		most := limits.MaxWatchers + 2*len(state.Participants) + 1 // some may take part, or be the author
		hits, _ := x.Match(&e.Event, most)
		for _, h := range hits {
			s.mu.RLock()
			a, counts := s.watches[h.Key][workspace], s.findWatcherLocked(h.Key, state.Workspace)
			s.mu.RUnlock()
			switch {
			case len(out) == limits.MaxWatchers:
				return out
			case a == nil || a != counts, isTaken(state, h.Key), // a is nil if it has just left
				e.from == h.Key && !a.Set.Subscriptions.IncludeSelf:
				continue
			}
			w := s.newWake(a, h.Key, h.Key, h.Selector, true)
			w.Workspace = true
			out = append(out, w)
		}
	}
	return out
}

// isTaken reports whether an agent takes part, or another participant has its name, so that a watcher
// of that name would be confused with it.
func isTaken(state *fold.State, name string) bool {
	return hasSeat(state, name) || state.HasParticipant(name)
}

// hasSeat reports whether an agent has a seat.
func hasSeat(state *fold.State, name string) bool {
	return slices.ContainsFunc(state.Participants, func(p parley.Participant) bool {
		return p.Kind.Claims() && fold.AgentName(p) == name
	})
}
