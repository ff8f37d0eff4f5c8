package conv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
)

// saved is the state and the keys of a conversation as they are saved. It is derived from the log, so
// its loss costs only time. The settled keys are most of it and change rarely. They are saved
// separately, alternating between two names, so that the keys of the saved state stay until the next
// state is saved.
//
//	fold.Version              uvarint
//	the types of the state    uvarint of the length, and a gob of an empty State
//	the state                 uvarint of the length, and what gob adds to the same stream for it
//	place of the settled keys 1 byte: 1 or 2, or 0 without settled keys
//	their length and CRC32C   uvarint, 4 bytes
//	the recent keys           idempotency.Keys.AppendRecent
//	CRC32C of all that        4 bytes
type saved struct {
	state   fold.State
	settled settled
	recent  []byte // appended
}

// settled describes saved settled keys.
type settled struct {
	place  byte
	size   int
	sum    uint32
	seq    int64 // at which they were saved
	merges int   // the number of merges of the keys then
}

// name is the name under which the settled keys of a conversation are saved. It is not a valid
// conversation id.
func (s *settled) name(conversation string) string {
	return conversation + " " + string('0'+rune(s.place))
}

// next returns where keys are to be saved, and whether they differ from the saved ones.
func (s settled) next(keys []byte, merges int, seq int64) (_ settled, moved bool) {
	switch {
	case len(keys) == 0:
		return settled{}, false
	case s.place > 0 && merges == s.merges:
		return s, false
	}
	return settled{1 + s.place%2, len(keys), crc32.Checksum(keys, castagnoli), seq, merges}, true
}

// maxBytes is how many bytes settled keys may have to replace the saved ones.
func (s *settled) maxBytes(before *settled) int {
	return max(int(s.seq-before.seq)*savedPerEvent, (s.size-before.size)*savedPerKeyByte)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errSaved = errors.New("hub: not a saved state of this version")

// encode encodes everything except the settled keys.
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

// decodeSaved decodes what encode returned. It fails for damaged data and for other versions.
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

// loadSaved returns the saved state of a conversation and its keys, or nil if this version did not
// write it.
func loadSaved(j journal.Journal, conversation string) (*saved, idempotency.Keys) {
	seq, raw, err := j.LoadState(conversation)
	if err != nil || raw == nil {
		return nil, idempotency.Keys{}
	}
	s, err := decodeSaved(raw)
	if err != nil || s.state.Seq != seq || s.state.ID != conversation {
		return nil, idempotency.Keys{}
	}
	settled, ok := s.settled.load(j, conversation)
	if !ok {
		return nil, idempotency.Keys{}
	}
	keys, err := idempotency.DecodeKeys(settled, s.recent, seq)
	if err != nil {
		return nil, idempotency.Keys{}
	}
	return s, keys
}

// load reads the settled keys of a conversation, and reports whether they are those of the saved state.
func (s *settled) load(j journal.Journal, conversation string) (keys []byte, ok bool) {
	if s.place == 0 {
		return nil, true
	}
	seq, keys, err := j.LoadState(s.name(conversation))
	s.seq = seq
	return keys, err == nil && len(keys) == s.size && crc32.Checksum(keys, castagnoli) == s.sum
}

const (
	// minUnsaved is how many events must follow a saved state before the next one is saved. To read so
	// many takes longer than to load a state.
	minUnsaved = 16
	// savedPerEvent bounds the bytes that are saved for each event if a conversation is often evicted:
	// about as many as the event uses in the log.
	savedPerEvent = 1 << 10
	// savedPerKeyByte is how many bytes of settled keys are saved for each byte by which they have
	// grown, if their events alone do not allow it. An event can have two keys.
	savedPerKeyByte = 32
)

// save saves the state if it is due, and at a stop of any size. It fails with journal.ErrOverloaded if
// the journal has no room for it now; other errors are logged.
func (c *Conversation) save(stops bool) error {
	c.mu.Lock()
	events := c.durable.Seq - c.savedSeq
	if c.loadErr != nil || c.broken || !c.isIdleLocked() || events < minUnsaved {
		c.mu.Unlock()
		return nil
	}
	s := saved{state: c.durable, recent: c.keys.AppendRecent(nil)}
	before := c.settled
	keys, merges := c.keys.Settled(), c.keys.Merges()
	c.mu.Unlock()

	next, moved := before.next(keys, merges, s.state.Seq)
	s.settled = next
	raw := s.encode()
	if !stops && (int64(len(raw)) > events*savedPerEvent || moved && next.size > next.maxBytes(&before)) {
		return nil
	}
	var err error
	if moved { // the state refers to them, so they are saved before it
		err = c.engine.journal.SaveState(next.name(c.id), next.seq, keys)
	}
	if err == nil {
		err = c.engine.journal.SaveState(c.id, s.state.Seq, raw)
	}
	switch {
	case err == nil:
		c.mu.Lock()
		c.savedSeq, c.settled = s.state.Seq, next
		c.mu.Unlock()
		if moved && before.place > 0 {
			_ = c.engine.journal.SaveState(before.name(c.id), 0, nil) // else it stays until its place is used again
		}
	case errors.Is(err, journal.ErrOverloaded):
		return err
	case !errors.Is(err, journal.ErrClosed):
		c.engine.log.Warn("cannot save a state", "conversation", c.id, "error", err)
	}
	return nil
}
