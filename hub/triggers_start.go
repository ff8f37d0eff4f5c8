package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/sessions"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/triggerinput"
)

// maxOfOneAgent bounds the sessions of one agent that run at once because events of one conversation have woken it: others of the tree shall find room too.
const maxOfOneAgent = parley.MaxLiveSessions / 2

// Committed queues the start of sessions. After a failed append the state may be one on which starts
// were tried: these are tried again later.
func (t *triggers) Committed(c conv.Commit) {
	if !c.NeedsWork() {
		return
	}
	starts := slices.ContainsFunc(c.State.Woken, func(w fold.Woken) bool { return !w.ByTurn() })
	if starts && !t.tried.is(c.ID, c.State.Seq) {
		t.queue.AddAfter(c.ID, c.Foreign(t.hub.shared))
	}
}

// attend starts the sessions of a conversation's matches that have none yet, as far as there is room. One that cannot be started now holds up no other.
//
//	match in the log -> its id is free? -> event -> blueprint -> parameters -> place in the tree -> session -> (its own errand) parent's log
func (t *triggers) attend(id string) error {
	state, err := t.hub.conv.StateOf(id)
	if err != nil || !state.Exists() {
		return err
	}
	if t.hub.shared { // whoever it was matched for is known
		if err := t.hub.runners.follow(); err != nil {
			return err
		}
	}
	left, full := 0, false
	var failed error
	t.tried.set(id, state.Seq)
	defer func() {
		if failed == nil {
			t.tried.set(id, 0)
		}
	}()
	if !state.Closed() {
		waiting, running := t.sort(&state)
		for _, w := range waiting {
			if full || running[w.AgentID] >= maxOfOneAgent {
				left++
				continue
			}
			err := t.start(&state, &w)
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
	t.waiting.set(id, left > 0)
	if full && t.hub.sessions.HasRoom(id) { // it was freed before it was known that somebody waits
		t.queue.Add(id)
	}
	return failed
}

// sort gives the matches that wait for their sessions to begin, and counts those of each agent whose sessions run. The first of each agent come before the second of any, so that
// one with many does not keep the others waiting.
func (t *triggers) sort(state *fold.State) (waiting []fold.Woken, running map[string]int) {
	running = make(map[string]int)
	before := make(map[string]int)
	rank := make(map[string]int)
	for _, w := range state.Woken {
		switch {
		case w.ByTurn():
		case state.Child(w.SessionID) >= 0, t.hub.sessions.Runs(w.SessionID):
			running[w.AgentID]++
		default:
			before[w.AgentID]++
			rank[w.SessionID] = before[w.AgentID]
			waiting = append(waiting, w)
		}
	}
	slices.SortStableFunc(waiting, func(a, b fold.Woken) int {
		return running[a.AgentID] + rank[a.SessionID] - running[b.AgentID] - rank[b.SessionID]
	})
	return waiting, running
}

// start begins the session of a match, or meets it where it was begun before. Where it never can begin the match ends.
func (t *triggers) start(parent *fold.State, w *fold.Woken) error {
	c, err := t.hub.conv.Pin(w.SessionID)
	if err != nil {
		return err
	}
	defer t.hub.conv.Unpin(c)
	if head := c.Head(); head.Exists() {
		if head.Closed() {
			t.hub.sessions.ReportMissed(c.ID())
		}
		return nil
	}
	a, given, err := t.prepare(parent, w)
	if err == nil {
		err = t.hub.sessions.StartTriggered(c, parent, w, a, given)
	}
	if errors.Is(err, sessions.ErrTreeFull) {
		return err
	}
	refusal := lasting(err)
	if refusal == nil {
		return err
	}
	if begun, err := t.begun(c); begun || err != nil {
		return err
	}
	return t.end(parent, w, refusal)
}

// begun reports whether another hub has begun the session of a match that this one cannot begin.
func (t *triggers) begun(c *conv.Conversation) (bool, error) {
	if !t.hub.shared {
		return false, nil
	}
	s, err := t.hub.turns.FreshHead(c)
	return s.Exists(), err
}

// lasting gives a refusal that another try would meet again; nil where there is none.
func lasting(err error) *parley.Error {
	var e *parley.Error
	if !errors.As(err, &e) {
		return nil
	}
	for _, sentinel := range []error{
		parley.ErrParameters, parley.ErrValidationFailed, parley.ErrInvalidParams, parley.ErrParse, parley.ErrTooLarge, parley.ErrNotFound, parley.ErrForbidden, parley.ErrAlreadyExists,
	} {
		if errors.Is(e, sentinel) {
			return e
		}
	}
	return nil
}

// prepare finds the agent of a match and what it is given.
func (t *triggers) prepare(parent *fold.State, w *fold.Woken) (*sessions.Agent, json.RawMessage, error) {
	b := t.of(parent, &w.Wake)
	if b == nil {
		return nil, nil, parley.Refuse(parley.ErrNotFound, fmt.Sprintf("no runner that may speak as %s subscribes for it any more", policy.Clip(w.Agent)), "a runner with its blueprint")
	}
	e, err := t.hub.eventAt(parent.ID, w.Seq)
	if err != nil {
		return nil, nil, err
	}
	given, err := parametersOf(e, b)
	return b.sessionAgent(w.Agent, true), given, err
}

// of gives the blueprint by which an agent was woken, or what its runner says now; nil where nobody subscribes for it any more. A name alone is not enough: another runner may have it too,
// whose token may not speak as the agent.
func (t *triggers) of(s *fold.State, w *parley.Wake) *blueprint {
	if w.Workspace {
		return t.watcher(w.Agent, s.Workspace)
	}
	return t.seated(w.Agent)
}

// eventAt reads an event of the log.
func (h *Hub) eventAt(id string, seq int64) (*parley.Event, error) {
	records, err := h.journal.Read(id, seq-1, 1, parley.MaxEventBytes)
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

// parametersOf gives what an agent is given for an event.
func parametersOf(e *parley.Event, b *blueprint) (json.RawMessage, error) {
	text, data, err := wordsOf(e)
	if err != nil {
		return nil, err
	}
	given, wrong := triggerinput.Parameters(b.parameters.Properties(), text, data)
	if len(wrong) > 0 {
		return nil, &parley.Error{
			Err: parley.ErrParameters, Message: "data.input is neither an object nor a text", Validation: &parley.ValidationFailure{
				AgentName: b.Name, ValidationErrors: wrong, ParametersSchema: b.parameters.Raw(),
			},
		}
	}
	return given, nil
}

// wordsOf gives the text and the data of a note or message.
func wordsOf(e *parley.Event) (text string, data json.RawMessage, err error) {
	if e.Type == parley.TypeSystem {
		sys, err := e.System()
		return "", sys.Data, err
	}
	m, err := e.Message()
	return m.Text, m.Data, err
}
