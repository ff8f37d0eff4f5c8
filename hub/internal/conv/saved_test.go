package conv

// The form in which states are kept is looked at from inside: nobody else sees it.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// keptState gives a state with some of everything, and n keys, of which it has the recent ones.
func keptState(n int) (*saved, fold.Keys) {
	var keys fold.Keys
	s := &saved{state: fold.State{
		ID: "x", Seq: int64(n + 1), Status: parley.StatusActive, Metadata: []byte(`{"a":1}`), CreatedAt: 5, Turn: int64(n),
		Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}, {ID: "b", Kind: parley.KindHuman, Role: "r"}},
		SeatSeqs:     []int64{1, 1}, SeatPrivates: [][16]byte{{}, {1}}, Spoke: make([]fold.Spoke, 2),
		Claim: &fold.Claim{AgentID: "a", Seq: 2, UpTo: 1}, Outcome: &parley.Outcome{Status: parley.OutcomeFailed},
		Approvals: []fold.Approval{{Seq: 3, Turn: 1, AgentID: "a", Key: "k", Hash: [16]byte{1}, TokenID: "t", Schema: true, Status: parley.ApprovalPending, Retry: [16]byte{2}}},
		Workspace: "lab", LastPerson: "b", Children: []fold.Child{{ID: "ses_2", By: "a", Agent: "c", Mode: parley.ModeAsyncPoll, Hops: 2}}, CallbackHops: 1,
		Callbacks: []fold.EndedChild{{ID: "ses_3", By: "a", Agent: "c", Status: parley.SessionFailed, Hops: 3}},
		Woken:     []fold.Woken{{Seq: 3, By: "b", Hops: 1, Wake: parley.Wake{Agent: "c", AgentID: "a", Selector: 2, SessionID: "ses_1", Workspace: true, AnswerSchema: "s"}}},
		Recent:    []fold.Pair{{By: "b", AgentID: "a", At: []parley.Timestamp{4, 5}}}, Waker: fold.Waker{Seq: 3, From: "b", Hops: 1, Message: true, Traceparent: "00-1"},
		Traceparent: "00-2", FloorAt: 4, Worked: &fold.Worked{Turn: 2, AgentID: "a", Attempts: 1, Outcome: fold.WorkedFinal, From: 2, To: 3, Seq: 5},
	}}
	for i := range n {
		keys.Put(numberedKey(i), fold.KeyEntry{Seq: int64(i + 2), Turn: int64(i + 1), Digest: fold.KeyDigest{byte(i)}})
	}
	s.settled, _ = s.settled.next(keys.Settled(), keys.Merges(), s.state.Seq)
	s.recent = keys.AppendRecent(nil)
	return s, keys
}

func TestSavedRoundTrip(t *testing.T) {
	var wg sync.WaitGroup
	counts := 200
	if testing.Short() {
		counts = 70 // keys are merged from 56 on
	}
	for n := range counts {
		wg.Go(func() {
			want, keys := keptState(n)
			got, err := decodeSaved(want.encode())
			if err != nil {
				t.Error(err)
				return
			}
			if got.settled.place != want.settled.place || got.settled.size != want.settled.size || got.settled.sum != want.settled.sum {
				t.Errorf("settled keys of %d: %+v, want %+v", n, got.settled, want.settled)
			}
			again, err := fold.DecodeKeys(keys.Settled(), got.recent, want.state.Seq)
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want.state, got.state); diff != "" {
				t.Errorf("state of %d keys:\n%s", n, diff)
			}
			if diff := cmp.Diff(maps.Collect(keys.All()), maps.Collect(again.All())); diff != "" {
				t.Errorf("%d keys:\n%s", n, diff)
			}
		})
	}
	wg.Wait()
}

// reseal puts the right checksum behind bytes whose last four are one.
func reseal(b []byte) []byte {
	b = b[:len(b)-crc32.Size]
	return binary.BigEndian.AppendUint32(b[:len(b):len(b)], crc32.Checksum(b, castagnoli))
}

// TestSavedRefusesDamage: no byte that is changed or missing is taken, and nothing of it spoils what is read after it.
func TestSavedRefusesDamage(t *testing.T) {
	want, _ := keptState(70)
	whole := want.encode()
	refused := func(what string, b []byte) {
		if _, err := decodeSaved(b); !errors.Is(err, errSaved) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		refused(fmt.Sprint("bit of byte ", i), b)
		refused(fmt.Sprint("cut at ", i), whole[:i])
		if i >= crc32.Size && i < len(whole)-len(want.recent)-crc32.Size {
			refused(fmt.Sprint("cut and sealed at ", i), reseal(bytes.Clone(whole[:i])))
		}
	}
	_, n := binary.Uvarint(whole)
	refused("other version", reseal(append(binary.AppendUvarint(nil, fold.Version-1), whole[n:]...)))
	got, err := decodeSaved(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.state, got.state); diff != "" {
		t.Fatal(diff)
	}
}

