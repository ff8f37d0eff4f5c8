package llm

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// teller tells a sink of a stream, once: what a retry says again is skipped, and where a retry says something else the stream begins anew. Nil tells nobody.
type teller struct {
	sink   Sink
	base   Event
	every  time.Duration
	failed error // what the sink has said
	index  int   // of the next delta

	// told is what the sink was told, or is about to be, as pieces that are merged. While an attempt catches up with it, now is what that has said: up to off in its last piece
	// it is the same.
	told     []piece
	catching bool
	now      []piece
	off      int

	gathered []byte // text that waits; it is in told
	restart  bool   // the next delta begins anew
}

// piece is text, or one call of a tool, or further arguments of one that another piece has interrupted.
type piece struct {
	call     int // textPiece, or its index
	id, name string
	body     []byte
}

const textPiece = -1

func (p *piece) goesOn(with piece) bool { return p.call == with.call && with.name == "" }

func merge(all []piece, p piece) []piece {
	if n := len(all); n > 0 && all[n-1].goesOn(p) {
		all[n-1].body = append(all[n-1].body, p.body...)
		return all
	}
	return append(all, p)
}

// begin is a new attempt.
func (t *teller) begin() {
	t.catching, t.now, t.off = len(t.told) > 0, nil, 0
}

// add takes what the attempt says next.
func (t *teller) add(p piece) error {
	if !t.catching {
		t.told = merge(t.told, p)
		return t.piece(p)
	}
	rest, same := t.follow(p)
	t.now = merge(t.now, p)
	switch {
	case !same:
		return t.anew()
	case rest == nil:
		return nil
	}
	t.catching = false
	t.told = merge(t.told, *rest)
	return t.piece(*rest)
}

// follow compares a piece with what was told at this place. rest is what goes beyond all that was told.
func (t *teller) follow(p piece) (rest *piece, same bool) {
	k := len(t.now) - 1
	if k < 0 || !t.now[k].goesOn(p) {
		if k >= 0 && t.off != len(t.told[k].body) {
			return nil, false
		}
		k++
		t.off = 0
		if k == len(t.told) {
			return &p, true
		}
		if at := t.told[k]; at.call != p.call || at.id != p.id || at.name != p.name {
			return nil, false
		}
	}
	left := t.told[k].body[t.off:]
	if bytes.HasPrefix(left, p.body) {
		t.off += len(p.body)
		return nil, true
	}
	if k < len(t.told)-1 || !bytes.HasPrefix(p.body, left) {
		return nil, false
	}
	return &piece{call: p.call, body: p.body[len(left):]}, true
}

// end is the end of an attempt that has succeeded.
func (t *teller) end() error {
	n := len(t.now)
	if t.catching && (n < len(t.told) || t.off < len(t.told[n-1].body)) {
		if err := t.anew(); err != nil {
			return err
		}
	}
	return t.flush()
}

// anew begins the stream again with what the attempt has said.
func (t *teller) anew() error {
	t.catching, t.restart, t.index, t.gathered = false, true, 0, nil
	t.told = slices.Clone(t.now)
	for _, p := range t.now {
		if err := t.piece(p); err != nil {
			return err
		}
	}
	if !t.restart || len(t.gathered) > 0 {
		return nil
	}
	return t.delta(Event{})
}

// piece tells one, or gathers it.
func (t *teller) piece(p piece) error {
	if p.call == textPiece {
		t.gathered = append(t.gathered, p.body...)
		if t.every > 0 {
			return nil
		}
		return t.flush()
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.delta(Event{ToolCall: &ToolCallChunk{Index: p.call, ID: p.id, Name: p.name, Arguments: string(p.body)}})
}

// flush tells what was gathered.
func (t *teller) flush() error {
	if len(t.gathered) == 0 {
		return t.failed
	}
	text := string(t.gathered)
	t.gathered = t.gathered[:0]
	return t.delta(Event{Delta: text})
}

func (t *teller) delta(e Event) error {
	e.Type, e.ChunkIndex, e.Restart, e.IsJSON = EventDelta, t.index, t.restart, t.base.IsJSON
	t.index++
	t.restart = false
	return t.tell(e)
}

func (t *teller) tell(e Event) error {
	if t == nil || t.failed != nil {
		return t.why()
	}
	e.StreamID, e.Provider, e.Model, e.At = t.base.StreamID, t.base.Provider, t.base.Model, time.Now()
	t.failed = t.sink(e)
	return t.failed
}

func (t *teller) why() error {
	if t == nil {
		return nil
	}
	return t.failed
}

func (t *teller) hasFailed() bool { return t.why() != nil }

// text is all the text that was told.
func (t *teller) text() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.told {
		if p.call == textPiece {
			b.Write(p.body)
		}
	}
	return b.String()
}
