package fold

import (
	"bytes"

	"github.com/parleyhub/parley"
)

// Meta is the part of a stored event that decides who may see it.
type Meta struct {
	Type parley.EventType
	From string
	// Private is the only participant without the trace scope that may see the event; empty means all.
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

// privateTo returns the only participant without the trace scope that may see a system event, or an
// empty string.
func privateTo(e *parley.Event) string {
	switch kindOf(e) {
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

// kindBegins begins the payload of a system event that the hub wrote.
var kindBegins = []byte(`{"kind":"`)

// kindOf returns the kind of a system event. It does not decode events that the hub wrote.
func kindOf(e *parley.Event) string {
	if rest, ok := bytes.CutPrefix(e.Payload, kindBegins); ok {
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
	// All is set if the viewer also sees traces and private texts of others (scope trace, admin).
	All bool
}

// Sees reports whether the viewer may see an event. An event is visible as a whole or not at all.
func (v Viewer) Sees(m Meta) bool {
	return v.All || m.Private == "" || m.Private == v.ID
}
