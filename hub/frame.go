package hub

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// frame is a committed event, ready for every reader: data are the stored bytes, and tail is the end of an event
// notification, which has data inside. Both are shared; nobody changes them.
type frame struct {
	seq  int64
	data []byte
	tail []byte
	meta fold.Meta
}

// What is kept of the recent past of a conversation in memory; older events come from the journal.
const (
	keepFrames     = 128
	keepFrameBytes = 256 << 10
)

func newFrame(conversation string, data []byte, seq int64, meta fold.Meta) frame {
	head := frameHead(conversation)
	tail := make([]byte, 0, len(head)+len(data)+len(frameEnd))
	tail = append(append(append(tail, head...), data...), frameEnd...)
	from, to := len(head), len(head)+len(data)
	return frame{seq: seq, data: tail[from:to:to], tail: tail, meta: meta}
}

// frameHead and frameEnd stand around an event in a tail.
func frameHead(conversation string) []byte {
	return []byte(`"conversationId":"` + conversation + `","event":`) // ids have nothing to escape
}

var frameEnd = []byte(`}}`)

// pushLocked adds the next committed event to those kept in memory.
func (c *conversation) pushLocked(f frame) {
	c.frames = append(c.frames, f)
	c.frameBytes += len(f.tail)
	drop := 0
	for len(c.frames)-drop > keepFrames || (c.frameBytes > keepFrameBytes && len(c.frames)-drop > 1) {
		c.frameBytes -= len(c.frames[drop].tail)
		drop++
	}
	if drop > 0 {
		clear(c.frames[:drop]) // lets the bytes go before append moves the rest
		c.frames = c.frames[drop:]
	}
}

// after gives committed events after a seq, at most n; it is empty at the head.
func (c *conversation) after(seq int64, n int) ([]frame, error) {
	c.mu.Lock()
	latest := c.durable.Seq
	if seq >= latest {
		c.mu.Unlock()
		return nil, nil
	}
	if len(c.frames) > 0 && seq+1 >= c.frames[0].seq {
		from := int(seq + 1 - c.frames[0].seq)
		to := min(len(c.frames), from+n)
		out := append([]frame(nil), c.frames[from:to]...)
		c.mu.Unlock()
		return out, nil
	}
	c.mu.Unlock()

	records, err := c.hub.journal.Read(c.id, seq, int(min(int64(n), latest-seq)), parley.MaxPageBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s after %d: %w", c.id, seq, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("read %s after %d: nothing there, where %d is the head", c.id, seq, latest)
	}
	out := make([]frame, 0, len(records))
	for _, r := range records {
		meta, err := peek(r.Data)
		if err != nil {
			return nil, fmt.Errorf("event %d of %s: %w", r.Seq, c.id, err)
		}
		out = append(out, newFrame(c.id, r.Data, r.Seq, meta))
	}
	return out, nil
}

// peek finds the Meta of a stored event without decoding all of it where the hub's own encoding allows.
func peek(data []byte) (fold.Meta, error) {
	_, rest, ok := bytes.Cut(data, []byte(`"type":"`))
	if ok && data[0] == '{' {
		typ, rest, ok1 := bytes.Cut(rest, []byte(`","from":"`))
		from, _, ok2 := bytes.Cut(rest, []byte(`"`))
		t := parley.EventType(typ)
		if ok1 && ok2 && (t == parley.TypeMessage || t == parley.TypeTrace) {
			return fold.MetaOf(&parley.Event{Type: t, From: string(from)}), nil
		}
	}
	var e parley.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return fold.Meta{}, err
	}
	return fold.MetaOf(&e), nil
}

// changedLocked gives a channel that the next change closes.
func (c *conversation) changedLocked() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

func (c *conversation) wakeLocked() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}
