package parley

import (
	"bytes"
	"encoding/json"
)

// EventType is the type of an event.
type EventType string

// The event types of protocol version 1. Readers must ignore an unknown type.
const (
	TypeMessage EventType = "message"
	TypeTrace   EventType = "trace"
	TypeSystem  EventType = "system"
)

// HubID is the author of the events of the hub. No participant may have it.
const HubID = "hub"

// Event is one entry of the log of a conversation. The hub sends the encoding that it stores. An
// Event that was read from a hub keeps that encoding ([Event.Raw]), and encodes to the same bytes
// again, including unknown fields.
type Event struct {
	// Seq is the position in the conversation: 1, 2, 3 and so on, without gaps.
	Seq int64 `json:"seq"`
	// Turn is the turn of a message or trace, from 1. System events are in no turn: it is 0.
	Turn int64     `json:"turn,omitempty"`
	Type EventType `json:"type"`
	// From is the authenticated participant, or HubID.
	From string `json:"from"`
	// At is hub time. It never decreases within a conversation.
	At Timestamp `json:"at"`
	// Finality is set on messages only.
	Finality Finality `json:"finality,omitempty"`
	// Outcome may be set on a message with FinalityConversation; absent means completed.
	Outcome *Outcome `json:"outcome,omitempty"`
	// TurnHint names the participant that should be next, under a policy that uses hints.
	TurnHint *TurnHint       `json:"turnHint,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	// ClientRequestID is the idempotency key of the author.
	ClientRequestID string `json:"clientRequestId,omitempty"`
	// Cause is the event that triggered the author, if there was one. Hops is the number of triggers
	// between this event and one that nothing triggered. The hub writes both; callers cannot set them.
	Cause *Cause `json:"cause,omitempty"`
	Hops  int    `json:"hops,omitempty"`

	// Traceparent is the span in which the event was written, in the form of W3C Trace Context.
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

// MarshalJSON returns the bytes that the event was decoded from. Without them it encodes the
// fields.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.raw != nil {
		return e.raw, nil
	}
	return e.Encode()
}

// Raw returns the stored encoding of a decoded event, or nil. The caller must not change it. The
// hash chain covers these bytes. Write Raw where exact bytes matter: json.Marshal escapes <, > and
// & in the output of MarshalJSON.
func (e *Event) Raw() []byte { return e.raw }

// Encode returns the canonical encoding of the known fields: in the order of the struct, without
// insignificant space and HTML escapes, and with the payload compacted.
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
