package fold_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// numberedID gives ids that are spread as hashes are, or lie all together where close is set.
func numberedID(n int, close bool) (id fold.KeyID) {
	if !close {
		binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	}
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// TestKeysAreAMap: whatever is put, taken back, found, cloned, kept and loaded, they are what a map is.
func TestKeysAreAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var keys fold.Keys
		want := make(map[fold.KeyID]fold.KeyEntry)
		close := rapid.Bool().Draw(rt, "close")
		seq := int64(1)
		put := func(n int) {
			seq++
			e := fold.KeyEntry{Seq: seq, Turn: seq / 2, Digest: fold.KeyDigest{byte(n), byte(seq)}}
			keys.Put(numberedID(n, close), e)
			want[numberedID(n, close)] = e
		}
		check := func(k *fold.Keys, want map[fold.KeyID]fold.KeyEntry) {
			if got := maps.Collect(k.All()); !maps.Equal(got, want) {
				rt.Fatalf("keys (-map +keys):\n%s", cmp.Diff(want, got))
			}
			for n := range 2001 {
				id := numberedID(n, close)
				got, ok := k.Find(id)
				if e, had := want[id]; ok != had || got != e {
					rt.Fatalf("find %d: %v %t, want %v %t", n, got, ok, e, had)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check(&keys, want) },
			"many": func(rt *rapid.T) {
				from, n := rapid.IntRange(0, 2000).Draw(rt, "from"), rapid.IntRange(1, 200).Draw(rt, "n")
				for i := range n {
					put((from + 7*i) % 2000)
				}
			},
			"lose": func(rt *rapid.T) { // some are proposed, and one is settled before the others are taken back
				n := rapid.IntRange(1, 200).Draw(rt, "n")
				var lost []fold.KeyID
				for i := range n {
					if id := numberedID(2001+i, close); i > 0 {
						keys.Propose(id, fold.KeyEntry{Seq: seq + 2})
						lost = append(lost, id)
					}
				}
				put(rapid.IntRange(0, 2000).Draw(rt, "key"))
				if _, err := fold.DecodeKeys(keys.Settled(), nil, seq); err != nil {
					rt.Fatal(err)
				}
				for _, id := range lost {
					keys.Delete(id)
				}
			},
			"one": func(rt *rapid.T) { put(rapid.IntRange(0, 2000).Draw(rt, "n")) },
			"take back": func(rt *rapid.T) {
				for range rapid.IntRange(1, 80).Draw(rt, "many") {
					id := numberedID(rapid.IntRange(0, 2000).Draw(rt, "n"), close)
					keys.Delete(id)
					delete(want, id)
				}
			},
			"clone": func(*rapid.T) {
				before, was := keys.Clone(), maps.Clone(want)
				for n := range 100 {
					put(n)
				}
				check(&before, was)
				kept, now := keys, maps.Clone(want)
				check(&kept, now)
				keys, want = before, was
				for n := range 100 {
					keys.Delete(numberedID(n, close))
					delete(want, numberedID(n, close))
				}
				check(&kept, now)
			},
			"keep and load": func(*rapid.T) {
				b := keys.AppendRecent([]byte("x"))
				again, err := fold.DecodeKeys(keys.Settled(), b[1:], seq)
				if err != nil {
					rt.Fatal(err)
				}
				if !bytes.Equal(again.Settled(), keys.Settled()) || !bytes.Equal(again.AppendRecent(nil), b[1:]) {
					rt.Fatal("the same keys have other bytes")
				}
				keys = again
			},
		})
	})
}

