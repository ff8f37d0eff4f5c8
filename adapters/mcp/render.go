package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// The bounds of one result.
const (
	// MaxEvents is the most events.
	MaxEvents = 50
	// MaxChars is about the most characters of what was said; more than that models are not shown by some clients.
	MaxChars = 20_000
	// maxTextChars is the most of one message, where there are others.
	maxTextChars = 8000
)

// eventView is an event as a model reads it.
type eventView struct {
	Seq      int64  `json:"seq"`
	Turn     int64  `json:"turn,omitempty"`
	Type     string `json:"type"`
	From     string `json:"from"`
	Finality string `json:"finality,omitempty" jsonschema:"of a message: none (the turn goes on), turn (it has ended) or conversation (closed)"`
	Text     string `json:"text"`
	// Data is what came beside the text.
	Data any `json:"data,omitempty" jsonschema:"what the author gave beside the text"`
	// Attachments name files.
	Attachments []attachmentView `json:"attachments,omitempty"`
	CutChars    int              `json:"cut_chars,omitempty" jsonschema:"characters of the text that are left out"`
	NextOffset  int              `json:"next_text_offset,omitempty" jsonschema:"the text_offset of read_conversation at which the rest begins"`
}

type attachmentView struct {
	SHA256    string `json:"sha256"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
}

// guidanceView is guidance as a model reads it.
type guidanceView struct {
	Kind    string `json:"kind" jsonschema:"may_speak, wait or closed"`
	Action  string `json:"action,omitempty" jsonschema:"start_turn or continue_turn, with may_speak"`
	Turn    int64  `json:"turn"`
	Speaker string `json:"speaker,omitempty" jsonschema:"who has the floor"`
	Reason  string `json:"reason" jsonschema:"why, in a sentence"`
}

func viewGuidance(g *parley.Guidance) guidanceView {
	return guidanceView{Kind: string(g.Kind), Action: string(g.Action), Turn: g.Turn, Speaker: g.Speaker, Reason: g.Reason}
}

func guidanceText(g *parley.Guidance) string {
	view := viewGuidance(g)
	return view.line()
}

func (g *guidanceView) line() string {
	s := "Guidance: " + g.Kind
	switch {
	case g.Action != "":
		s += " (" + g.Action + ")"
	case g.Speaker != "":
		s += " (" + g.Speaker + " has the floor)"
	}
	return fmt.Sprintf("%s, turn %d: %s", s, g.Turn, g.Reason)
}

// viewEvent gives an event with at most so many characters of its text, from an offset on.
func viewEvent(e *parley.Event, offset, chars int) eventView {
	v := eventView{Seq: e.Seq, Turn: e.Turn, Type: string(e.Type), From: e.From, Finality: string(e.Finality)}
	m, err := e.Message()
	switch {
	case e.Type != parley.TypeMessage || err != nil:
		v.Text = string(e.Payload)
	default:
		v.Text, v.Data = m.Text, viewData(m.Data)
		for _, a := range m.Attachments {
			v.Attachments = append(v.Attachments, attachmentView(a))
		}
		if m.Text == "" && (m.Parameters != nil || m.Result != nil) {
			v.Text = string(e.Payload)
		}
	}
	if v.Text, v.CutChars = window(v.Text, offset, chars); v.CutChars > 0 {
		v.NextOffset = offset + utf8.RuneCountInString(v.Text)
	}
	return v
}

func viewData(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	if len(raw) > maxTextChars {
		return fmt.Sprintf("(%d bytes of data are left out)", len(raw))
	}
	return raw
}

// window gives so many characters of a text from an offset on, and how many are left behind them.
func window(s string, offset, chars int) (string, int) {
	total := utf8.RuneCountInString(s)
	if offset == 0 && total <= chars {
		return s, 0
	}
	runes := []rune(s)
	from := min(offset, total)
	to := min(from+chars, total)
	return string(runes[from:to]), total - to
}

// cut shortens a text.
func cut(s string, chars int) string {
	short, left := window(s, 0, chars)
	if left == 0 {
		return s
	}
	return fmt.Sprintf("%s [... %d more characters]", short, left)
}

func (v *eventView) line(conversation string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s", v.Seq, v.From)
	switch {
	case v.Type != string(parley.TypeMessage):
		fmt.Fprintf(&b, " (%s)", v.Type)
	case v.Finality == string(parley.FinalityNone):
		fmt.Fprintf(&b, " (turn %d, goes on)", v.Turn)
	case v.Finality == string(parley.FinalityConversation):
		fmt.Fprintf(&b, " (turn %d, closes the conversation)", v.Turn)
	default:
		fmt.Fprintf(&b, " (turn %d)", v.Turn)
	}
	b.WriteString(": " + v.Text)
	if v.CutChars > 0 {
		fmt.Fprintf(&b, " [%d more characters: read_conversation {conversation_id: %q, since_seq: %d, limit: 1, text_offset: %d}]",
			v.CutChars, conversation, v.Seq-1, v.NextOffset)
	}
	if v.Data != nil {
		raw, err := json.Marshal(v.Data)
		if err == nil {
			b.WriteString("\n  data: " + string(raw))
		}
	}
	for _, a := range v.Attachments {
		fmt.Fprintf(&b, "\n  attachment: %s %s %s", a.Name, a.MediaType, a.SHA256)
	}
	return b.String()
}

// page is what of some events fits into a result.
type page struct {
	events []eventView
	// next is the seq of the last, or what was given where all fit.
	next int64
	more bool
}

// fit takes events as long as there is room. next is the cursor behind all of them.
func fit(events []parley.Event, next int64, more bool) page {
	p := page{events: []eventView{}, next: next, more: more}
	chars, most := 0, maxTextChars
	if len(events) == 1 {
		most = MaxChars
	}
	for i := range events {
		v := viewEvent(&events[i], 0, most)
		size := utf8.RuneCountInString(v.Text) + 40
		if i > 0 && (chars+size > MaxChars || i == MaxEvents) {
			p.next, p.more = events[i-1].Seq, true
			break
		}
		chars += size
		p.events = append(p.events, v)
	}
	return p
}

func (p *page) lines(conversation string) string {
	var b strings.Builder
	for i := range p.events {
		b.WriteString(p.events[i].line(conversation) + "\n")
	}
	return b.String()
}
