package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// typeNote is the type of a note in results. For the hub, a note is a system event.
const typeNote = "note"

// eventView is an event as a model reads it.
type eventView struct {
	Seq      int64  `json:"seq"`
	Turn     int64  `json:"turn,omitempty"`
	Type     string `json:"type" jsonschema:"message, note, trace or system"`
	From     string `json:"from"`
	Finality string `json:"finality,omitempty" jsonschema:"what the message ended: none, turn or conversation"`
	// Withdrawn events are returned only with include_traces.
	Withdrawn      bool             `json:"withdrawn,omitempty" jsonschema:"its attempt failed: ignore it"`
	Text           string           `json:"text"`
	Schema         string           `json:"schema,omitempty" jsonschema:"the author's name for the format of data"`
	Tags           []string         `json:"tags,omitempty"`
	Data           any              `json:"data,omitempty" jsonschema:"structured data that the author added to the text"`
	DataText       string           `json:"data_text,omitempty"`
	Attachments    []attachmentView `json:"attachments,omitempty" jsonschema:"files, to read with read_attachment"`
	CutChars       int              `json:"cut_chars,omitempty" jsonschema:"characters of the text that are left out"`
	NextOffset     int              `json:"next_text_offset,omitempty"`
	CutDataChars   int              `json:"cut_data_chars,omitempty"`
	NextDataOffset int              `json:"next_data_offset,omitempty"`
	// The calls in Rest have no conversation_id if it is that of the result.
	Rest []string `json:"rest,omitempty" jsonschema:"calls that read the rest; add this conversation_id if missing"`

	at            offsets
	callbackCalls []string // calls that read the results of the sessions in a callback
}

