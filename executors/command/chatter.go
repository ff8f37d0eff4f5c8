package command

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// Stderr becomes at most one trace per second. Each trace has the newest text.
const (
	maxChatterBytes  = 32 << 10
	maxChatterTraces = 60 // plus one at the end
)

// chatter keeps the newest stderr until it is fetched.
type chatter struct {
	mu      sync.Mutex // guards the fields below
	text    []byte
	dropped int
}

func newChatter() *chatter { return &chatter{} }

// Write appends the output of the program. It never fails.
func (c *chatter) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, b...)
	if over := len(c.text) - maxChatterBytes; over > 0 {
		c.dropped += over
		c.text = append(c.text[:0], c.text[over:]...)
	}
	return len(b), nil
}

// fetch returns the text since the last fetch. It returns whole lines, except for the last text and
// for very long lines.
func (c *chatter) fetch(last bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := len(c.text)
	if at := bytes.LastIndexByte(c.text, '\n') + 1; !last && end < maxChatterBytes {
		end = at
	}
	text := strings.ToValidUTF8(strings.TrimSuffix(string(c.text[:end]), "\n"), "\ufffd")
	c.text = append(c.text[:0], c.text[end:]...)
	if text == "" {
		return ""
	}
	if c.dropped > 0 {
		text = fmt.Sprintf("[%d bytes omitted]\n%s", c.dropped, text)
		c.dropped = 0
	}
	return text
}
