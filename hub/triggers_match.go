package hub

import (
	"slices"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/registry"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/internal/selector"
)

// said is an event that selectors may look at, before or after it was decided.
type said struct {
	from string
	note bool
	selector.Event
}

// saidNote is a note.
func saidNote(from string, n *parley.Note) *said {
	return &said{from: from, note: true, Event: selector.Event{Type: parley.TypeSystem, Schema: n.Schema, Tags: n.Tags, Data: n.Data}}
}

// saidMessage is a message that ends a turn.
func saidMessage(from string, payload []byte) (*said, error) {
	var m parley.Message
	if err := m.UnmarshalJSON(payload); err != nil {
		return nil, err
	}
	return &said{from: from, Event: selector.Event{Type: parley.TypeMessage, Schema: m.Schema, Tags: m.Tags, Data: m.Data}}, nil
}

// saidBy gives what selectors look at in an event of the log: a note, or a message of a participant that ends a turn; nil for any other.
func saidBy(e *parley.Event) (*said, error) {
	switch {
	case e.Type == parley.TypeMessage && e.Finality == parley.FinalityTurn && e.From != parley.HubID:
		return saidMessage(e.From, e.Payload)
	case e.Type != parley.TypeSystem:
		return nil, nil
	}
	sys, err := e.System()
	if err != nil || sys.Kind != parley.KindNote {
		return nil, err
	}
	return saidNote(e.From, &parley.Note{Schema: sys.Schema, Tags: sys.Tags, Data: sys.Data}), nil
}

// onNote gives whom a note would wake in a conversation, as subscriptions say. It is asked before the note is decided, without the lock of the conversation.
func (t *triggers) onNote(c *conv.Conversation, from string, n *parley.Note) []parley.Wake {
	if t.known.Load() == 0 || conv.Reserved(c.ID()) {
		return nil
	}
	s := c.Head()
	return t.wakes(&s, saidNote(from, n))
}

// onMessage is onNote for a message that ends a turn.
func (t *triggers) onMessage(c *conv.Conversation, from string, payload []byte) []parley.Wake {
	if t.known.Load() == 0 || conv.Reserved(c.ID()) {
		return nil
	}
	s := c.Head()
	if s.Policy.Kind != parley.PolicyTriggers && s.Workspace == "" {
		return nil // it wakes nobody
	}
	e, err := saidMessage(from, payload)
	if err != nil {
		return nil // it is refused when it is decided
	}
	return t.wakes(&s, e)
}

// wakes gives whom an event would wake.
func (t *triggers) wakes(s *fold.State, e *said) []parley.Wake {
	if s.Session != nil || s.Closed() {
		return nil
	}
	return append(t.wakesSeats(s, e), t.wakesWatchers(s, e)...)
}

// wakesSeats gives the wakes of those that take part: a note starts sessions; a message gives turns, under the policy that asks who was woken. The lock is not held while
// selectors look: else who subscribes would wait for that, and everybody for them.
func (t *triggers) wakesSeats(s *fold.State, e *said) []parley.Wake {
	if !e.note && s.Policy.Kind != parley.PolicyTriggers {
		return nil
	}
	var out []parley.Wake
	looked := make(map[*registry.Blueprint]int) // many seats may be of one agent
	for _, seat := range s.Participants {
		name := fold.AgentName(seat)
		if !seat.Kind.Claims() {
			continue
		}
		b := t.seated(name)
		if b == nil || e.from == seat.ID && !b.Selectors.Subscriptions.IncludeSelf {
			continue
		}
		i, ok := looked[b]
		if !ok {
			i = wakesSeated(b, &e.Event, s.Workspace)
			looked[b] = i
		}
		if i >= 0 {
			out = append(out, t.wake(b, name, seat.ID, i, e.note))
		}
	}
	return out
}

// wakesSeated gives the first trigger that matches an event where the agent takes part; -1 where none does. Those that look at the workspace count where that is granted.
func wakesSeated(b *registry.Blueprint, e *selector.Event, workspace string) int {
	here := b.Selectors.Wakes(e, false)
	if !grants(b, workspace) {
		return here
	}
	there := b.Selectors.Wakes(e, true)
	if here < 0 || there >= 0 && there < here {
		return there
	}
	return here
}

// wake is one that has a session where the event is a note, or the agent takes no part.
func (t *triggers) wake(b *registry.Blueprint, name, seat string, i int, session bool) parley.Wake {
	w := parley.Wake{Agent: name, AgentID: seat, Selector: i}
	if session {
		w.SessionID, w.AnswerSchema = t.hub.opts.NewID(conv.SessionPrefix), answerSchemaOf(b)
	}
	return w
}

// answerSchemaOf is the schema of the notes with which its sessions answer.
func answerSchemaOf(b *registry.Blueprint) string {
	switch {
	case b.Selectors.Subscriptions.AnswerSchema != "":
		return b.Selectors.Subscriptions.AnswerSchema
	case b.Kind() == parley.AgentTypeAgent:
		return parley.AgentResponseSchema
	}
	return parley.ToolResponseSchema
}

// wakesWatchers gives the wakes of those that take no part, and watch the workspace of the conversation.
func (t *triggers) wakesWatchers(s *fold.State, e *said) []parley.Wake {
	if s.Workspace == "" {
		return nil
	}
	var out []parley.Wake
	for _, workspace := range []string{s.Workspace, auth.AnyWorkspace} {
		t.mu.RLock()
		x := t.watched[workspace]
		t.mu.RUnlock()
		if x == nil {
			continue
		}
		hits, _ := x.Match(&e.Event, parley.MaxWatchers+2*len(s.Participants)+1) // some may take part, or be its author
		for _, h := range hits {
			t.mu.RLock()
			b, counts := t.watches[h.Key][workspace], t.watcherLocked(h.Key, s.Workspace)
			t.mu.RUnlock()
			switch {
			case len(out) == parley.MaxWatchers:
				return out
			case b == nil || b != counts, sits(s, h.Key), e.from == h.Key && !b.Selectors.Subscriptions.IncludeSelf: // b is nil where it has just left
				continue
			}
			w := t.wake(b, h.Key, h.Key, h.Selector, true)
			w.Workspace = true
			out = append(out, w)
		}
	}
	return out
}

// sits reports whether an agent takes part, or somebody has its name, which no watcher shall be taken for.
func sits(s *fold.State, name string) bool {
	return slices.ContainsFunc(s.Participants, func(p parley.Participant) bool {
		return p.ID == name || p.Kind.Claims() && fold.AgentName(p) == name
	})
}
