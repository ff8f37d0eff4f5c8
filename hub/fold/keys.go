package fold

import (
	"crypto/sha256"
	"encoding/json"
	"iter"
	"maps"
	"math"

	"github.com/parleyhub/parley"
)

// KeyID names an idempotency key within a conversation: participant and clientRequestId, hashed, so that a key
// costs the same whatever its length. Nobody finds a key that has the name of another's.
type KeyID [16]byte

// KeyDigest covers what makes two requests under one key the same. It is short because it guards against mistakes: only who has said the first
// can repeat the key, and two texts of its own with one digest get it no more than the answer to the first.
type KeyDigest [8]byte

// KeyEntry is what a key stands for. Seq and Turn are below 2^40, which is more than a log that fits on a disk can have.
type KeyEntry struct {
	Seq    int64
	Turn   int64
	Digest KeyDigest
}

// Keys are the idempotency keys of a conversation. Like State they are a fold of its events. The zero Keys are empty.
//
// A conversation has as many keys as events, and most are never looked for again. So they lie sorted in bytes, as they are kept, and only those that came
// last are in a map. When these are a part of the others they are merged with them: on the average a key is moved some twenty times.
//
// A copy of Keys sees what was there when it was made only if it is made by Clone.
type Keys struct {
	settled settledKeys
	recent  map[KeyID]KeyEntry // over settled; without Seq where a key was taken back
	merges  int
}

// The recent keys are merged when they are so many, or so large a part of the others. The first is what a map of 64 slots takes.
const (
	leastRecent = 56
	recentPart  = 16
)

// Find gives what a key stands for.
func (k *Keys) Find(id KeyID) (KeyEntry, bool) {
	if entry, ok := k.recent[id]; ok {
		return entry, entry.Seq > 0
	}
	return k.settled.find(&id)
}

// Has reports whether a participant has used a clientRequestId under a claim.
func (k *Keys) Has(from, clientRequestID string, claim *ClaimHash) bool {
	_, ok := k.Find(keyID(from, clientRequestID, claim))
	return ok
}

// Put enters a key of an event that is in the log, in the place of what it stood for.
func (k *Keys) Put(id KeyID, entry KeyEntry) {
	k.Propose(id, entry)
	k.Settle(entry.Seq)
}

// Propose enters a key of an event that may yet be lost. It is not among the settled ones before Settle is told of its event.
func (k *Keys) Propose(id KeyID, entry KeyEntry) {
	if k.recent == nil {
		k.recent = make(map[KeyID]KeyEntry)
	}
	k.recent[id] = entry
}

// Delete takes a key back.
func (k *Keys) Delete(id KeyID) {
	if _, ok := k.settled.find(&id); ok {
		k.Propose(id, KeyEntry{})
		return
	}
	delete(k.recent, id)
}

// Settle merges the recent keys of events up to seq, all of which are in the log, if they are many enough.
func (k *Keys) Settle(seq int64) {
	enough := max(leastRecent, k.settled.len()/recentPart)
	if len(k.recent) < enough {
		return
	}
	ids := idsUpTo(k.recent, seq)
	if len(ids) < enough {
		return
	}
	k.settled = k.settled.merged(make([]byte, 0, k.room()), ids, k.recent)
	k.merges++
	if len(ids) == len(k.recent) {
		clear(k.recent)
		return
	}
	for _, id := range ids {
		delete(k.recent, id)
	}
}

// room is enough for the bytes of all.
func (k *Keys) room() int { return len(k.settled) + settledKeyBytes*len(k.recent) }

// recentKeyBytes is about what a key costs in a map.
const recentKeyBytes = 64

// Size is about how many bytes of memory they hold.
func (k *Keys) Size() int {
	return len(k.settled) + recentKeyBytes*max(len(k.recent), k.settled.len()/recentPart)
}

// Clone gives Keys of their own.
func (k *Keys) Clone() Keys { return Keys{k.settled, maps.Clone(k.recent), k.merges} }

// All gives every key, in no order.
func (k *Keys) All() iter.Seq2[KeyID, KeyEntry] {
	return func(yield func(KeyID, KeyEntry) bool) {
		all := k.settled.merged(nil, idsUpTo(k.recent, math.MaxInt64), k.recent)
		for i := range all.len() {
			if !yield(all.id(i), all.entry(i)) {
				return
			}
		}
	}
}

// KeysOf gives the keys under which an event is found, if it has one: as its author's, and as that of the claim under which it was said. The key of
// createConversation is not among them, nor is that of resolveApproval: these are in the State.
func KeysOf(e *parley.Event, claim *ClaimHash) ([]KeyID, KeyEntry) {
	if e.ClientRequestID == "" || e.From == parley.HubID {
		return nil, KeyEntry{}
	}
	ids := []KeyID{keyID(e.From, e.ClientRequestID, nil)}
	if claim != nil {
		ids = append(ids, keyID(e.From, e.ClientRequestID, claim))
	}
	return ids, KeyEntry{Seq: e.Seq, Turn: e.Turn, Digest: digest(e)}
}

func keyID(from, key string, claim *ClaimHash) KeyID {
	b := make([]byte, 0, 256)
	b = append(b, from...)
	b = append(b, 0)
	b = append(b, key...)
	if claim != nil {
		b = append(b, 0)
		b = append(b, claim[:]...)
	}
	sum := sha256.Sum256(b)
	return KeyID(sum[:16])
}

// digest covers what makes two requests the same: type, finality, outcome and payload.
func digest(e *parley.Event) KeyDigest {
	d := sha256.New()
	d.Write([]byte(e.Type))
	d.Write([]byte{0})
	d.Write([]byte(e.Finality))
	d.Write([]byte{0})
	if e.Outcome != nil {
		o, err := json.Marshal(e.Outcome)
		if err != nil {
			panic(err) // a struct of strings always encodes
		}
		d.Write(o)
	}
	d.Write([]byte{0})
	if e.TurnHint != nil {
		d.Write([]byte(e.TurnHint.Next))
		d.Write([]byte{0})
	}
	d.Write(e.Payload)
	var sum [sha256.Size]byte
	return KeyDigest(d.Sum(sum[:0]))
}
