package idempotency

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// settledKeys are keys in ascending order of their ids. The bytes are never changed, so they may be shared.
//
//	id     16 bytes
//	digest  8 bytes
//	seq     5 bytes, big-endian
//	turn    5 bytes, big-endian
type settledKeys []byte

const (
	keyIDBytes      = len(KeyID{})
	keyDigestBytes  = len(KeyDigest{})
	keyNumberBytes  = 5
	settledKeyBytes = keyIDBytes + keyDigestBytes + 2*keyNumberBytes
)

func (s settledKeys) len() int { return len(s) / settledKeyBytes }

func (s settledKeys) id(i int) KeyID { return KeyID(s[i*settledKeyBytes:]) }

func (s settledKeys) entry(i int) KeyEntry {
	b := s[i*settledKeyBytes+keyIDBytes:]
	return KeyEntry{Digest: KeyDigest(b), Seq: keyNumber(b[keyDigestBytes:]),
		Turn: keyNumber(b[keyDigestBytes+keyNumberBytes:])}
}

func keyNumber(b []byte) int64 { return int64(b[0])<<32 | int64(binary.BigEndian.Uint32(b[1:])) }

func appendKeyNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(n>>32)), uint32(n))
}

func appendKey(b []byte, id *KeyID, e *KeyEntry) []byte {
	b = append(append(b, id[:]...), e.Digest[:]...)
	return appendKeyNumber(appendKeyNumber(b, e.Seq), e.Turn)
}

// before reports whether key i comes before id.
func (s settledKeys) before(i int, id *KeyID) bool {
	at := s[i*settledKeyBytes:][:keyIDBytes]
	return bytes.Compare(at, id[:]) < 0
}

func (s settledKeys) find(id *KeyID) (KeyEntry, bool) {
	i := s.search(id)
	if i == s.len() || s.id(i) != *id {
		return KeyEntry{}, false
	}
	return s.entry(i), true
}

// search returns the index of the first key that does not come before id.
func (s settledKeys) search(id *KeyID) int {
	from, to := s.around(id)
	for from < to {
		mid := int(uint(from+to) / 2)
		if s.before(mid, id) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// nearKeys is the first step of around: some lines of the cache of a processor.
const nearKeys = 8

// around returns bounds for search. Ids are hashes and therefore spread evenly, so the position of an id is close to
// its share of the value range. If a caller chose keys that are not spread evenly, around and search together read
// at most twice as many keys as a binary search.
func (s settledKeys) around(id *KeyID) (from, to int) {
	guess, _ := bits.Mul64(binary.BigEndian.Uint64(id[:]), uint64(s.len()))
	from, to = int(guess), int(guess)
	for step := nearKeys; from > 0 && !s.before(from-1, id); step *= 2 {
		to, from = from-1, max(0, from-step)
	}
	for step := nearKeys; to < s.len() && s.before(to, id); step *= 2 {
		from, to = to+1, min(s.len(), to+step)
	}
	return from, to
}

// merged appends the keys to out. The changes of ids replace the keys of the same id, and a change without Seq
// deletes its key. It modifies neither s nor changes, and sorts ids.
func (s settledKeys) merged(out []byte, ids []KeyID, changes map[KeyID]KeyEntry) settledKeys {
	sortIDs(ids)
	for _, id := range ids {
		at := s.search(&id) * settledKeyBytes
		out = append(out, s[:at]...)
		if s = s[at:]; len(s) > 0 && s.id(0) == id {
			s = s[settledKeyBytes:]
		}
		if e := changes[id]; e.Seq > 0 {
			out = appendKey(out, &id, &e)
		}
	}
	return append(out, s...)
}

// idsUpTo returns the ids of the keys of events up to seq in no particular order.
func idsUpTo(keys map[KeyID]KeyEntry, seq int64) []KeyID {
	ids := make([]KeyID, 0, len(keys))
	for id, e := range keys {
		if e.Seq <= seq {
			ids = append(ids, id)
		}
	}
	return ids
}

func sortIDs(ids []KeyID) {
	slices.SortFunc(ids, func(a, b KeyID) int { return bytes.Compare(a[:], b[:]) })
}

// errKeys reports bytes that are no encoded Keys.
var errKeys = errors.New("fold: not the keys of a conversation")

// check reports keys that are out of order, or whose events are not from least to seq.
func (s settledKeys) check(least, seq int64) error {
	if len(s)%settledKeyBytes != 0 {
		return fmt.Errorf("%w: %d bytes", errKeys, len(s))
	}
	for i := range s.len() {
		if e := s.entry(i); e.Seq < least || e.Seq > seq || e.Turn > e.Seq {
			return fmt.Errorf("%w: key %d is of event %d in turn %d", errKeys, i, e.Seq, e.Turn)
		}
		if id := s.id(i); i > 0 && !s.before(i-1, &id) {
			return fmt.Errorf("%w: key %d is out of order", errKeys, i)
		}
	}
	return nil
}

// Settled returns the bytes of the settled keys. Callers must not change them. They are the same while Merges is.
func (k *Keys) Settled() []byte { return k.settled }

// Merges counts the merges into the settled keys since they were empty or decoded.
func (k *Keys) Merges() int { return k.merges }

// AppendRecent appends the bytes of the keys that Settled does not have.
func (k *Keys) AppendRecent(b []byte) []byte {
	ids := idsUpTo(k.recent, math.MaxInt64)
	sortIDs(ids)
	for _, id := range ids {
		e := k.recent[id]
		b = appendKey(b, &id, &e)
	}
	return b
}

// DecodeKeys returns the Keys of events up to a seq from the bytes of Settled and AppendRecent. The
// Keys use settled, so callers must not change it later. The error is errKeys.
func DecodeKeys(settled, recent []byte, seq int64) (Keys, error) {
	k := Keys{settled: settled[:len(settled):len(settled)]}
	if err := k.settled.check(2, seq); err != nil { // the first event has its key in the State
		return Keys{}, err
	}
	last := settledKeys(recent)
	if err := last.check(0, seq); err != nil || len(last) == 0 { // deleted keys have no event
		return k, err
	}
	k.recent = make(map[KeyID]KeyEntry, last.len())
	for i := range last.len() {
		k.recent[last.id(i)] = last.entry(i)
	}
	return k, nil
}
