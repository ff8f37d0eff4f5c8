package blueprint

import (
	"fmt"
	"strings"
	"sync"
)

// capture keeps the stdout of a command up to a limit.
type capture struct {
	most int

	mu   sync.Mutex // guards the field below
	text []byte
}

// Write fails beyond the limit, which stops the command.
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := c.most - len(c.text); len(b) > room {
		c.text = append(c.text, b[:room]...)
		return room, &tooMuch{c.most}
	}
	c.text = append(c.text, b...)
	return len(b), nil
}

// bytes returns the output. It is complete after the command ended.
func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}

// tooMuch is the cause of a stop because of too much output.
type tooMuch struct{ most int }

func (t *tooMuch) Error() string {
	return fmt.Sprintf("the command wrote more than %d bytes", t.most)
}

// maxTail limits the kept part of stderr, in bytes.
const maxTail = 4 << 10

// tail keeps the newest part of stderr.
type tail struct {
	mu    sync.Mutex // guards the fields below
	text  []byte
	fresh int  // bytes at the end of text that were not fetched yet
	cut   bool // text starts in the middle of a line
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	n := len(b)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(b) > maxTail {
		t.text, t.cut = t.text[:0], true
		b = b[len(b)-maxTail:]
	}
	t.text = append(t.text, b...)
	if over := len(t.text) - maxTail; over > 0 {
		t.cut = t.text[over-1] != '\n'
		t.text = append(t.text[:0], t.text[over:]...)
	}
	t.fresh = min(t.fresh+n, len(t.text))
	return n, nil
}

// fetch returns the text since the last fetch. It returns whole lines, except for the last text and
// for very long lines.
func (t *tail) fetch(last bool) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin, end := len(t.text)-t.fresh, len(t.text)
	if !last && t.fresh < maxTail {
		end = begin + strings.LastIndexAny(string(t.text[begin:]), "\r\n") + 1
	}
	t.fresh = len(t.text) - end
	return clean(t.text[begin:end], begin == 0 && t.cut)
}

// last returns all kept text.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return clean(t.text, t.cut)
}

// clean returns lines as a terminal shows them: of a line with carriage returns, only the last
// part. It removes a first line that was cut, if there are others.
func clean(b []byte, cut bool) string {
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	if at := strings.IndexByte(text, '\n'); cut && at >= 0 && at < len(text)-1 {
		text = text[at+1:]
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return valid(strings.Join(lines, "\n"))
}

// valid replaces invalid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
