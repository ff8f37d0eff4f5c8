// Package idempotency stores the idempotency keys of a conversation: which event and turn each clientRequestId of
// a participant belongs to.
//
//	entry, ok := keys.Find(idempotency.NewKeyID(from, clientRequestID, nil))
//	if ok && entry.Digest != idempotency.DigestOf(&event) { ... } // the key was used with another payload
package idempotency

import (
	"crypto/sha256"
	"encoding/json"
	"iter"
	"maps"
	"math"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// KeyID identifies a key within a conversation. It is a hash of the participant, the clientRequestId and perhaps a
// claim, so that the size of a key does not depend on the length of its text.
type KeyID [16]byte

// KeyDigest identifies the request of a key. It is short because it detects mistakes only: keys are per participant.
// A participant with two requests of the same digest receives the answer to its first request.
type KeyDigest [8]byte

// KeyEntry is the result of the request of a key. Seq and Turn are below 2^40. No log on a disk has more events.
type KeyEntry struct {
	Seq    int64
	Turn   int64
	Digest KeyDigest
}

// Keys are the keys of a conversation, a fold of its events. The zero Keys are empty. To copy Keys, use Clone.
//
// A conversation has as many keys as events, and most are looked up once. So most keys are sorted in a byte slice,
// which is also their stored form. A map has the recent keys. When the map has a given part of all keys, its keys
// are merged into the bytes. On average a key is moved twenty times.
type Keys struct {
	settled settledKeys
	recent  map[KeyID]KeyEntry // replace those of settled; an entry without Seq deletes its key
	merges  int
}

// The recent keys are merged when they are leastRecent keys and one in recentPart of the settled keys. A map of 64
// slots has room for leastRecent keys.
const (
	leastRecent = 56
	recentPart  = 16
)

// Find looks up a key.
func (k *Keys) Find(id KeyID) (KeyEntry, bool) {
	if entry, ok := k.recent[id]; ok {
		return entry, entry.Seq > 0
	}
	return k.settled.find(&id)
}

// Put sets the entry of a key whose event is in the log.
func (k *Keys) Put(id KeyID, entry KeyEntry) {
	k.Propose(id, entry)
	k.Settle(entry.Seq)
}

// Propose sets the entry of a key whose event may still be lost. The key stays out of the settled keys until Settle
// is called with the seq of its event.
func (k *Keys) Propose(id KeyID, entry KeyEntry) {
	if k.recent == nil {
		k.recent = make(map[KeyID]KeyEntry)
	}
	k.recent[id] = entry
}

// Delete removes a key.
func (k *Keys) Delete(id KeyID) {
	if _, ok := k.settled.find(&id); ok {
		k.Propose(id, KeyEntry{})
		return
	}
	delete(k.recent, id)
}

// Settle merges the recent keys of events up to seq if there are enough of them. These events are in the log.
func (k *Keys) Settle(seq int64) {
	enough := max(leastRecent, k.settled.len()/recentPart)
	if len(k.recent) < enough {
		return
	}
	ids := idsUpTo(k.recent, seq)
	if len(ids) < enough {
		return
	}
	room := len(k.settled) + settledKeyBytes*len(k.recent) // at most
	k.settled = k.settled.merged(make([]byte, 0, room), ids, k.recent)
	k.merges++
	if len(ids) == len(k.recent) {
		clear(k.recent)
		return
	}
	for _, id := range ids {
		delete(k.recent, id)
	}
}

// recentKeyBytes is an estimate of the memory of a key in a map.
const recentKeyBytes = 64

// Size estimates the memory of the keys in bytes.
func (k *Keys) Size() int {
	return len(k.settled) + recentKeyBytes*max(len(k.recent), k.settled.len()/recentPart)
}

// Clone returns a copy that does not share changes with k.
func (k *Keys) Clone() Keys { return Keys{k.settled, maps.Clone(k.recent), k.merges} }

// All returns all keys in no particular order.
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

// KeysOf returns the keys of an event and their entry. An event with a clientRequestId has the key of its author
// and, if it was written under a claim, the key of the claim. The keys of createConversation and resolveApproval are
// in the state instead.
func KeysOf(e *parley.Event, claim *eventdata.ClaimHash) ([]KeyID, KeyEntry) {
	if e.ClientRequestID == "" || e.From == parley.HubID {
		return nil, KeyEntry{}
	}
	ids := []KeyID{NewKeyID(e.From, e.ClientRequestID, nil)}
	if claim != nil {
		ids = append(ids, NewKeyID(e.From, e.ClientRequestID, claim))
	}
	return ids, KeyEntry{Seq: e.Seq, Turn: e.Turn, Digest: DigestOf(e)}
}

// NewKeyID returns the id of the key of a participant, or of a claim if claim is not nil.
func NewKeyID(from, key string, claim *eventdata.ClaimHash) KeyID {
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

// DigestOf covers the type, finality, outcome, turn hint and payload of an event.
func DigestOf(e *parley.Event) KeyDigest {
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
