package fold

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/parleyhub/parley"
)

// KeyID names an idempotency key within a conversation: participant and clientRequestId, hashed, so that a key
// costs the same whatever its length.
type KeyID [16]byte

// KeyEntry is what a key stands for.
type KeyEntry struct {
	Seq    int64
	Turn   int64
	Digest [16]byte
}

// Keys are the idempotency keys of a conversation. Like State they are a fold of its events.
type Keys map[KeyID]KeyEntry

// KeysOf gives the keys under which an event is found, if it has one: as its author's, and as that of the claim under which it was said. The key of
// createConversation is not among them: it is in the State.
func KeysOf(e *parley.Event, claim *ClaimHash) ([]KeyID, KeyEntry) {
	if e.ClientRequestID == "" || e.Seq == 1 {
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
func digest(e *parley.Event) [16]byte {
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
	return [16]byte(d.Sum(sum[:0])[:16])
}
