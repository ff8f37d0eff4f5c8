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
	// MaxChars is about the most characters of what was said, data and names of attachments included; more than that models are not shown by some clients.
	MaxChars = 20_000
	// maxTextChars is the most of one event, where there are others.
	maxTextChars = 8000
)

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

// offsets are how many characters of a text, or of the JSON text of the data beside it, a reader has read already.
type offsets struct{ text, data int }

// label says where what is shown begins.
func (o offsets) label() string {
	switch {
	case o.data > 0:
		return fmt.Sprintf("(data from character %d on)", o.data)
	case o.text > 0:
		return fmt.Sprintf("(text from character %d on) ", o.text)
	}
	return ""
}

// shares are what of a text and its data fits into a result. Data is all of it, or dataText is a piece of its JSON text.
type shares struct {
	text              string
	cut, next         int
	data              any
	dataText          string
	cutData, nextData int
}

// share divides so many characters between a text and its data. Who reads on in one of them is not given the other again. Each that there is gets a piece, so that
// what is left out of it begins at an offset other than 0.
func share(text string, data json.RawMessage, at offsets, chars int) (s shares) {
	size := utf8.RuneCount(data)
	if at.data > 0 {
		s.piece(string(data), at.data, chars)
		return s
	}
	if at.text > 0 {
		size = 0
	}
	s.text, s.cut = window(text, at.text, chars-min(size, chars/4))
	if s.cut > 0 {
		s.next = at.text + utf8.RuneCountInString(s.text)
	}
	switch left := chars - utf8.RuneCountInString(s.text); {
	case size == 0:
	case size <= left:
		s.data = data
	default:
		s.piece(string(data), 0, left)
	}
	return s
}

func (s *shares) piece(data string, offset, chars int) {
	if s.dataText, s.cutData = window(data, offset, chars); s.cutData > 0 {
		s.nextData = offset + utf8.RuneCountInString(s.dataText)
	}
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
