package eventdata

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
)

// Meta is the part of an event that decides which readers receive it.
type Meta struct {
	Type parley.EventType
	From string
	// Private is the only participant who sees it without the trace scope. If it is
	// empty, every participant sees the event.
	Private string
}

// MetaOf returns the Meta of an event.
func MetaOf(e *parley.Event) Meta {
	m := Meta{Type: e.Type, From: e.From}
	switch {
	case e.Type == parley.TypeTrace:
		m.Private = e.From
	case e.Type == parley.TypeSystem:
		m.Private = privateTo(e)
	}
	return m
}

// privateTo returns the only participant who sees a system event without the trace scope, or "".
func privateTo(e *parley.Event) string {
	switch Kind(e) {
	case parley.KindParticipantPrivate:
		if sys, err := e.System(); err == nil {
			return sys.ParticipantID
		}
	case parley.KindApprovalDetails, parley.KindApprovalAnswer:
		if sys, err := e.System(); err == nil {
			return sys.AgentID
		}
	}
	return ""
}

// kindPrefix begins the payload of each system event that a hub writes.
var kindPrefix = []byte(`{"kind":"`)

// Kind returns the kind of a system event, and "" for any other event. It decodes no payload that a hub wrote.
func Kind(e *parley.Event) string {
	if e.Type != parley.TypeSystem {
		return ""
	}
	if rest, ok := bytes.CutPrefix(e.Payload, kindPrefix); ok {
		if i := bytes.IndexAny(rest, `"\`); i >= 0 && rest[i] == '"' {
			return string(rest[:i])
		}
	}
	sys, err := e.System()
	if err != nil {
		return ""
	}
	return sys.Kind
}

// Viewer is a reader of a log.
type Viewer struct {
	ID string
	// All is true for a reader who also sees the traces and private texts of others.
	All bool
}

// Sees reports whether the viewer receives the event. It receives the whole event or nothing.
func (v Viewer) Sees(m Meta) bool {
	return v.All || m.Private == "" || m.Private == v.ID
}

// IsForkOf reports whether an event begins a fork of a conversation.
func IsForkOf(e *parley.Event, id string) bool {
	if Kind(e) != parley.KindConversationForked {
		return false
	}
	sys, err := e.System()
	return err == nil && sys.Fork != nil && sys.Fork.ConversationID == id
}

// CallbackIDs returns the sessions in a callback, which is a message of the hub.
func CallbackIDs(e *parley.Event) ([]string, error) {
	var m struct {
		Data struct {
			Callbacks []struct {
				ID string `json:"child_session_id"`
			} `json:"callbacks"`
		} `json:"data"`
	}
	if err := json.Unmarshal(e.Payload, &m); err != nil {
		return nil, fmt.Errorf("callbacks of the hub: %w", err)
	}
	ids := make([]string, len(m.Data.Callbacks))
	for i, c := range m.Data.Callbacks {
		ids[i] = c.ID
	}
	return ids, nil
}
