package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// typeNote is the type under which a note of a participant is shown: for the hub it is a system event.
const typeNote = "note"

// eventView is an event as a model reads it.
type eventView struct {
	Seq      int64  `json:"seq"`
	Turn     int64  `json:"turn,omitempty"`
	Type     string `json:"type" jsonschema:"message; note, which a participant has added beside the turns; with include_traces also trace and system"`
	From     string `json:"from"`
	Finality string `json:"finality,omitempty" jsonschema:"of a message: none (the turn goes on), turn (it has ended) or conversation (closed)"`
	// Withdrawn events are shown to who asks for traces only.
	Withdrawn bool     `json:"withdrawn,omitempty" jsonschema:"it counts no more: the attempt that has said it has failed"`
	Text      string   `json:"text"`
	Schema    string   `json:"schema,omitempty" jsonschema:"what the author calls the shape of data"`
	Tags      []string `json:"tags,omitempty"`
	// Data is what came beside the text.
	Data           any              `json:"data,omitempty" jsonschema:"what the author gave beside the text"`
	DataText       string           `json:"data_text,omitempty" jsonschema:"a piece of the JSON text of data, where all of it is too long"`
	Attachments    []attachmentView `json:"attachments,omitempty" jsonschema:"files; read_attachment reads one by its sha256"`
	CutChars       int              `json:"cut_chars,omitempty" jsonschema:"characters of the text that are left out"`
	NextOffset     int              `json:"next_text_offset,omitempty" jsonschema:"the text_offset of read_conversation at which the rest begins"`
	CutDataChars   int              `json:"cut_data_chars,omitempty" jsonschema:"characters of the JSON text of data that are left out"`
	NextDataOffset int              `json:"next_data_offset,omitempty" jsonschema:"the data_offset of read_conversation at which the rest begins"`
	// Rest has no conversation_id where it is that of the event.
	Rest []string `json:"rest,omitempty" jsonschema:"the calls that give what is left out or attached, with the conversation_id of this result where they name none"`

	at       offsets
	children []string // the calls that give the results of sessions which a callback tells of
}

type attachmentView struct {
	SHA256    string `json:"sha256"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
}

// leastChars is what a text and its data are given whatever stands beside them.
const leastChars = 1000

// viewEvent gives an event in about so many characters, with its text and data from the offsets on.
func viewEvent(e *parley.Event, at offsets, chars int) eventView {
	v := eventView{Seq: e.Seq, Turn: e.Turn, Type: string(e.Type), From: e.From, Finality: string(e.Finality), at: at}
	text, data := v.content(e)
	s := share(text, data, at, max(chars-v.beside(), leastChars))
	v.Text, v.CutChars, v.NextOffset = s.text, s.cut, s.next
	v.Data, v.DataText, v.CutDataChars, v.NextDataOffset = s.data, s.dataText, s.cutData, s.nextData
	v.Rest = v.calls("")
	return v
}

// content gives the text and the data of an event, and notes what stands beside them.
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
		v.children = callbackCalls(m.Data)
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

// callbackCalls gives the calls that read the results which are not in a callback of the hub.
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

// beside is about how many characters stand beside the text and the data.
func (v *eventView) beside() int {
	n := 40 + utf8.RuneCountInString(v.Schema)
	for _, t := range v.Tags {
		n += utf8.RuneCountInString(t) + 3
	}
	for _, a := range v.Attachments {
		n += utf8.RuneCountInString(a.Name+a.MediaType) + 2*len(a.SHA256) + 100
	}
	for _, c := range v.children {
		n += len(c) + 3
	}
	return n
}

// size is about how many characters the event takes in a result.
func (v *eventView) size() int {
	n := v.beside() + utf8.RuneCountInString(v.Text) + utf8.RuneCountInString(v.DataText)
	if raw, ok := v.Data.(json.RawMessage); ok {
		n += utf8.RuneCount(raw)
	}
	return n
}

// calls are those that give what is left out or attached; without a conversation they name none.
func (v *eventView) calls(conversation string) (calls []string) {
	if v.CutChars > 0 {
		calls = append(calls, v.reads(conversation, "text_offset", v.NextOffset))
	}
	if v.CutDataChars > 0 {
		calls = append(calls, v.reads(conversation, "data_offset", v.NextDataOffset))
	}
	for _, a := range v.Attachments {
		calls = append(calls, attachmentCall(conversation, a.SHA256, 0))
	}
	return append(calls, v.children...)
}

// reads is the call that reads on in this event.
func (v *eventView) reads(conversation, offset string, at int) string {
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

// withdraw marks an event that counts no more.
func (v *eventView) withdraw() {
	v.Withdrawn = true
	v.Rest = v.calls("")
}

func (v *eventView) line(conversation string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s%s: %s%s", v.Seq, v.From, v.kind(), v.at.label(), v.Text)
	if v.CutChars > 0 {
		fmt.Fprintf(&b, " [%d more characters: %s]", v.CutChars, v.reads(conversation, "text_offset", v.NextOffset))
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
		b.WriteString("\n  data, a piece: " + v.DataText)
	}
	if v.CutDataChars > 0 {
		fmt.Fprintf(&b, " [%d more characters of data: %s]", v.CutDataChars, v.reads(conversation, "data_offset", v.NextDataOffset))
	}
	for _, a := range v.Attachments {
		fmt.Fprintf(&b, "\n  attachment %s: %s", strings.TrimSpace(a.Name+" "+a.MediaType), attachmentCall(conversation, a.SHA256, 0))
	}
	for _, c := range v.children {
		b.WriteString("\n  the result that is left out: " + c)
	}
	return b.String()
}

// kind says what an event is, for people.
func (v *eventView) kind() string {
	what := fmt.Sprintf("turn %d", v.Turn)
	switch {
	case v.Type != string(parley.TypeMessage):
		what = v.Type
	case v.Finality == string(parley.FinalityNone):
		what += ", goes on"
	case v.Finality == string(parley.FinalityConversation):
		what += ", closes the conversation"
	}
	if v.Withdrawn {
		what += ", withdrawn: counts no more"
	}
	return " (" + what + ")"
}
