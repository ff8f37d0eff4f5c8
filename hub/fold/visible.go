package fold

import (
	"bytes"

	"github.com/parleyhub/parley"
)

// Meta is what must be known of a stored event to pass or drop it.
type Meta struct {
	Type parley.EventType
	From string
	// Private is the only participant who may see it, of those without the trace scope; empty means everybody.
	Private string
}

// MetaOf gives the Meta of an event.
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

// privateTo is who alone may see a system event, of those without the trace scope.
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

// kindBegins is how the hub writes the payload of a system event.
var kindBegins = []byte(`{"kind":"`)

// kindOf is the kind of a system event. Those that the hub has written are not decoded for it.
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

// Viewer is whose eyes a log is seen with.
type Viewer struct {
	ID string
	// All: sees traces and private texts of others too (scope trace, admin).
	All bool
}

// Sees reports whether an event passes. It passes whole or not at all.
func (v Viewer) Sees(m Meta) bool {
	return v.All || m.Private == "" || m.Private == v.ID
}
