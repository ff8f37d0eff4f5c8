package parley

import (
	"bytes"
	"encoding/json"
)

// EventType says what an event is.
type EventType string

// The event types of protocol version 1. Readers must let an unknown type pass.
const (
	TypeMessage EventType = "message"
	TypeTrace   EventType = "trace"
	TypeSystem  EventType = "system"
)

// HubID is the author of the hub's own events. No participant may have it.
const HubID = "hub"

// Event is one record of a conversation. The hub stores the encoding that it sends, so an Event read from a
// hub keeps it ([Event.Raw]) and encodes to the same bytes again, unknown fields included.
type Event struct {
	// Seq is the place in the conversation: 1, 2, 3, ... without gap.
	Seq int64 `json:"seq"`
	// Turn is the turn of a message or trace, from 1. System events have none: they are in lane 0.
	Turn int64     `json:"turn,omitempty"`
	Type EventType `json:"type"`
	// From is the participant who was authenticated, or HubID.
	From string `json:"from"`
	// At is hub time; it never goes back within a conversation.
	At Timestamp `json:"at"`
	// Finality is set on messages only.
	Finality Finality `json:"finality,omitempty"`
	// Outcome may be set on a message with FinalityConversation; absent means completed.
	Outcome *Outcome `json:"outcome,omitempty"`
	// TurnHint names who shall be next, under a policy that takes hints.
	TurnHint *TurnHint       `json:"turnHint,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	// ClientRequestID is the idempotency key that the author gave.
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Cause is the event for which it was said, where its author was woken by one, and Hops how many wakes lie between it and one that nothing has woken. Both are the
	// hub's own: it writes them, and takes them from nobody.
	Cause *Cause `json:"cause,omitempty"`
	Hops  int    `json:"hops,omitempty"`

	// Traceparent names the span in which it was said, by W3C Trace Context.
	Traceparent string `json:"traceparent,omitempty"`

	raw []byte
}

// eventFields is Event without its methods.
type eventFields Event

// UnmarshalJSON decodes the known fields and keeps the bytes.
func (e *Event) UnmarshalJSON(b []byte) error {
	var f eventFields
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*e = Event(f)
	e.raw = bytes.Clone(b)
	return nil
}

// MarshalJSON gives the bytes that the event was decoded from, or encodes the fields.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.raw != nil {
		return e.raw, nil
	}
	return e.Encode()
}

// Raw gives the stored encoding of an event that was decoded, else nil. Do not change it. The hash chain is
// made over these bytes. (json.Marshal rewrites <, > and & of any Marshaler's output; write Raw where exact
// bytes matter.)
func (e *Event) Raw() []byte { return e.raw }

// Encode gives the canonical encoding of the known fields: field order as in the struct, no insignificant
// space, no HTML escapes, payload as it is but compact.
func (e *Event) Encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode((*eventFields)(e)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

// Message decodes the payload of a message.
func (e *Event) Message() (Message, error) {
	var m Message
	err := json.Unmarshal(e.Payload, &m)
	return m, err
}

// System decodes the payload of a system event.
func (e *Event) System() (System, error) {
	var s System
	err := json.Unmarshal(e.Payload, &s)
	return s, err
}

// Closes reports whether the event closes its conversation.
func (e *Event) Closes() bool {
	return e.Type == TypeMessage && e.Finality == FinalityConversation
}
