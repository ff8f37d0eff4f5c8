package blueprint

import (
	"fmt"
	"strings"
	"sync"
)

// capture keeps what a command writes to stdout, up to a bound.
type capture struct {
	most int

	mu   sync.Mutex // guards the field below
	text []byte
}

// Write refuses what is beyond the bound, which ends the command.
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

// bytes gives what was written. Nothing is added any more when the command has ended.
func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text
}

// tooMuch is why a command is stopped that writes without an end.
type tooMuch struct{ most int }

func (t *tooMuch) Error() string {
	return fmt.Sprintf("the command has written more than %d bytes", t.most)
}

// maxTail is how much of stderr is kept, in bytes.
const maxTail = 4 << 10

// tail keeps the newest of stderr.
type tail struct {
	mu    sync.Mutex // guards the fields below
	text  []byte
	fresh int  // how much at the end of text was not fetched yet
	cut   bool // text does not begin where a line does
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

// fetch gives what was written since: whole lines, unless it is the last or the line is a long one. Empty when there is nothing.
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

// last gives all that is kept.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return clean(t.text, t.cut)
}

// clean makes text of lines as a terminal would show them: of a line that was written over, what was written last. Of one whose beginning was cut off
// nothing is left, if there are others.
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

// valid replaces what is not UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
