package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// The limits of one result.
const (
	// MaxEvents is the maximum number of events.
	MaxEvents = 50
	// MaxChars is about the maximum number of characters of text, data and attachment names. Some
	// clients do not show more than that to models.
	MaxChars = 20_000
	// maxTextChars is the maximum for one event among others.
	maxTextChars = 8000
)

// guidanceView is guidance as a model reads it.
type guidanceView struct {
	Kind    string `json:"kind" jsonschema:"may_speak, wait or closed"`
	Action  string `json:"action,omitempty" jsonschema:"start_turn or continue_turn, with may_speak"`
	Turn    int64  `json:"turn"`
	Speaker string `json:"speaker,omitempty" jsonschema:"the participant that has the floor"`
	Reason  string `json:"reason" jsonschema:"reason, in one sentence"`
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

// offsets are the numbers of characters that the reader has already read: of a text, and of the
// JSON text of its data.
type offsets struct{ text, data int }

// label names the offset of the shown part.
func (o offsets) label() string {
	switch {
	case o.data > 0:
		return fmt.Sprintf("(data from character %d)", o.data)
	case o.text > 0:
		return fmt.Sprintf("(text from character %d) ", o.text)
	}
	return ""
}

// contentPart is the part of a text and its data that fits into a result. data is the whole data,
// or dataText is a piece of its JSON text.
type contentPart struct {
	text              string
	cut, next         int
	data              any
	dataText          string
	cutData, nextData int
}

// fitContent divides chars between a text and its data. A reader that continues one of them does
// not receive the other again. Otherwise both get a piece, so that the offset of the rest is never
// 0.
func fitContent(text string, data json.RawMessage, at offsets, chars int) (s contentPart) {
	size := utf8.RuneCount(data)
	if at.data > 0 {
		s.addDataPiece(string(data), at.data, chars)
		return s
	}
	if at.text > 0 {
		size = 0
	}
	s.text, s.cut = textWindow(text, at.text, chars-min(size, chars/4))
	if s.cut > 0 {
		s.next = at.text + utf8.RuneCountInString(s.text)
	}
	switch left := chars - utf8.RuneCountInString(s.text); {
	case size == 0:
	case size <= left:
		s.data = data
	default:
		s.addDataPiece(string(data), 0, left)
	}
	return s
}

func (s *contentPart) addDataPiece(data string, offset, chars int) {
	if s.dataText, s.cutData = textWindow(data, offset, chars); s.cutData > 0 {
		s.nextData = offset + utf8.RuneCountInString(s.dataText)
	}
}

// textWindow returns chars characters of a text from an offset, and the number of characters after
// them.
func textWindow(s string, offset, chars int) (string, int) {
	total := utf8.RuneCountInString(s)
	if offset == 0 && total <= chars {
		return s, 0
	}
	runes := []rune(s)
	from := min(offset, total)
	to := min(from+chars, total)
	return string(runes[from:to]), total - to
}

// cut shortens a text, and states how much is left out.
func cut(s string, chars int) string {
	short, left := textWindow(s, 0, chars)
	if left == 0 {
		return s
	}
	return fmt.Sprintf("%s [... %d more characters]", short, left)
}

// page is the part of some events that fits into a result.
type page struct {
	events []eventView
	// next is the seq of the last event, or the given cursor if all events fit.
	next int64
	more bool
}

// fitEvents adds events while they fit. next is the cursor after all of them.
func fitEvents(events []parley.Event, next int64, more bool) page {
	p := page{events: []eventView{}, next: next, more: more}
	chars, most := 0, maxTextChars
	if len(events) == 1 {
		most = MaxChars
	}
	for i := range events {
		v := viewEvent(&events[i], offsets{}, most)
		size := v.size()
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
