// Package view shows events, guidance and sessions to people.
//
//	p := view.New(app.Out)
//	p.Event(&event)
package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// Printer prints events for people: names in a column, each speaker in a separate color.
type Printer struct {
	to       *cli.Stream
	speakers map[string]cli.Style
	width    int // of the column of names
	Wrap     int // columns after which long texts go on in the next line; 0: the terminal breaks them
	// Write writes whole lines. It is Line of the stream unless a person edits a line below.
	Write func(lines string)
}

const maxNameWidth = 16

// New returns a printer on a stream.
func New(to *cli.Stream) *Printer {
	return &Printer{to: to, speakers: map[string]cli.Style{}, width: len(parley.HubID), Write: to.Line}
}

// addSpeaker assigns a color and a column width to a participant, in the order of appearance.
func (v *Printer) addSpeaker(id string) {
	if id == parley.HubID {
		return
	}
	if _, known := v.speakers[id]; known {
		return
	}
	v.speakers[id] = cli.StyleSpeakers + cli.Style(len(v.speakers))
	v.width = min(maxNameWidth, max(v.width, utf8.RuneCountInString(id)))
}

func (v *Printer) Name(id string) string {
	v.addSpeaker(id)
	st, ok := v.speakers[id]
	if !ok {
		st = cli.StyleDim
	}
	return v.to.Paint(st, cli.Clean(id))
}

// Event shows one event.
func (v *Printer) Event(e *parley.Event) {
	if e.Type == parley.TypeSystem {
		v.writeSystem(e)
		return
	}
	v.addSpeaker(e.From) // before its lines are indented
	v.writeRow(e, v.bodyText(e))
	if e.Closes() {
		v.writeRow(e, v.to.Paint(cli.StyleBold, "closed: "+OutcomeText(e.Outcome)))
	}
}

// writeRow shows text beside seq, turn and name.
func (v *Printer) writeRow(e *parley.Event, text string) {
	v.addSpeaker(e.From)
	turn := ""
	if e.Turn > 0 {
		turn = fmt.Sprintf("t%d", e.Turn)
	}
	pad := strings.Repeat(" ", max(0, v.width-utf8.RuneCountInString(cli.Clean(e.From))))
	v.Write(v.to.Paint(cli.StyleDim, fmt.Sprintf("#%-4d %-4s", e.Seq, turn)) + " " + v.Name(e.From) + pad + "  " + text)
}

func (v *Printer) Indent() string { return strings.Repeat(" ", 13+v.width) }

// cleanText makes a text of others ready to be shown in its column.
func (v *Printer) cleanText(s string) string {
	return cli.CleanLines(s, v.Indent(), v.Wrap-len(v.Indent()))
}

func (v *Printer) bodyText(e *parley.Event) string {
	switch e.Type {
	case parley.TypeMessage:
		return v.messageText(e)
	case parley.TypeTrace:
		return v.to.Paint(cli.StyleDim, "trace "+v.traceText(e.Payload))
	default:
		return v.to.Paint(cli.StyleDim, cli.Clean(string(e.Type))+" "+cli.Clean(string(e.Payload)))
	}
}

func (v *Printer) messageText(e *parley.Event) string {
	m, err := e.Message()
	if err != nil {
		return cli.Clean(string(e.Payload))
	}
	var parts []string
	if m.Text != "" {
		parts = append(parts, v.cleanText(m.Text))
	}
	if told := callbacksOf(e, m); len(told) > 0 {
		return v.callbacksText(told)
	}
	if len(m.Data) > 0 && m.Text == "" {
		parts = append(parts, v.to.Paint(cli.StyleDim, cli.Clean(string(m.Data))))
	}
	if result := v.resultText(m.Result, m.Text); result != "" {
		parts = append(parts, result)
	}
	if len(m.Parameters) > 0 && !isPrompt(m) {
		parts = append(parts, v.to.Paint(cli.StyleDim, cli.Clean(string(m.Parameters))))
	}
	if m.Schema != "" || len(m.Tags) > 0 {
		parts = append(parts, v.to.Paint(cli.StyleDim, schemaText(m.Schema, m.Tags)))
	}
	for _, file := range m.Attachments {
		parts = append(parts, v.to.Paint(cli.StyleDim, "["+FileText(file.Name, file.MediaType, file.SHA256)+"]"))
	}
	if e.TurnHint != nil {
		parts = append(parts, v.to.Paint(cli.StyleDim, "-> "+cli.Clean(e.TurnHint.Next)))
	}
	if caused := causedText(e); caused != "" {
		parts = append(parts, v.to.Paint(cli.StyleDim, caused))
	}
	if e.Finality == parley.FinalityNone {
		parts = append(parts, v.to.Paint(cli.StyleDim, "..."))
	}
	return strings.Join(parts, " ")
}

