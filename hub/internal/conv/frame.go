package conv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// Frame is a committed event in the form in which readers get it. The bytes are shared by all
// readers and must not be changed.
type Frame struct {
	Seq  int64
	Data []byte // the event as stored
	Tail []byte // the end of an event notification, which contains Data; nil if it comes from the journal
	Meta eventdata.Meta
}

// Bounds of the events that a conversation keeps in memory. Older ones are read from the journal.
const (
	keepFrames     = 128
	keepFrameBytes = 256 << 10
	// keepUnread is how many events are kept after the last read if no reader waits for the next one.
	keepUnread = 16
)

func newFrame(conversation string, data []byte, seq int64, meta eventdata.Meta) Frame {
	const before, between, after = `"conversationId":"`, `","event":`, `}}`
	from := len(before) + len(conversation) + len(between)
	to := from + len(data)
	tail := append(make([]byte, 0, to+len(after)), before...)
	tail = append(append(tail, conversation...), between...) // ids need no escapes
	tail = append(append(tail, data...), after...)
	return Frame{Seq: seq, Data: tail[from:to:to], Tail: tail, Meta: meta}
}

// frameCache has the last committed events of a conversation, without a gap.
type frameCache struct {
	all    []Frame
	bytes  int   // of the tails
	readAt int64 // the seq of the conversation at the last read
}

// keepLocked keeps committed events for readers, or drops all if no reader needs them.
func (c *Conversation) keepLocked(events []fold.EncodedEvent) {
	for i := range events {
		e := &events[i].Event
		c.engine.counters.countEvent(e.Type)
		if !c.readers.waits() && e.Seq > c.frames.readAt+keepUnread {
			c.frames.all, c.frames.bytes = nil, 0
			continue
		}
		c.frames.push(newFrame(c.id, events[i].Data, e.Seq, eventdata.MetaOf(e)))
	}
}

// push adds the next event, and drops old ones that exceed the bounds.
func (k *frameCache) push(f Frame) {
	k.all = append(k.all, f)
	k.bytes += len(f.Tail)
	drop := 0
	for len(k.all)-drop > keepFrames || (k.bytes > keepFrameBytes && len(k.all)-drop > 1) {
		k.bytes -= len(k.all[drop].Tail)
		drop++
	}
	if drop > 0 {
		clear(k.all[:drop]) // releases the bytes before append moves the rest
		k.all = k.all[drop:]
	}
}

// after returns at most n events after a seq that is not the head, and at most so many bytes, or one
// event. It reports whether they are in memory.
func (k *frameCache) after(seq int64, n, bytes int) (_ []Frame, ok bool) {
	if len(k.all) == 0 || seq+1 < k.all[0].Seq {
		return nil, false
	}
	from := int(seq + 1 - k.all[0].Seq)
	found := k.all[from:min(len(k.all), from+n)]
	for i := range found {
		if bytes -= len(found[i].Tail); bytes < 0 && i > 0 {
			return found[:i], true
		}
	}
	return found, true
}

// After appends committed events after a seq to out: at most n, and at most a page. It appends none
// at the head.
func (c *Conversation) After(out []Frame, seq int64, n int) ([]Frame, error) {
	out, latest, far := c.recent(out, seq, n, math.MaxInt)
	if !far {
		return out, nil
	}
	return readFrames(c.engine.journal, c.id, out, seq, int(min(int64(n), latest-seq)), limits.MaxPageBytes)
}

// recent appends the events in memory after a seq: at most n, and at most so many bytes. far reports
// that the journal has to be read instead.
func (c *Conversation) recent(out []Frame, seq int64, n, bytes int) (_ []Frame, latest int64, far bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest = c.durable.Seq
	if c.frames.readAt = latest; seq >= latest {
		return out, latest, false
	}
	found, ok := c.frames.after(seq, n, bytes)
	return append(out, found...), latest, !ok
}