type attachmentView struct {
	SHA256    string `json:"sha256"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
}

// leastChars is the minimum of characters for text and data, whatever else the event has.
const leastChars = 1000

// viewEvent returns an event with about chars characters of its text and data from the offsets.
func viewEvent(e *parley.Event, at offsets, chars int) eventView {
	v := eventView{Seq: e.Seq, Turn: e.Turn, Type: string(e.Type), From: e.From, Finality: string(e.Finality), at: at}
	text, data := v.content(e)
	s := fitContent(text, data, at, max(chars-v.overhead(), leastChars))
	v.Text, v.CutChars, v.NextOffset = s.text, s.cut, s.next
	v.Data, v.DataText, v.CutDataChars, v.NextDataOffset = s.data, s.dataText, s.cutData, s.nextData
	v.Rest = v.restCalls("")
	return v
}

// content returns the text and the data of an event, and sets the other fields of the view.
func (v *eventView) content(e *parley.Event) (text string, data json.RawMessage) {
	whole := string(e.Payload)
	switch e.Type {
	case parley.TypeMessage:
		if m, err := e.Message(); err == nil {
			return v.message(e, &m)
		}
	case parley.TypeSystem:
		if s, err := e.System(); err == nil {
			return v.system(&s, whole)
		}
	}
	return whole, nil
}

func (v *eventView) message(e *parley.Event, m *parley.Message) (text string, data json.RawMessage) {
	v.Schema, v.Tags = m.Schema, m.Tags
	for _, a := range m.Attachments {
		v.Attachments = append(v.Attachments, attachmentView(a))
	}
	if r := m.Result; r != nil && r.Attachment != nil {
		v.Attachments = append(v.Attachments, attachmentView(*r.Attachment))
	}
	if e.From == parley.HubID {
		v.callbackCalls = callbackCalls(m.Data)
	}
	if m.Text == "" && (m.Parameters != nil || m.Result != nil) {
		return string(e.Payload), nil
	}
	return m.Text, m.Data
}

func (v *eventView) system(s *parley.System, whole string) (text string, data json.RawMessage) {
	switch s.Kind {
	case parley.KindNote:
		v.Type, v.Schema, v.Tags = typeNote, s.Schema, s.Tags
		return "", s.Data
	case parley.KindAttachmentAdded:
		v.Attachments = []attachmentView{{s.SHA256, s.Name, s.MediaType}}
	}
	return whole, nil
}

// callbackCalls returns the calls that read the results that a callback of the hub leaves out.
func callbackCalls(data json.RawMessage) (calls []string) {
	var told parley.Callbacks
	if data == nil || json.Unmarshal(data, &told) != nil {
		return nil
	}
	for _, c := range told.Callbacks {
		switch {
		case c.Result == nil:
		case c.Result.Attachment != nil:
			calls = append(calls, attachmentCall(c.ChildSessionID, c.Result.Attachment.SHA256, 0))
		case c.Result.Omitted:
			calls = append(calls, fmt.Sprintf("get_agent_session {session_id: %q}", c.ChildSessionID))
		}
	}
	return calls
}

// overhead returns about how many characters the event takes besides its text and data.
func (v *eventView) overhead() int {
	n := 40 + utf8.RuneCountInString(v.Schema)
	for _, t := range v.Tags {
		n += utf8.RuneCountInString(t) + 3
	}
	for _, a := range v.Attachments {
		n += utf8.RuneCountInString(a.Name+a.MediaType) + 2*len(a.SHA256) + 100
	}
	for _, c := range v.callbackCalls {
		n += len(c) + 3
	}
	return n
}

// size returns about how many characters the event takes in a result.
func (v *eventView) size() int {
	n := v.overhead() + utf8.RuneCountInString(v.Text) + utf8.RuneCountInString(v.DataText)
	if raw, ok := v.Data.(json.RawMessage); ok {
		n += utf8.RuneCount(raw)
	}
	return n
}

// restCalls returns the calls that read the rest and the attachments. They leave out an empty
// conversation.
func (v *eventView) restCalls(conversation string) (calls []string) {
	if v.CutChars > 0 {
		calls = append(calls, v.readCall(conversation, "text_offset", v.NextOffset))
	}
	if v.CutDataChars > 0 {
		calls = append(calls, v.readCall(conversation, "data_offset", v.NextDataOffset))
	}
	for _, a := range v.Attachments {
		calls = append(calls, attachmentCall(conversation, a.SHA256, 0))
	}
	return append(calls, v.callbackCalls...)
}

// readCall returns the call that reads the rest of this event.
func (v *eventView) readCall(conversation, offset string, at int) string {
	var b strings.Builder
	b.WriteString("read_conversation {")
	if conversation != "" {
		fmt.Fprintf(&b, "conversation_id: %q, ", conversation)
	}
	fmt.Fprintf(&b, "since_seq: %d, limit: 1, ", v.Seq-1)
	if v.Withdrawn || v.Type != string(parley.TypeMessage) && v.Type != typeNote {
		b.WriteString("include_traces: true, ")
	}
	fmt.Fprintf(&b, "%s: %d}", offset, at)
	return b.String()
}

// markWithdrawn marks an event of a failed attempt.
func (v *eventView) markWithdrawn() {
	v.Withdrawn = true
	v.Rest = v.restCalls("")
}

func (v *eventView) line(conversation string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s%s: %s%s", v.Seq, v.From, v.kind(), v.at.label(), v.Text)
	if v.CutChars > 0 {
		fmt.Fprintf(&b, " [%d more characters: %s]", v.CutChars, v.readCall(conversation, "text_offset", v.NextOffset))
	}
	if v.Schema != "" {
		fmt.Fprintf(&b, "\n  schema: %s", v.Schema)
	}
	if len(v.Tags) > 0 {
		fmt.Fprintf(&b, "\n  tags: %s", strings.Join(v.Tags, ", "))
	}
	if raw, ok := v.Data.(json.RawMessage); ok {
		fmt.Fprintf(&b, "\n  data: %s", raw)
	}
	if v.DataText != "" {
		b.WriteString("\n  piece of data: " + v.DataText)
	}
	if v.CutDataChars > 0 {
		fmt.Fprintf(&b, " [%d more characters of data: %s]", v.CutDataChars, v.readCall(conversation, "data_offset",
			v.NextDataOffset))
	}
	for _, a := range v.Attachments {
		fmt.Fprintf(&b, "\n  attachment %s: %s", strings.TrimSpace(a.Name+" "+a.MediaType), attachmentCall(conversation,
			a.SHA256, 0))
	}
	for _, c := range v.callbackCalls {
		b.WriteString("\n  result: " + c)
	}
	return b.String()
}

// kind describes an event for people.
func (v *eventView) kind() string {
	what := fmt.Sprintf("turn %d", v.Turn)
	switch {
	case v.Type != string(parley.TypeMessage):
		what = v.Type
	case v.Finality == string(parley.FinalityNone):
		what += ", continues"
	case v.Finality == string(parley.FinalityConversation):
		what += ", closes the conversation"
	}
	if v.Withdrawn {
		what += ", withdrawn: ignore it"
	}
	return " (" + what + ")"
}