// FuzzDecodeSaved: bytes with a right checksum are refused, or make a state and keys; and what is whole is read after them.
func FuzzDecodeSaved(f *testing.F) {
	kept, _ := keptState(60)
	whole := kept.encode()
	f.Add(whole)
	f.Add([]byte{fold.Version, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < crc32.Size {
			return
		}
		if _, err := decodeSaved(reseal(bytes.Clone(b))); err != nil && !errors.Is(err, errSaved) {
			t.Fatal(err)
		}
		if s, err := decodeSaved(bytes.Clone(whole)); err != nil || s.state.Seq != 61 {
			t.Fatal(s, err)
		}
	})
}

// refusing is a journal that has no room for the states of one name.
type refusing struct {
	journal.Journal
	name string
}

func (r refusing) SaveState(id string, seq int64, state []byte) error {
	if id == r.name {
		return journal.ErrOverloaded
	}
	return r.Journal.SaveState(id, seq, state)
}

// TestKeptStands: where the journal takes the settled keys and not the state that refers to them, the state before them stands.
func TestKeptStands(t *testing.T) {
	j := memory.New()
	s, keys := keptState(60)
	c := &Conversation{engine: &Engine{journal: j, log: slog.New(slog.DiscardHandler)}, id: "x", durable: s.state, keys: keys}
	if err := c.save(true); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{150, 250, 350} {
		more, keys := keptState(n)
		c.engine.journal, c.durable, c.keys = refusing{j, "x"}, more.state, keys
		if err := c.save(true); !errors.Is(err, journal.ErrOverloaded) {
			t.Fatal(err)
		}
		next := &Conversation{engine: &Engine{journal: j}, id: "x"}
		if next.loadSavedLocked(); next.savedSeq != 61 {
			t.Fatalf("loaded as of %d, want 61", next.savedSeq)
		}
	}
	c.engine.journal = j
	if err := c.save(true); err != nil {
		t.Fatal(err)
	}
	next := &Conversation{engine: &Engine{journal: j}, id: "x"}
	if next.loadSavedLocked(); next.savedSeq != 351 {
		t.Fatalf("loaded as of %d, want 351", next.savedSeq)
	}
}

// TestKeptWithoutLost: what is kept after an append that was lost has no key of it, and is taken again.
func TestKeptWithoutLost(t *testing.T) {
	j := memory.New()
	s, _ := keptState(0)
	s.state.Seq = 56
	c := &Conversation{engine: &Engine{journal: j, log: slog.New(slog.DiscardHandler)}, id: "x", durable: s.state, reloading: true}
	for n := range 54 {
		c.keys.Put(numberedKey(n), fold.KeyEntry{Seq: int64(n + 2)})
	}
	o, later := &Request{}, &Request{}
	for n := 54; n < 70; n++ {
		o.keys = append(o.keys, keyChange{id: numberedKey(n)})
		c.keys.Propose(numberedKey(n), fold.KeyEntry{Seq: int64(n + 3)})
	}
	c.keys.Settle(c.durable.Seq)
	c.pending = []*Request{later} // so that nothing is read anew
	c.loseLocked(o, journal.ErrStorageFull)
	c.pending, c.reloading = nil, false
	for n := 53; n < 55; n++ { // 56 keys are merged
		c.keys.Put(numberedKey(n+20), fold.KeyEntry{Seq: 56})
	}
	if err := c.save(true); err != nil || c.keys.Merges() != 1 {
		t.Fatal(err, c.keys.Merges())
	}
	next := &Conversation{engine: c.engine, id: "x"}
	if next.loadSavedLocked(); next.savedSeq != 56 {
		t.Errorf("loaded as of %d, want 56", next.savedSeq)
	}
}

// TestMergedKeysAreFree: a conversation that has merged its keys does not hold those that it was loaded with.
func TestMergedKeysAreFree(t *testing.T) {
	e := &Engine{journal: memory.New(), log: slog.New(slog.DiscardHandler)}
	s, keys := keptState(10_000)
	c := &Conversation{engine: e, id: "x", durable: s.state, keys: keys}
	if err := c.save(true); err != nil {
		t.Fatal(err)
	}
	c = &Conversation{engine: e, id: "x"}
	c.loadSavedLocked()
	loaded := weak.Make(&c.keys.Settled()[0])
	for n := 10_000; c.keys.Merges() == 0; n++ {
		c.keys.Put(numberedKey(n), fold.KeyEntry{Seq: int64(n + 2)})
	}
	runtime.GC()
	if loaded.Value() != nil {
		t.Error("the keys before are held")
	}
	runtime.KeepAlive(c)
}

// countedStates counts the bytes of states that a journal is given, by name.
type countedStates struct {
	journal.Journal
	bytes map[string]int
}

func (c countedStates) SaveState(id string, seq int64, state []byte) error {
	c.bytes[id] += len(state)
	return c.Journal.SaveState(id, seq, state)
}

