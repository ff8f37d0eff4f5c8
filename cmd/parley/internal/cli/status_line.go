package cli

import (
	"io"
	"strings"
	"sync"
)

// StatusLine is the last line of a terminal, which is rewritten; lines that stay go above it. On
// anything else there is no such line.
type StatusLine struct {
	to    *Stream
	Shows bool

	mu   sync.Mutex // guards the field below
	text string     // the current text
}

// NewStatusLine returns a status line, which is shown on terminals only.
func NewStatusLine(to *Stream) *StatusLine { return &StatusLine{to: to, Shows: to.Terminal} }

// Show puts a clean text there, as much of it as there is room for.
func (l *StatusLine) Show(text string) {
	if !l.Shows {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if runes := []rune(text); l.to.Columns() > 1 && len(runes) >= l.to.Columns() {
		text = string(runes[:l.to.Columns()-1])
	}
	if text != l.text {
		l.text = text
		io.WriteString(l.to, "\r\x1b[K"+text)
	}
}

// Line prints clean lines above it.
func (l *StatusLine) Line(lines string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		l.to.Line(lines)
		return
	}
	io.WriteString(l.to, "\r\x1b[K"+lines+"\n"+l.text)
}

// Clear takes it away.
func (l *StatusLine) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != "" {
		io.WriteString(l.to, "\r\x1b[K")
		l.text = ""
	}
}

// LastLine returns the last line of a text that is not blank.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
