package parley

import (
	"encoding/json"
	"fmt"
)

// Message is the payload of a message event. At least one of Text, Data, Attachments, Parameters
// and Result is set. Fields that this version does not know remain in the payload of the event.
type Message struct {
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	// Schema is the name of the shape of Data, such as "priorauth.decision.v1". Tags are free labels.
	Schema string   `json:"schema,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	// Attachments are files that were added to the conversation before.
	Attachments []Attachment `json:"attachments,omitempty"`
	// Parameters are the parameters of the caller of a session. Result is in the message with which
	// the agent closes the session. Both are present in sessions only.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Result     *SessionResult  `json:"result,omitempty"`
}

// Attachment refers to a file of the conversation. See putAttachment.
type Attachment struct {
	SHA256    string `json:"sha256"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
}

// UnmarshalJSON accepts the members with their exact names only. encoding/json alone would accept
// "Text" for text.
func (m *Message) UnmarshalJSON(b []byte) error {
	*m = Message{}
	return exactly(b, map[string]any{
		"text": &m.Text, "data": &m.Data, "schema": &m.Schema, "tags": &m.Tags, "attachments": &m.Attachments,
		"parameters": &m.Parameters, "result": &m.Result,
	})
}

// UnmarshalJSON accepts the members with their exact names only.
func (a *Attachment) UnmarshalJSON(b []byte) error {
	*a = Attachment{}
	return exactly(b, map[string]any{"sha256": &a.SHA256, "name": &a.Name, "mediaType": &a.MediaType})
}

// exactly decodes the members of an object that have the names in into, and ignores other members.
func exactly(b []byte, into map[string]any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for name, member := range into {
		raw, ok := members[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, member); err != nil {
			return fmt.Errorf("payload.%s: %w", name, err)
		}
	}
	return nil
}

// Trace is the payload of a trace event: a step of the work of the author. The author, tokens with
// the scope trace, and admins can read it. Kind is required. Other members are allowed.
type Trace struct {
	Kind string          `json:"kind"`
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Note is the payload of sendNote: a system event that any participant may post at any time while
// the conversation is open. It does not change the floor.
type Note struct {
	Schema string          `json:"schema"`
	Tags   []string        `json:"tags,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// Delta is a part of the text of the open turn, for live subscribers only. It is not stored: the
// message that follows has the whole text. Index is the number of the part, so that a reader
// notices a skipped part.
type Delta struct {
	ConversationID string `json:"conversationId"`
	Turn           int64  `json:"turn"`
	From           string `json:"from"`
	Index          int64  `json:"index"`
	Text           string `json:"text"`
}
