package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// view shows events to people, one after another: names in a column, each speaker in a colour of its own.
type view struct {
	to       *stream
	speakers map[string]style
	width    int // of the column of names
	wrap     int // columns after which long texts go on in the next line; 0: the terminal breaks them
	// write puts out whole lines; it is the stream's own unless somebody edits a line below.
	write func(lines string)
}

const maxNameWidth = 16

func newView(to *stream) *view {
	return &view{to: to, speakers: map[string]style{}, width: len(parley.HubID), write: to.line}
}

// meet gives a participant a colour and its name room, in the order of meeting.
func (v *view) meet(id string) {
	if id == parley.HubID {
		return
	}
	if _, known := v.speakers[id]; known {
		return
	}
	v.speakers[id] = styleSpeakers + style(len(v.speakers))
	v.width = min(maxNameWidth, max(v.width, utf8.RuneCountInString(id)))
}

func (v *view) name(id string) string {
	v.meet(id)
	st, ok := v.speakers[id]
	if !ok {
		st = styleDim
	}
	return v.to.paint(st, clean(id))
}

// event shows one event.
func (v *view) event(e *parley.Event) {
	if e.Type == parley.TypeSystem {
		v.system(e)
		return
	}
	v.meet(e.From) // before its lines are indented
	v.row(e, v.body(e))
	if e.Closes() {
		v.row(e, v.to.paint(styleBold, "closed: "+outcomeText(e.Outcome)))
	}
}

// row shows text beside seq, turn and name.
func (v *view) row(e *parley.Event, text string) {
	v.meet(e.From)
	turn := ""
	if e.Turn > 0 {
		turn = fmt.Sprintf("t%d", e.Turn)
	}
	pad := strings.Repeat(" ", max(0, v.width-utf8.RuneCountInString(clean(e.From))))
	v.write(v.to.paint(styleDim, fmt.Sprintf("#%-4d %-4s", e.Seq, turn)) + " " + v.name(e.From) + pad + "  " + text)
}

func (v *view) indent() string { return strings.Repeat(" ", 13+v.width) }

// text makes a text of others ready to be shown in its column.
func (v *view) text(s string) string {
	return cleanLines(s, v.indent(), v.wrap-len(v.indent()))
}

func (v *view) body(e *parley.Event) string {
	switch e.Type {
	case parley.TypeMessage:
		return v.message(e)
	case parley.TypeTrace:
		return v.to.paint(styleDim, "trace "+v.trace(e.Payload))
	default:
		return v.to.paint(styleDim, clean(string(e.Type))+" "+clean(string(e.Payload)))
	}
}

func (v *view) message(e *parley.Event) string {
	m, err := e.Message()
	if err != nil {
		return clean(string(e.Payload))
	}
	var parts []string
	if m.Text != "" {
		parts = append(parts, v.text(m.Text))
	}
	if told := callbacksOf(e, m); len(told) > 0 {
		return v.callbacks(told)
	}
	if len(m.Data) > 0 && m.Text == "" {
		parts = append(parts, v.to.paint(styleDim, clean(string(m.Data))))
	}
	if result := v.result(m.Result, m.Text); result != "" {
		parts = append(parts, result)
	}
	if len(m.Parameters) > 0 && !isPrompt(m) {
		parts = append(parts, v.to.paint(styleDim, clean(string(m.Parameters))))
	}
	if m.Schema != "" || len(m.Tags) > 0 {
		parts = append(parts, v.to.paint(styleDim, schemaText(m.Schema, m.Tags)))
	}
	for _, file := range m.Attachments {
		parts = append(parts, v.to.paint(styleDim, "["+fileText(file.Name, file.MediaType, file.SHA256)+"]"))
	}
	if e.TurnHint != nil {
		parts = append(parts, v.to.paint(styleDim, "-> "+clean(e.TurnHint.Next)))
	}
	if caused := causedText(e); caused != "" {
		parts = append(parts, v.to.paint(styleDim, caused))
	}
	if e.Finality == parley.FinalityNone {
		parts = append(parts, v.to.paint(styleDim, "..."))
	}
	return strings.Join(parts, " ")
}