func (v *Printer) traceText(payload json.RawMessage) string {
	var t parley.Trace
	if err := json.Unmarshal(payload, &t); err != nil {
		return cli.Clean(string(payload))
	}
	text := cli.Clean(t.Kind)
	switch {
	case t.Text != "":
		text += ": " + v.cleanText(t.Text)
	case len(t.Data) > 0:
		text += ": " + cli.Clean(string(t.Data))
	}
	return text
}

// writeSystem shows what the hub wrote in lane 0. Kinds of a later version are shown as they are.
func (v *Printer) writeSystem(e *parley.Event) {
	s, err := e.System()
	if err != nil {
		v.writeRow(e, cli.Clean(string(e.Payload)))
		return
	}
	switch s.Kind {
	case parley.KindConversationCreated:
		for _, p := range s.Participants {
			v.addSpeaker(p.ID)
		}
		v.writeRow(e, v.createdText(s))
	case parley.KindConversationForked:
		v.writeRow(e, v.forkedText(s))
	case parley.KindParticipantAdded:
		v.writeRow(e, "joined: "+v.participantText(*s.Participant)+", added by "+cli.Clean(s.AddedBy))
	case parley.KindParticipantPrivate:
		v.writeRow(e, "for "+cli.Clean(s.ParticipantID)+" alone: "+v.cleanText(s.Text))
	case parley.KindNote:
		text := "note " + schemaText(s.Schema, s.Tags) + " " + cli.Clean(string(s.Data))
		if caused := causedText(e); caused != "" {
			text += " " + caused
		}
		v.writeRow(e, v.to.Paint(cli.StyleDim, text))
	case parley.KindAttachmentAdded:
		v.writeRow(e,
			v.to.Paint(cli.StyleDim, fmt.Sprintf("added %s, %d bytes", FileText(s.Name, s.MediaType, s.SHA256), s.Size)))
	default:
		shade := cli.StyleDim
		// it changes earlier messages, or asks a person
		if s.ResetFrom > 0 || s.Kind == parley.KindApprovalRequested || s.Kind == parley.KindApprovalResolved {
			shade = cli.StylePlain
		}
		v.writeRow(e, v.to.Paint(shade, v.systemText(e, s)))
	}
}

// FileText names an attachment, with the hash by which it can be got.
func FileText(name, mediaType, hash string) string {
	text := "file " + cli.Clean(hash)
	if name != "" {
		text += " " + cli.Clean(name)
	}
	if mediaType != "" {
		text += " (" + cli.Clean(mediaType) + ")"
	}
	return text
}

func (v *Printer) createdText(s parley.System) string {
	names := make([]string, 0, len(s.Participants))
	for _, p := range s.Participants {
		names = append(names, v.participantText(p))
	}
	text := "created by " + cli.Clean(s.CreatedBy) + ": " + strings.Join(names, ", ")
	if s.Policy != nil {
		text += "; " + PolicyText(*s.Policy)
	}
	if s.Workspace != "" {
		text += "; workspace " + cli.Clean(s.Workspace)
	}
	if r := s.Session; r != nil {
		text += "; " + sessionText(r)
	}
	if s.Title != "" {
		text = v.to.Paint(cli.StyleBold, cli.Clean(s.Title)) + "\n" + v.Indent() + text
	}
	return text
}

func (v *Printer) participantText(p parley.Participant) string {
	about := cli.Clean(string(p.Kind))
	if p.Role != "" {
		about += ", " + cli.Clean(p.Role)
	}
	if agent := AgentText(p); agent != "" {
		about += ", " + agent
	}
	return v.Name(p.ID) + " (" + about + ")"
}

// GuidanceText says in one line whose turn it is, and why.
func GuidanceText(g parley.Guidance) string {
	var head string
	switch g.Kind {
	case parley.MaySpeak:
		head = fmt.Sprintf("your turn (turn %d)", g.Turn)
	case parley.Wait:
		head = "waiting"
		if g.Speaker != "" {
			head += " for " + cli.Clean(g.Speaker)
		}
		if g.Claim != nil {
			head += ", " + ClaimText(g.Claim)
		}
	case parley.Closed:
		head = "closed"
	default:
		head = cli.Clean(string(g.Kind))
	}
	return head + ": " + cli.Clean(g.Reason)
}

// OutcomeText describes the outcome of a conversation.
func OutcomeText(o *parley.Outcome) string {
	if o == nil {
		return string(parley.OutcomeCompleted)
	}
	text := cli.Clean(string(o.Status))
	if o.Reason != "" {
		text += ", " + cli.Clean(o.Reason)
	}
	return text
}

// RawEvent returns the bytes of an event as they are stored.
func RawEvent(e *parley.Event) []byte {
	if raw := e.Raw(); raw != nil {
		return bytes.Clone(raw)
	}
	b, _ := e.Encode() // an event that came from no wire; its fields are strings and numbers
	return b
}
