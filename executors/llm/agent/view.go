package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// view is a conversation at the first claim of its turn. It is the same for each attempt. Later
// events are for the next turn.
type view struct {
	title        string
	attempts     int // the most attempts of a turn
	participants []parley.Participant
	session      *parley.SessionRecord
	trace        string // trace id in the metadata of the conversation; may be empty
	private      []string
	entries      []entry
	me           string
}

// entry is a message or a note that was not withdrawn.
type entry struct {
	seq     int64
	turn    int64
	from    string
	message *parley.Message // nil for a note
	note    *parley.System
}

// readView reads the conversation of a turn.
func readView(ctx context.Context, turn *parley.Turn) (*view, error) {
	v := &view{me: turn.AgentID}
	p := &parley.SubscribeParams{ConversationID: turn.ConversationID,
		Types: []parley.EventType{parley.TypeMessage, parley.TypeSystem}}
	for n, err := range turn.Client.Subscribe(ctx, p) {
		if err != nil {
			return nil, fmt.Errorf("read the conversation: %w", err)
		}
		if n.CaughtUp != nil {
			return v, nil
		}
		if n.Event == nil {
			continue
		}
		begun, err := v.addEvent(n.Event, turn.Number)
		if err != nil {
			return nil, fmt.Errorf("read event %d: %w", n.Event.Seq, err)
		}
		if begun {
			return v, nil
		}
	}
	return v, nil
}

// addEvent adds an event. begun is true for the first claim of the turn.
func (v *view) addEvent(e *parley.Event, number int64) (begun bool, err error) {
	if e.Type == parley.TypeMessage {
		m, err := e.Message()
		v.entries = append(v.entries, entry{seq: e.Seq, turn: e.Turn, from: e.From, message: &m})
		return false, err
	}
	s, err := e.System()
	if err != nil {
		return false, err
	}
	switch s.Kind {
	case parley.KindConversationCreated:
		v.title, v.participants, v.session, v.trace = s.Title, s.Participants, s.Session, traceID(s.Metadata)
		v.attempts = cmp.Or(s.Limits, &parley.Limits{}).Attempts()
	case parley.KindParticipantAdded:
		if s.Participant != nil {
			v.participants = append(v.participants, *s.Participant)
		}
	case parley.KindParticipantPrivate:
		if s.ParticipantID == v.me {
			v.private = append(v.private, s.Text)
		}
	case parley.KindNote:
		v.entries = append(v.entries, entry{seq: e.Seq, from: e.From, note: &s})
	case parley.KindClaimEnded:
		v.withdraw(s.Turn, s.ResetFrom)
	case parley.KindTurnClaimed:
		return s.Turn == number, nil
	}
	return false, nil
}

// withdraw removes the messages of a failed attempt.
func (v *view) withdraw(turn, from int64) {
	if from == 0 {
		return
	}
	kept := v.entries[:0]
	for _, e := range v.entries {
		if e.turn != turn || e.seq < from {
			kept = append(kept, e)
		}
	}
	v.entries = kept
}

// participant returns a participant. If the id is unknown, only the id is set.
func (v *view) participant(id string) parley.Participant {
	for _, p := range v.participants {
		if p.ID == id {
			return p
		}
	}
	return parley.Participant{ID: id}
}

// parameters returns the parameters of a session.
func (v *view) parameters() json.RawMessage {
	for _, e := range v.entries {
		if e.message != nil && e.from == v.session.Caller && len(e.message.Parameters) > 0 {
			return e.message.Parameters
		}
	}
	return json.RawMessage("{}")
}

// traceID returns the trace id of the traceparent in the metadata, see W3C Trace Context.
func traceID(metadata json.RawMessage) string {
	var m map[string]json.RawMessage
	var text string
	if json.Unmarshal(metadata, &m) != nil || json.Unmarshal(m["traceparent"], &text) != nil {
		return ""
	}
	fields := strings.Split(text, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || strings.Trim(fields[1], "0123456789abcdef") != "" ||
		strings.Trim(fields[1], "0") == "" {
		return ""
	}
	return fields[1]
}
