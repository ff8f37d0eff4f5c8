package hub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// What is kept of a conversation is its state and keys. It is derived: losing it costs time only. The settled keys, which are most of it and change seldom, are kept
// for themselves, under one of two other names, in turns; so what refers to those before stands until what refers to the new ones does.
//
//	fold.Version              uvarint
//	the types of the state    uvarint of the length, and a gob of a State that is empty
//	the state                 uvarint of the length, and what gob adds to the same stream for it
//	where settled keys are    1 byte: 1 or 2, or 0 where there are none
//	their length and CRC32C   uvarint, 4 bytes
//	the recent keys           fold.Keys.AppendRecent
//	CRC32C of all that        4 bytes
type saved struct {
	state   fold.State
	settled settled
	recent  []byte // appended
}

// settled says where settled keys are kept.
type settled struct {
	place  byte
	size   int
	sum    uint32
	seq    int64 // as of which they were kept
	merges int   // that had been made of them
}

// name is under which the settled keys of a conversation are kept. No conversation has one like it.
func (s *settled) name(conversation string) string {
	return conversation + " " + string('0'+rune(s.place))
}

// with gives where settled keys are to be kept, and whether they are not there yet.
func (s settled) with(keys []byte, merges int, seq int64) (_ settled, moved bool) {
	switch {
	case len(keys) == 0:
		return settled{}, false
	case s.place > 0 && merges == s.merges:
		return s, false
	}
	return settled{1 + s.place%2, len(keys), crc32.Checksum(keys, castagnoli), seq, merges}, true
}

// room is how many bytes settled keys may have to be kept in the place of those before.
func (s *settled) room(before *settled) int {
	return max(int(s.seq-before.seq)*savedPerEvent, (s.size-before.size)*savedPerKeyByte)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errSaved = errors.New("hub: not a kept state of this version")

// encode gives what is kept beside settled keys.
func (s *saved) encode() []byte {
	c := encoders.Get().(*stateCoder)
	defer encoders.Put(c)
	state := c.encode(&s.state)
	b := make([]byte, 0, 4*binary.MaxVarintLen64+len(c.types)+len(state)+len(s.recent)+1+2*crc32.Size)
	b = binary.AppendUvarint(b, fold.Version)
	b = append(binary.AppendUvarint(b, uint64(len(c.types))), c.types...)
	b = append(binary.AppendUvarint(b, uint64(len(state))), state...)
	b = binary.AppendUvarint(append(b, s.settled.place), uint64(s.settled.size))
	b = binary.BigEndian.AppendUint32(b, s.settled.sum)
	b = append(b, s.recent...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeSaved gives what encode was given. What was damaged, or kept by another version, is an error.
func decodeSaved(b []byte) (*saved, error) {
	n := len(b) - crc32.Size
	if n < 0 || crc32.Checksum(b[:n], castagnoli) != binary.BigEndian.Uint32(b[n:]) {
		return nil, fmt.Errorf("%w: checksum", errSaved)
	}
	version, rest, ok := cutUvarint(b[:n])
	if !ok || version != fold.Version {
		return nil, fmt.Errorf("%w: version %d", errSaved, version)
	}
	types, rest, ok1 := cutBytes(rest)
	state, rest, ok2 := cutBytes(rest)
	if !ok1 || !ok2 || len(rest) == 0 || rest[0] > 2 {
		return nil, fmt.Errorf("%w: length", errSaved)
	}
	s := &saved{settled: settled{place: rest[0]}}
	size, rest, ok := cutUvarint(rest[1:])
	if !ok || size > 1<<40 || (size > 0) != (s.settled.place > 0) || len(rest) < crc32.Size {
		return nil, fmt.Errorf("%w: settled keys", errSaved)
	}
	s.settled.size, s.settled.sum, s.recent = int(size), binary.BigEndian.Uint32(rest), rest[crc32.Size:]
	var err error
	if s.state, err = decodeState(types, state); err != nil {
		return nil, fmt.Errorf("%w: %w", errSaved, err)
	}
	return s, nil
}

func cutUvarint(b []byte) (n uint64, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

func cutBytes(b []byte) (head, rest []byte, ok bool) {
	n, rest, ok := cutUvarint(b)
	if !ok || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

// loadSavedLocked begins with the state that was kept, if it is one that this version has written.
func (c *conversation) loadSavedLocked() {
	seq, raw, err := c.hub.journal.LoadState(c.id)
	if err != nil || raw == nil {
		return
	}
	s, err := decodeSaved(raw)
	if err != nil || s.state.Seq != seq || s.state.ID != c.id {
		return
	}
	settled, ok := s.settled.load(c.hub.journal, c.id)
	if !ok {
		return
	}
	keys, err := fold.DecodeKeys(settled, s.recent, seq)
	if err != nil {
		return
	}
	c.durable, c.keys, c.savedSeq, c.settled = s.state, keys, seq, s.settled
}

// load finds the keys of a conversation, and reports whether they are those that were kept.
func (s *settled) load(j journal.Journal, conversation string) (keys []byte, ok bool) {
	if s.place == 0 {
		return nil, true
	}
	seq, keys, err := j.LoadState(s.name(conversation))
	s.seq = seq
	return keys, err == nil && len(keys) == s.size && crc32.Checksum(keys, castagnoli) == s.sum
}

const (
	// leastSaved is how many events must have come since a state was kept to keep it anew: reading so many takes longer.
	leastSaved = 16
	// savedPerEvent bounds the bytes that are kept for each event where a conversation is dropped often: no more than about the event takes in the log itself.
	savedPerEvent = 1 << 10
	// savedPerKeyByte is how often settled keys are kept for each byte that they have grown by, where their events alone do not allow it: an event can have two keys.
	savedPerKeyByte = 32
)

// save keeps the state if it is due; where the hub stops, whatever its size. It fails with journal.ErrOverloaded if the journal has no room for it now; other errors
// are logged.
func (c *conversation) save(stops bool) error {
	c.mu.Lock()
	events := c.durable.Seq - c.savedSeq
	if c.loadErr != nil || c.broken || c.reloading || len(c.pending) > 0 || events < leastSaved {
		c.mu.Unlock()
		return nil
	}
	s := saved{state: c.durable, recent: c.keys.AppendRecent(nil)}
	before := c.settled
	keys, merges := c.keys.Settled(), c.keys.Merges()
	c.mu.Unlock()

	next, moved := before.with(keys, merges, s.state.Seq)
	s.settled = next
	raw := s.encode()
	if !stops && (int64(len(raw)) > events*savedPerEvent || moved && next.size > next.room(&before)) {
		return nil
	}
	if !moved {
		keys = nil
	}
	err := c.keep(&s, raw, keys)
	switch {
	case err == nil:
		c.mu.Lock()
		c.savedSeq, c.settled = s.state.Seq, next
		c.mu.Unlock()
		if moved && before.place > 0 {
			_ = c.hub.journal.SaveState(before.name(c.id), 0, nil) // else they lie there until their place is needed
		}
	case errors.Is(err, journal.ErrOverloaded):
		return err
	case !errors.Is(err, journal.ErrClosed):
		c.hub.log.Warn("cannot keep a state", "conversation", c.id, "error", err)
	}
	return nil
}

// keep gives a state to the journal, behind its settled keys if these have moved: else keys is nil.
func (c *conversation) keep(s *saved, raw, keys []byte) error {
	if keys != nil {
		if err := c.hub.journal.SaveState(s.settled.name(c.id), s.settled.seq, keys); err != nil {
			return err
		}
	}
	return c.hub.journal.SaveState(c.id, s.state.Seq, raw)
}
