package command

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// What becomes of stderr: at most one trace a second, and of what was written meanwhile the newest.
const (
	maxChatterBytes  = 32 << 10
	maxChatterTraces = 60 // and one at the end
)

// chatter keeps the newest of stderr until it is fetched.
type chatter struct {
	mu      sync.Mutex // guards the fields below
	text    []byte
	dropped int
}

func newChatter() *chatter { return &chatter{} }

// Write takes what the program has written; it never fails.
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

// fetch gives what was written since, as text: whole lines, unless it is the last or the line is a long one. Empty when there is nothing.
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
		text = fmt.Sprintf("[%d bytes were left out]\n%s", c.dropped, text)
		c.dropped = 0
	}
	return text
}
