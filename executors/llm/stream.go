package llm

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// stream sends the events of a run to a sink, each piece once. It skips text that a retry repeats.
// If a retry returns other text, it restarts the stream. A nil stream sends nothing.
type stream struct {
	sink   Sink
	base   Event
	every  time.Duration
	failed error // error of the sink
	index  int   // of the next delta

	// sent has the merged pieces that the sink received or is about to receive. While an attempt
	// catches up with them, current has the pieces of the attempt. They are equal to sent up to the
	// offset off in the last of them.
	sent       []piece
	catchingUp bool
	current    []piece
	off        int

	pending []byte // collected text that is in sent, but not yet at the sink
	restart bool   // the next delta restarts the stream
}

// piece is text, the start of a tool call, or further arguments of a call after other pieces.
type piece struct {
	call     int // textPiece, or the index of the call
	id, name string
	body     []byte
}

const textPiece = -1

func (p *piece) continuedBy(with piece) bool { return p.call == with.call && with.name == "" }

func merge(all []piece, p piece) []piece {
	if n := len(all); n > 0 && all[n-1].continuedBy(p) {
		all[n-1].body = append(all[n-1].body, p.body...)
		return all
	}
	return append(all, p)
}

// startAttempt prepares the stream for a new attempt.
func (t *stream) startAttempt() {
	t.catchingUp, t.current, t.off = len(t.sent) > 0, nil, 0
}

// addPiece handles the next piece of the attempt.
func (t *stream) addPiece(p piece) error {
	if !t.catchingUp {
		t.sent = merge(t.sent, p)
		return t.sendPiece(p)
	}
	rest, same := t.comparePiece(p)
	t.current = merge(t.current, p)
	switch {
	case !same:
		return t.restartStream()
	case rest == nil:
		return nil
	}
	t.catchingUp = false
	t.sent = merge(t.sent, *rest)
	return t.sendPiece(*rest)
}

// comparePiece compares a piece with the sent pieces at this position. rest is the part after all
// sent pieces.
func (t *stream) comparePiece(p piece) (rest *piece, same bool) {
	k := len(t.current) - 1
	if k < 0 || !t.current[k].continuedBy(p) {
		if k >= 0 && t.off != len(t.sent[k].body) {
			return nil, false
		}
		k++
		t.off = 0
		if k == len(t.sent) {
			return &p, true
		}
		if at := t.sent[k]; at.call != p.call || at.id != p.id || at.name != p.name {
			return nil, false
		}
	}
	left := t.sent[k].body[t.off:]
	if bytes.HasPrefix(left, p.body) {
		t.off += len(p.body)
		return nil, true
	}
	if k < len(t.sent)-1 || !bytes.HasPrefix(p.body, left) {
		return nil, false
	}
	return &piece{call: p.call, body: p.body[len(left):]}, true
}

// finishAttempt ends an attempt that succeeded.
func (t *stream) finishAttempt() error {
	n := len(t.current)
	if t.catchingUp && (n < len(t.sent) || t.off < len(t.sent[n-1].body)) {
		if err := t.restartStream(); err != nil {
			return err
		}
	}
	return t.flush()
}

// restartStream starts the stream again with the pieces of the attempt.
func (t *stream) restartStream() error {
	t.catchingUp, t.restart, t.index, t.pending = false, true, 0, nil
	t.sent = slices.Clone(t.current)
	for _, p := range t.current {
		if err := t.sendPiece(p); err != nil {
			return err
		}
	}
	if !t.restart || len(t.pending) > 0 {
		return nil
	}
	return t.sendDelta(Event{})
}

// sendPiece sends a piece, or collects its text.
func (t *stream) sendPiece(p piece) error {
	if p.call == textPiece {
		t.pending = append(t.pending, p.body...)
		if t.every > 0 {
			return nil
		}
		return t.flush()
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.sendDelta(Event{ToolCall: &ToolCallChunk{Index: p.call, ID: p.id, Name: p.name, Arguments: string(p.body)}})
}

// flush sends the collected text.
func (t *stream) flush() error {
	if len(t.pending) == 0 {
		return t.failed
	}
	text := string(t.pending)
	t.pending = t.pending[:0]
	return t.sendDelta(Event{Delta: text})
}

func (t *stream) sendDelta(e Event) error {
	e.Type, e.ChunkIndex, e.Restart, e.IsJSON = EventDelta, t.index, t.restart, t.base.IsJSON
	t.index++
	t.restart = false
	return t.send(e)
}

func (t *stream) send(e Event) error {
	if t == nil || t.failed != nil {
		return t.sinkError()
	}
	e.StreamID, e.Provider, e.Model, e.At = t.base.StreamID, t.base.Provider, t.base.Model, time.Now()
	t.failed = t.sink(e)
	return t.failed
}

func (t *stream) sinkError() error {
	if t == nil {
		return nil
	}
	return t.failed
}

func (t *stream) hasFailed() bool { return t.sinkError() != nil }

// text returns the text of all sent pieces.
func (t *stream) text() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.sent {
		if p.call == textPiece {
			b.Write(p.body)
		}
	}
	return b.String()
}
