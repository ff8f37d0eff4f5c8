package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

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

// maxTailBytes is about how much a subscription reads at once, which a peer that takes nothing makes the hub hold.
const maxTailBytes = 64 << 10

// after adds committed events after a seq, at most n and a page, to out; none at the head. Those that come from the journal have no tail.
func (c *conversation) after(out []frame, seq int64, n int) ([]frame, error) {
	out, latest, far := c.recent(out, seq, n, math.MaxInt)
	if !far {
		return out, nil
	}
	return c.past(out, seq, int(min(int64(n), latest-seq)), parley.MaxPageBytes)
}

// tails is after with tails: no more than maxTailBytes of them, or one. With near it fails with ErrFar before it reads the journal.
func (c *conversation) tails(out []frame, seq int64, n int, near bool) ([]frame, error) {
	out, latest, far := c.recent(out, seq, n, maxTailBytes)
	switch {
	case !far:
		return out, nil
	case near:
		return nil, ErrFar
	}
	out, err := c.past(out, seq, int(min(int64(n), latest-seq)), maxTailBytes)
	for i, f := range out {
		out[i] = newFrame(c.id, f.data, f.seq, f.meta)
	}
	return out, err
}

// recent adds what memory has after a seq: at most n events and so many bytes. far says that the journal has to be asked.
func (c *conversation) recent(out []frame, seq int64, n, bytes int) (_ []frame, latest int64, far bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch latest = c.durable.Seq; {
	case seq >= latest:
		return out, latest, false
	case len(c.frames) == 0 || seq+1 < c.frames[0].seq:
		return out, latest, true
	}
	from := int(seq + 1 - c.frames[0].seq)
	return append(out, firstOf(c.frames[from:min(len(c.frames), from+n)], bytes)...), latest, false
}

// past adds what the journal has after a seq, where there is something: at most n events and so many bytes, or one.
func (c *conversation) past(out []frame, seq int64, n, bytes int) ([]frame, error) {
	records, err := c.hub.journal.Read(c.id, seq, n, bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s after %d: %w", c.id, seq, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("read %s after %d: nothing there, before the head", c.id, seq)
	}
	out = slices.Grow(out, len(records))
	for _, r := range records {
		meta, err := peek(r.Data)
		if err != nil {
			return nil, fmt.Errorf("event %d of %s: %w", r.Seq, c.id, err)
		}
		out = append(out, frame{seq: r.Seq, data: r.Data, meta: meta})
	}
	return out, nil
}

// firstOf gives the first frames of some: at most so many bytes, or one.
func firstOf(frames []frame, bytes int) []frame {
	for i := range frames {
		if bytes -= len(frames[i].tail); bytes < 0 && i > 0 {
			return frames[:i]
		}
	}
	return frames
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
	for _, s := range c.audience {
		if s.wake != nil {
			s.wake()
		}
	}
}
