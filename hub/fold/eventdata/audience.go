package eventdata

import (
	"bytes"

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
	if e.Type == parley.TypeTrace {
		m.Private = e.From
	}
	switch kind := Kind(e); kind {
	case parley.KindParticipantPrivate, parley.KindApprovalDetails, parley.KindApprovalAnswer:
		sys, err := e.System()
		switch {
		case err != nil:
		case kind == parley.KindParticipantPrivate:
			m.Private = sys.ParticipantID
		default:
			m.Private = sys.AgentID
		}
	}
	return m
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