// TestKeysOfManyEvents: a key that was used before is found, with what was said under it, after every number of events.
func TestKeysOfManyEvents(t *testing.T) {
	s := &story{t: t, state: fold.State{ID: "x"}}
	s.do(fold.Command{Verb: fold.Create, From: "a", Create: &parley.CreateConversationParams{Participants: seats("a", "b"), Policy: &parley.Policy{Kind: parley.PolicyOpen}}})
	said := func(i int) fold.Command {
		return fold.Command{Verb: fold.Message, From: "a", Now: s.now, Finality: parley.FinalityTurn, Key: fmt.Sprint("k", i), Payload: []byte(fmt.Sprintf(`{"text":"%d"}`, i))}
	}
	for i := range 3000 {
		d := fold.Decide(s.state, s.keys, said(i))
		if d.Err != nil || d.Duplicate {
			t.Fatalf("key %d: %+v", i, d.Err)
		}
		enter(&s.keys, &d.Events[0])
		s.state = d.State
		old := said(i * 7 / 8)
		if d := fold.Decide(s.state, s.keys, old); d.Err != nil || !d.Duplicate || d.Seq != int64(i*7/8+2) {
			t.Fatalf("key %d again after %d: %+v", i*7/8, i, d)
		}
		old.Payload = []byte(`{"text":"other"}`)
		if d := fold.Decide(s.state, s.keys, old); !errors.Is(d.Err, parley.ErrIdempotencyConflict) {
			t.Fatalf("key %d with another text after %d: %+v", i*7/8, i, d)
		}
		old.From = "b"
		if d := fold.Decide(s.state, s.keys, old); d.Duplicate {
			t.Fatalf("key %d of another after %d", i*7/8, i)
		}
	}
	if per := s.keys.Size() / 3000; per > 48 {
		t.Fatalf("a key takes %d bytes", per)
	}
}

func TestKeysRefuseDamage(t *testing.T) {
	var keys fold.Keys
	for n := range 112 { // all of them are settled
		keys.Put(numberedID(n, false), fold.KeyEntry{Seq: int64(n + 2), Turn: int64(n)})
	}
	whole := keys.Settled()
	one := len(whole) / 112
	for name, b := range map[string][]byte{
		"cut":          whole[:len(whole)-1],
		"twice":        append(bytes.Clone(whole[:one]), whole...),
		"out of order": append(bytes.Clone(whole[one:]), whole[:one]...),
	} {
		if _, err := fold.DecodeKeys(b, nil, 1000); !errors.Is(err, fold.ErrKeys) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := fold.DecodeKeys(nil, b, 1000); !errors.Is(err, fold.ErrKeys) {
			t.Errorf("%s, recent: %v", name, err)
		}
	}
	if _, err := fold.DecodeKeys(make([]byte, one), nil, 1000); !errors.Is(err, fold.ErrKeys) {
		t.Errorf("no event: %v", err)
	}
	if _, err := fold.DecodeKeys(whole, nil, 112); !errors.Is(err, fold.ErrKeys) {
		t.Errorf("ahead of the log: %v", err)
	}
	if _, err := fold.DecodeKeys(whole, nil, 113); err != nil {
		t.Error(err)
	}
}

// FuzzDecodeKeys: bytes are refused, or are those of keys that are found.
func FuzzDecodeKeys(f *testing.F) {
	var keys fold.Keys
	for n := range 59 {
		keys.Put(numberedID(n, n%3 == 0), fold.KeyEntry{Seq: int64(n + 2), Turn: int64(n), Digest: fold.KeyDigest{1}})
	}
	keys.Delete(numberedID(1, false))
	f.Add(keys.Settled(), keys.AppendRecent(nil))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, settled, recent []byte) {
		keys, err := fold.DecodeKeys(settled, recent, 1<<30)
		if err != nil {
			if !errors.Is(err, fold.ErrKeys) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.Equal(keys.Settled(), settled) || !bytes.Equal(keys.AppendRecent(nil), recent) {
			t.Fatal("other bytes")
		}
		for id, want := range keys.All() {
			if got, ok := keys.Find(id); !ok || got != want {
				t.Fatalf("%x: %v, want %v", id, got, want)
			}
			id[15]++
			keys.Find(id)
		}
	})
}

func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		var keys fold.Keys
		for i := range n {
			keys.Put(numberedID(i, false), fold.KeyEntry{Seq: int64(i + 2)})
		}
		b.Run(fmt.Sprint("miss/", n), func(b *testing.B) {
			for i := n; b.Loop(); i++ {
				keys.Find(numberedID(i, false))
			}
		})
		b.Run(fmt.Sprint("put/", n), func(b *testing.B) {
			more := keys.Clone()
			b.ReportAllocs()
			for i := n; b.Loop(); i++ {
				if i%(2*n) == 0 {
					more = keys.Clone()
				}
				more.Put(numberedID(i, false), fold.KeyEntry{Seq: int64(i + 2)})
			}
		})
	}
}