// readFrames appends events of the journal after a seq that is not the head: at most n, and at most so
// many bytes, or one event.
func readFrames(j journal.Journal, conversation string, out []Frame, seq int64, n, bytes int) ([]Frame, error) {
	records, err := j.Read(conversation, seq, n, bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s after %d: %w", conversation, seq, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("read %s after %d: no records before the head", conversation, seq)
	}
	out = slices.Grow(out, len(records))
	for _, r := range records {
		meta, err := peekMeta(r.Data)
		if err != nil {
			return nil, fmt.Errorf("event %d of %s: %w", r.Seq, conversation, err)
		}
		out = append(out, Frame{Seq: r.Seq, Data: r.Data, Meta: meta})
	}
	return out, nil
}

// peekMeta returns the Meta of a stored event. It decodes the whole event only if the fast path, for
// the hub's encoding of messages and traces, does not apply.
func peekMeta(data []byte) (eventdata.Meta, error) {
	_, rest, ok := bytes.Cut(data, []byte(`"type":"`))
	if ok && data[0] == '{' {
		typ, rest, ok1 := bytes.Cut(rest, []byte(`","from":"`))
		from, _, ok2 := bytes.Cut(rest, []byte(`"`))
		t := parley.EventType(typ)
		if ok1 && ok2 && (t == parley.TypeMessage || t == parley.TypeTrace) {
			return eventdata.MetaOf(&parley.Event{Type: t, From: string(from)}), nil
		}
	}
	var e parley.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return eventdata.Meta{}, err
	}
	return eventdata.MetaOf(&e), nil
}

// Page has events that a reader may see, as stored.
type Page struct {
	Events    [][]byte
	NextSeq   int64 // of the last event that was examined
	LatestSeq int64
}

// maxExamined bounds the events that one page examines.
const maxExamined = 20_000

// Page returns the events after a seq that match, at most limit of them, up to the seq latest. A
// caller that returns a state beside the page passes the state's seq.
func (c *Conversation) Page(
	seq, latest int64, limit int, match func(seq int64, m eventdata.Meta) bool,
) (Page, error) {
	p := Page{Events: [][]byte{}, NextSeq: seq, LatestSeq: latest}
	end := min(latest, seq+maxExamined)
	size := 0
	for p.NextSeq < end {
		frames, err := c.After(nil, p.NextSeq, min(max(limit, 50), 500))
		if err != nil {
			return Page{}, err
		}
		for _, f := range frames {
			if f.Seq > end {
				break
			}
			if match(f.Seq, f.Meta) {
				if len(p.Events) > 0 && size+len(f.Data) > limits.MaxPageBytes {
					return p, nil
				}
				p.Events = append(p.Events, f.Data)
				size += len(f.Data)
			}
			p.NextSeq = f.Seq
			if len(p.Events) == limit {
				return p, nil
			}
		}
	}
	return p, nil
}

// VisibleTo matches the events that a viewer may read.
func VisibleTo(v eventdata.Viewer) func(int64, eventdata.Meta) bool {
	return func(_ int64, m eventdata.Meta) bool { return v.Sees(m) }
}

// ReadEvents reads up to limit committed events after a seq from the journal, in at most 4 MiB.
func (e *Engine) ReadEvents(conversation string, after int64, limit int) ([]parley.Event, error) {
	records, err := e.journal.Read(conversation, after, limit, 4<<20)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", conversation, err)
	}
	raw := make([][]byte, len(records))
	for i, r := range records {
		raw[i] = r.Data
	}
	return DecodeEvents(raw)
}

// DecodeEvents decodes stored events.
func DecodeEvents(raw [][]byte) ([]parley.Event, error) {
	events := make([]parley.Event, len(raw))
	for i, b := range raw {
		if err := events[i].UnmarshalJSON(b); err != nil {
			return nil, fmt.Errorf("decode a stored event: %w", err)
		}
	}
	return events, nil
}
