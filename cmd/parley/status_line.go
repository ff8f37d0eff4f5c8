package main

import (
	"io"
	"strings"
	"sync"
)

// statusLine is the last line of a terminal, which is rewritten; lines that stay go above it. On anything else there is no such line.
type statusLine struct {
	to    *stream
	shows bool

	mu   sync.Mutex // guards the field below
	text string     // what stands there
}

func newStatusLine(to *stream) *statusLine { return &statusLine{to: to, shows: to.terminal} }

// show puts a clean text there, as much of it as there is room for.
func (l *statusLine) show(text string) {
	if !l.shows {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if runes := []rune(text); l.to.columns() > 1 && len(runes) >= l.to.columns() {
		text = string(runes[:l.to.columns()-1])
	}
	if text != l.text {
		l.text = text
		io.WriteString(l.to, "\r\x1b[K"+text)
	}
}

// line prints clean lines above it.
func (l *statusLine) line(lines string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		l.to.line(lines)
		return
	}
	io.WriteString(l.to, "\r\x1b[K"+lines+"\n"+l.text)
}

// clear takes it away.
func (l *statusLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != "" {
		io.WriteString(l.to, "\r\x1b[K")
		l.text = ""
	}
}

// lastLine gives the last line of a text that says something.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