func (v *view) trace(payload json.RawMessage) string {
	var t parley.Trace
	if err := json.Unmarshal(payload, &t); err != nil {
		return clean(string(payload))
	}
	text := clean(t.Kind)
	switch {
	case t.Text != "":
		text += ": " + v.text(t.Text)
	case len(t.Data) > 0:
		text += ": " + clean(string(t.Data))
	}
	return text
}

// system shows what the hub wrote in lane 0. Kinds of a later version are shown as they are.
func (v *view) system(e *parley.Event) {
	s, err := e.System()
	if err != nil {
		v.row(e, clean(string(e.Payload)))
		return
	}
	switch s.Kind {
	case parley.KindConversationCreated:
		for _, p := range s.Participants {
			v.meet(p.ID)
		}
		v.row(e, v.created(s))
	case parley.KindConversationForked:
		v.row(e, v.forked(s))
	case parley.KindParticipantAdded:
		v.row(e, "joined: "+v.participant(*s.Participant)+", added by "+clean(s.AddedBy))
	case parley.KindParticipantPrivate:
		v.row(e, "for "+clean(s.ParticipantID)+" alone: "+v.text(s.Text))
	case parley.KindNote:
		text := "note " + schemaText(s.Schema, s.Tags) + " " + clean(string(s.Data))
		if caused := causedText(e); caused != "" {
			text += " " + caused
		}
		v.row(e, v.to.paint(styleDim, text))
	case parley.KindAttachmentAdded:
		v.row(e, v.to.paint(styleDim, fmt.Sprintf("added %s, %d bytes", fileText(s.Name, s.MediaType, s.SHA256), s.Size)))
	default:
		shade := styleDim
		if s.ResetFrom > 0 || s.Kind == parley.KindApprovalRequested || s.Kind == parley.KindApprovalResolved { // it changes what was said, or somebody is asked
			shade = stylePlain
		}
		v.row(e, v.to.paint(shade, v.turn(e, s)))
	}
}

// fileText names an attachment, with the hash by which it can be got.
func fileText(name, mediaType, hash string) string {
	text := "file " + clean(hash)
	if name != "" {
		text += " " + clean(name)
	}
	if mediaType != "" {
		text += " (" + clean(mediaType) + ")"
	}
	return text
}

func (v *view) created(s parley.System) string {
	names := make([]string, 0, len(s.Participants))
	for _, p := range s.Participants {
		names = append(names, v.participant(p))
	}
	text := "created by " + clean(s.CreatedBy) + ": " + strings.Join(names, ", ")
	if s.Policy != nil {
		text += "; " + policyText(*s.Policy)
	}
	if s.Workspace != "" {
		text += "; workspace " + clean(s.Workspace)
	}
	if r := s.Session; r != nil {
		text += "; " + sessionText(r)
	}
	if s.Title != "" {
		text = v.to.paint(styleBold, clean(s.Title)) + "\n" + v.indent() + text
	}
	return text
}

func (v *view) participant(p parley.Participant) string {
	about := clean(string(p.Kind))
	if p.Role != "" {
		about += ", " + clean(p.Role)
	}
	if agent := agentText(p); agent != "" {
		about += ", " + agent
	}
	return v.name(p.ID) + " (" + about + ")"
}

// guidanceText says in one line whose turn it is, and why.
func guidanceText(g parley.Guidance) string {
	var head string
	switch g.Kind {
	case parley.MaySpeak:
		head = fmt.Sprintf("your turn (turn %d)", g.Turn)
	case parley.Wait:
		head = "waiting"
		if g.Speaker != "" {
			head += " for " + clean(g.Speaker)
		}
		if g.Claim != nil {
			head += ", " + claimText(g.Claim)
		}
	case parley.Closed:
		head = "closed"
	default:
		head = clean(string(g.Kind))
	}
	return head + ": " + clean(g.Reason)
}

func outcomeText(o *parley.Outcome) string {
	if o == nil {
		return string(parley.OutcomeCompleted)
	}
	text := clean(string(o.Status))
	if o.Reason != "" {
		text += ", " + clean(o.Reason)
	}
	return text
}

// rawEvent gives the bytes of an event as they are stored.
func rawEvent(e *parley.Event) []byte {
	if raw := e.Raw(); raw != nil {
		return bytes.Clone(raw)
	}
	b, _ := e.Encode() // an event that came from no wire; its fields are strings and numbers
	return b
}