// TestKeptBytes: a conversation that is dropped after every message has all its keys each time, is read anew for few events, and costs no more bytes than savedPerEvent
// for each kind of what is kept and key.
func TestKeptBytes(t *testing.T) {
	for _, c := range []struct {
		metadata int // bytes
		keys     int // of each event
		behind   int64
	}{{10, 1, minUnsaved}, {64 << 10, 1, 80}, {10, 2, minUnsaved}} {
		t.Run(fmt.Sprint(c.metadata, " ", c.keys), func(t *testing.T) {
			events := 3000
			if testing.Short() {
				events = 200
			}
			j := countedStates{memory.New(), make(map[string]int)}
			dropOften(t, j, events, c.metadata, c.keys, c.behind)
			for name, n := range j.bytes {
				if per := n / events; n == 0 || per > c.keys*savedPerEvent {
					t.Errorf("%d bytes for each event under %q", per, name)
				}
			}
			if len(j.bytes) != 3 {
				t.Errorf("what is kept has %d names", len(j.bytes))
			}
		})
	}
}

func dropOften(t *testing.T, j journal.Journal, events, metadata, keys int, behind int64) {
	e := &Engine{journal: j, log: slog.New(slog.DiscardHandler)}
	s, _ := keptState(0)
	s.state.Metadata = bytes.Repeat([]byte("x"), metadata)
	c := &Conversation{engine: e, id: "x"}
	for n := range events {
		s.state.Seq = int64(n + 2)
		c.durable = s.state
		for i := range keys {
			c.keys.Put(numberedKey(keys*n+i), fold.KeyEntry{Seq: s.state.Seq, Turn: 1})
		}
		if err := c.save(false); err != nil {
			t.Fatal(err)
		}
		if s.state.Seq-c.savedSeq > behind {
			t.Fatalf("%d events would be read anew at %d", s.state.Seq-c.savedSeq, n)
		}
		if c.savedSeq < s.state.Seq {
			continue
		}
		c = &Conversation{engine: e, id: "x"}
		if c.loadSavedLocked(); c.savedSeq != s.state.Seq {
			t.Fatalf("at %d: loaded as of %d", s.state.Seq, c.savedSeq)
		}
		for i := range keys * (n + 1) {
			if e, ok := c.keys.Find(numberedKey(i)); !ok || e.Seq != int64(i/keys+2) {
				t.Fatalf("key %d after %d: %+v %t", i, n, e, ok)
			}
		}
	}
}

func numberedKey(n int) (id fold.KeyID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

// TestUsedWhileSwept: who uses a conversation that the sweeper has taken has used it, also when the sweeper gives it back last.
func TestUsedWhileSwept(t *testing.T) {
	e := &Engine{opts: Options{MaxLoaded: 1, MaxLoadedBytes: 1 << 20}}
	s, _ := keptState(0)
	c := &Conversation{engine: e, id: "x", head: s.state, index: inUse, pins: 1}
	old := time.Now()
	e.putBack(c, old)
	e.takeLocked(c)
	c.pins++ // somebody
	e.putBack(c, old.Add(time.Hour))
	e.putBack(c, time.Time{})
	if c.index == inUse || !c.usedAt.Equal(old.Add(time.Hour)) {
		t.Fatalf("used at %v, want an hour after %v", c.usedAt, old)
	}
}

// TestInTurnsIsNoThrash: where conversations are used in turn and one in ten has no room, most are found in memory.
func TestInTurnsIsNoThrash(t *testing.T) {
	const n, room, rounds = 1000, 900, 20
	all := make([]*Conversation, n)
	for i := range all {
		all[i] = &Conversation{index: inUse}
	}
	var u unused
	found, now := 0, time.Now()
	for range rounds {
		for _, c := range all {
			if c.index != inUse {
				found++
				u.remove(c)
			}
			now = now.Add(1)
			c.usedAt = now
			u.add(c)
			for len(u.all) > room {
				u.remove(u.victim())
			}
		}
	}
	if share := float64(found) / (n * (rounds - 1)); share < 0.6 {
		t.Fatalf("%.2f were found in memory", share)
	}
}

// BenchmarkSaved: what a conversation of 10,000 keys costs when it is dropped, with its settled keys and without, and loaded again.
func BenchmarkSaved(b *testing.B) {
	const n = 10_000
	j := memory.New()
	s, keys := keptState(n)
	e := &Engine{journal: j, log: slog.New(slog.DiscardHandler)}
	save := func(b *testing.B, before settled) {
		b.ReportAllocs()
		for b.Loop() {
			c := &Conversation{engine: e, id: "x", durable: s.state, keys: keys, settled: before}
			if err := c.save(true); err != nil || c.savedSeq != n+1 {
				b.Fatal(err)
			}
		}
	}
	b.Run("save", func(b *testing.B) { save(b, settled{}) })
	b.Run("save again", func(b *testing.B) { save(b, s.settled) })
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := &Conversation{engine: e, id: "x"}
			if c.loadSavedLocked(); c.savedSeq != n+1 {
				b.Fatal("not loaded")
			}
		}
	})
}
