package idempotency_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// numberedID returns ids that are spread like hashes, or close together.
func numberedID(n int, close bool) (id idempotency.KeyID) {
	if !close {
		binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	}
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// TestKeysAreAMap compares Keys with a map: put, delete, find, clone, encode and decode.
func TestKeysAreAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var keys idempotency.Keys
		want := make(map[idempotency.KeyID]idempotency.KeyEntry)
		close := rapid.Bool().Draw(rt, "close")
		seq := int64(1)
		put := func(n int) {
			seq++
			e := idempotency.KeyEntry{Seq: seq, Turn: seq / 2, Digest: idempotency.KeyDigest{byte(n), byte(seq)}}
			keys.Put(numberedID(n, close), e)
			want[numberedID(n, close)] = e
		}
		check := func(k *idempotency.Keys, want map[idempotency.KeyID]idempotency.KeyEntry) {
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
				var lost []idempotency.KeyID
				for i := range n {
					if id := numberedID(2001+i, close); i > 0 {
						keys.Propose(id, idempotency.KeyEntry{Seq: seq + 2})
						lost = append(lost, id)
					}
				}
				put(rapid.IntRange(0, 2000).Draw(rt, "key"))
				if _, err := idempotency.DecodeKeys(keys.Settled(), nil, seq); err != nil {
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
				again, err := idempotency.DecodeKeys(keys.Settled(), b[1:], seq)
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

func TestKeysRefuseDamage(t *testing.T) {
	var keys idempotency.Keys
	for n := range 112 { // all of them are settled
		keys.Put(numberedID(n, false), idempotency.KeyEntry{Seq: int64(n + 2), Turn: int64(n)})
	}
	whole := keys.Settled()
	one := len(whole) / 112
	for name, b := range map[string][]byte{
		"cut":          whole[:len(whole)-1],
		"twice":        append(bytes.Clone(whole[:one]), whole...),
		"out of order": append(bytes.Clone(whole[one:]), whole[:one]...),
	} {
		if _, err := idempotency.DecodeKeys(b, nil, 1000); !errors.Is(err, idempotency.ErrKeys) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := idempotency.DecodeKeys(nil, b, 1000); !errors.Is(err, idempotency.ErrKeys) {
			t.Errorf("%s, recent: %v", name, err)
		}
	}
	if _, err := idempotency.DecodeKeys(make([]byte, one), nil, 1000); !errors.Is(err, idempotency.ErrKeys) {
		t.Errorf("no event: %v", err)
	}
	if _, err := idempotency.DecodeKeys(whole, nil, 112); !errors.Is(err, idempotency.ErrKeys) {
		t.Errorf("ahead of the log: %v", err)
	}
	if _, err := idempotency.DecodeKeys(whole, nil, 113); err != nil {
		t.Error(err)
	}
}

// FuzzDecodeKeys checks that DecodeKeys refuses bytes, or returns the keys that they encode.
func FuzzDecodeKeys(f *testing.F) {
	var keys idempotency.Keys
	for n := range 59 {
		keys.Put(numberedID(n, n%3 == 0), idempotency.KeyEntry{Seq: int64(n + 2), Turn: int64(n),
			Digest: idempotency.KeyDigest{1}})
	}
	keys.Delete(numberedID(1, false))
	f.Add(keys.Settled(), keys.AppendRecent(nil))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, settled, recent []byte) {
		keys, err := idempotency.DecodeKeys(settled, recent, 1<<30)
		if err != nil {
			if !errors.Is(err, idempotency.ErrKeys) {
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
		var keys idempotency.Keys
		for i := range n {
			keys.Put(numberedID(i, false), idempotency.KeyEntry{Seq: int64(i + 2)})
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
				more.Put(numberedID(i, false), idempotency.KeyEntry{Seq: int64(i + 2)})
			}
		})
	}
}
