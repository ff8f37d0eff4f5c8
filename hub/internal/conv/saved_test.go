package conv

// The encoding of saved states is internal to this package, so its tests are too.

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
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// sampleState returns a saved state in which most fields are set, and n keys. The saved state
// includes the recent keys and describes the settled ones.
func sampleState(n int) (*saved, idempotency.Keys) {
	var keys idempotency.Keys
	s := &saved{state: fold.State{
		ID: "x", Seq: int64(n + 1), Status: parley.StatusActive, Metadata: []byte(`{"a":1}`), CreatedAt: 5,
		Outcome: &parley.Outcome{Status: parley.OutcomeFailed}, Workspace: "lab",
		TurnOrder: fold.TurnOrder{Turn: int64(n), LastPerson: "b"},
		Roster: fold.Roster{
			Participants: []parley.Participant{
				{ID: "a", Kind: parley.KindAgent},
				{ID: "b", Kind: parley.KindHuman, Role: "r"},
			},
			SeatSeqs: []int64{1, 1}, SeatPrivates: [][16]byte{{}, {1}}, Activities: make([]fold.Activity, 2),
		},
		Claims: fold.Claims{Claim: &fold.Claim{AgentID: "a", Seq: 2, UpTo: 1}},
		ApprovalList: fold.ApprovalList{Approvals: []fold.Approval{{
			Seq: 3, Turn: 1, AgentID: "a", Key: "k", Hash: [16]byte{1}, TokenID: "t", Schema: true,
			Status: parley.ApprovalPending, Retry: [16]byte{2},
		}}},
		Sessions: fold.Sessions{
			Children:     []fold.Child{{ID: "ses_2", By: "a", Agent: "c", Mode: parley.ModeAsyncPoll, Hops: 2}},
			CallbackHops: 1,
			Callbacks:    []fold.EndedChild{{ID: "ses_3", By: "a", Agent: "c", Status: parley.SessionFailed, Hops: 3}},
		},
		Triggers: fold.Triggers{
			Matches: []fold.Match{{Seq: 3, By: "b", Hops: 1, Wake: parley.Wake{
				Agent: "c", AgentID: "a", Selector: 2, SessionID: "ses_1", Workspace: true, AnswerSchema: "s",
			}}},
			Recent:    []fold.RecentWakes{{By: "b", AgentID: "a", At: []parley.Timestamp{4, 5}}},
			WakeEvent: fold.WakeEvent{Seq: 3, From: "b", Hops: 1, Message: true, Traceparent: "00-1"},
		},
		TurnSpans: fold.TurnSpans{Traceparent: "00-2", FloorAt: 4, EndedTurn: &fold.EndedTurn{
			Turn: 2, AgentID: "a", Attempts: 1, Outcome: fold.TurnFinal, From: 2, To: 3, Seq: 5,
		}},
	}}
	for i := range n {
		keys.Put(numberedKey(i), idempotency.KeyEntry{Seq: int64(i + 2), Turn: int64(i + 1),
			Digest: idempotency.KeyDigest{byte(i)}})
	}
	s.settled, _ = s.settled.next(keys.Settled(), keys.Merges(), s.state.Seq)
	s.recent = keys.AppendRecent(nil)
	return s, keys
}

// TestSaved_RoundTrip checks that decoding returns the state and the keys that were encoded.
func TestSaved_RoundTrip(t *testing.T) {
	var wg sync.WaitGroup
	counts := 200
	if testing.Short() {
		counts = 70 // keys are merged from 56 on
	}
	for n := range counts {
		wg.Go(func() {
			want, keys := sampleState(n)
			got, err := decodeSaved(want.encode())
			if err != nil {
				t.Error(err)
				return
			}
			if got.settled.place != want.settled.place || got.settled.size != want.settled.size ||
				got.settled.sum != want.settled.sum {
				t.Errorf("settled keys of %d: %+v, want %+v", n, got.settled, want.settled)
			}
			again, err := idempotency.DecodeKeys(keys.Settled(), got.recent, want.state.Seq)
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

// reseal replaces the last four bytes with a valid checksum of the bytes before them.
func reseal(b []byte) []byte {
	b = b[:len(b)-crc32.Size]
	return binary.BigEndian.AppendUint32(b[:len(b):len(b)], crc32.Checksum(b, castagnoli))
}

// TestDecodeSaved_RefusesDamage checks that decodeSaved refuses a state with a changed or missing
// byte, and that it still decodes an intact state afterwards.
func TestDecodeSaved_RefusesDamage(t *testing.T) {
	want, _ := sampleState(70)
	whole := want.encode()
	requireRefused := func(damage string, b []byte) {
		if _, err := decodeSaved(b); !errors.Is(err, errSaved) {
			t.Errorf("%s: %v", damage, err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		requireRefused(fmt.Sprint("bit of byte ", i), b)
		requireRefused(fmt.Sprint("cut at ", i), whole[:i])
		if i >= crc32.Size && i < len(whole)-len(want.recent)-crc32.Size {
			requireRefused(fmt.Sprint("cut and sealed at ", i), reseal(bytes.Clone(whole[:i])))
		}
	}
	_, n := binary.Uvarint(whole)
	requireRefused("other version", reseal(append(binary.AppendUvarint(nil, fold.Version-1), whole[n:]...)))
	got, err := decodeSaved(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.state, got.state); diff != "" {
		t.Fatal(diff)
	}
}

// FuzzDecodeSaved checks that decodeSaved accepts bytes with a valid checksum or fails with
// errSaved, and that it still decodes an intact state afterwards.
func FuzzDecodeSaved(f *testing.F) {
	sample, _ := sampleState(60)
	whole := sample.encode()
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

// refusingJournal is a journal that has no room for the states of one name.
type refusingJournal struct {
	journal.Journal
	name string
}

func (r refusingJournal) SaveState(id string, seq int64, state []byte) error {
	if id == r.name {
		return journal.ErrOverloaded
	}
	return r.Journal.SaveState(id, seq, state)
}

// loadX returns the conversation x with its saved state, or an empty one without a saved state.
func loadX(e *Engine) *Conversation {
	c := &Conversation{engine: e, id: "x"}
	if s, keys := loadSaved(e.journal, "x"); s != nil {
		c.durable, c.keys, c.savedSeq, c.settled = s.state, keys, s.state.Seq, s.settled
	}
	return c
}

// TestSave_KeepsOldStateIfRefused checks that the previous saved state can still be loaded if the
// journal saves new settled keys but refuses the state that refers to them.
func TestSave_KeepsOldStateIfRefused(t *testing.T) {
	j := memory.New()
	s, keys := sampleState(60)
	c := &Conversation{
		engine: &Engine{journal: j, log: slog.New(slog.DiscardHandler)}, id: "x", durable: s.state, keys: keys,
	}
	if err := c.save(true); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{150, 250, 350} {
		more, keys := sampleState(n)
		c.engine.journal, c.durable, c.keys = refusingJournal{j, "x"}, more.state, keys
		if err := c.save(true); !errors.Is(err, journal.ErrOverloaded) {
			t.Fatal(err)
		}
		if next := loadX(&Engine{journal: j}); next.savedSeq != 61 {
			t.Fatalf("loaded as of %d, want 61", next.savedSeq)
		}
	}
	c.engine.journal = j
	if err := c.save(true); err != nil {
		t.Fatal(err)
	}
	if next := loadX(&Engine{journal: j}); next.savedSeq != 351 {
		t.Fatalf("loaded as of %d, want 351", next.savedSeq)
	}
}

// TestSave_OmitsKeysOfLostAppend checks that a state saved after a lost append has no key of that
// append and can be loaded.
func TestSave_OmitsKeysOfLostAppend(t *testing.T) {
	j := memory.New()
	s, _ := sampleState(0)
	s.state.Seq = 56
	c := &Conversation{
		engine: &Engine{journal: j, log: slog.New(slog.DiscardHandler)}, id: "x", durable: s.state,
	}
	for n := range 54 {
		c.keys.Put(numberedKey(n), idempotency.KeyEntry{Seq: int64(n + 2)})
	}
	o := &round{}
	for n := 54; n < 70; n++ {
		o.keys = append(o.keys, keyChange{id: numberedKey(n)})
		c.keys.Propose(numberedKey(n), idempotency.KeyEntry{Seq: int64(n + 3)})
	}
	c.keys.Settle(c.durable.Seq)
	c.lose(o, journal.ErrStorageFull)
	c.broken = false           // the journal does not have the events
	for n := 53; n < 55; n++ { // 56 keys are merged
		c.keys.Put(numberedKey(n+20), idempotency.KeyEntry{Seq: 56})
	}
	if err := c.save(true); err != nil || c.keys.Merges() != 1 {
		t.Fatal(err, c.keys.Merges())
	}
	if next := loadX(c.engine); next.savedSeq != 56 {
		t.Errorf("loaded as of %d, want 56", next.savedSeq)
	}
}

// TestLoad_IgnoresWrongState checks that a saved state of another version, or one that does not fit
// the log, does not change what is loaded.
func TestLoad_IgnoresWrongState(t *testing.T) {
	for name, wrong := range map[string]struct {
		version uint64
		ahead   int64 // of the log
	}{"version": {fold.Version + 1, 0}, "seq": {fold.Version, 5}} {
		t.Run(name, func(t *testing.T) {
			e, c := newConversation(t)
			want := c.Durable()
			s := saved{state: fold.State{ID: "x", Seq: want.Seq + wrong.ahead, Status: parley.StatusActive}}
			encoded := s.encode()
			_, n := binary.Uvarint(encoded)
			encoded = reseal(append(binary.AppendUvarint(nil, wrong.version), encoded[n:]...))
			if err := e.journal.SaveState("x", s.state.Seq, encoded); err != nil {
				t.Fatal(err)
			}
			next := New(e.opts)
			next.Connect(e.parts)
			got, err := next.StateOf("x")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLoad_MergeReleasesLoadedKeys checks that a merge of the keys releases the memory of the
// settled keys that the conversation was loaded with.
func TestLoad_MergeReleasesLoadedKeys(t *testing.T) {
	e := &Engine{journal: memory.New(), log: slog.New(slog.DiscardHandler)}
	s, keys := sampleState(10_000)
	c := &Conversation{engine: e, id: "x", durable: s.state, keys: keys}
	if err := c.save(true); err != nil {
		t.Fatal(err)
	}
	c = loadX(e)
	loaded := weak.Make(&c.keys.Settled()[0])
	for n := 10_000; c.keys.Merges() == 0; n++ {
		c.keys.Put(numberedKey(n), idempotency.KeyEntry{Seq: int64(n + 2)})
	}
	runtime.GC()
	if loaded.Value() != nil {
		t.Error("the loaded keys are still in memory after a merge")
	}
	runtime.KeepAlive(c)
}

// byteCountingJournal counts the bytes of the saved states by name.
type byteCountingJournal struct {
	journal.Journal
	bytes map[string]int
}

func (j byteCountingJournal) SaveState(id string, seq int64, state []byte) error {
	j.bytes[id] += len(state)
	return j.Journal.SaveState(id, seq, state)
}

// TestSave_BoundsBytesPerEvent checks a conversation that is reloaded after each save. It has all
// its keys after each load, and few events follow the saved state. The bytes saved under each name
// are at most savedPerEvent for each event and key.
func TestSave_BoundsBytesPerEvent(t *testing.T) {
	for _, c := range []struct {
		metadata int   // bytes
		keys     int   // of each event
		behind   int64 // the most events that may follow the saved state
	}{{10, 1, minUnsaved}, {64 << 10, 1, 80}, {10, 2, minUnsaved}} {
		t.Run(fmt.Sprint(c.metadata, " ", c.keys), func(t *testing.T) {
			events := 3000
			if testing.Short() {
				events = 200
			}
			j := byteCountingJournal{memory.New(), make(map[string]int)}
			saveAndReload(t, j, events, c.metadata, c.keys, c.behind)
			for name, n := range j.bytes {
				if per := n / events; n == 0 || per > c.keys*savedPerEvent {
					t.Errorf("%d bytes for each event under %q", per, name)
				}
			}
			if len(j.bytes) != 3 {
				t.Errorf("states are saved under %d names, want 3", len(j.bytes))
			}
		})
	}
}

// saveAndReload calls save after each event and reloads the conversation whenever its state was
// saved. It fails if more than behind events follow the saved state, or if a reloaded conversation
// lacks a key.
func saveAndReload(t *testing.T, j journal.Journal, events, metadata, keys int, behind int64) {
	e := &Engine{journal: j, log: slog.New(slog.DiscardHandler)}
	s, _ := sampleState(0)
	s.state.Metadata = bytes.Repeat([]byte("x"), metadata)
	c := &Conversation{engine: e, id: "x"}
	for n := range events {
		s.state.Seq = int64(n + 2)
		c.durable = s.state
		for i := range keys {
			c.keys.Put(numberedKey(keys*n+i), idempotency.KeyEntry{Seq: s.state.Seq, Turn: 1})
		}
		if err := c.save(false); err != nil {
			t.Fatal(err)
		}
		if s.state.Seq-c.savedSeq > behind {
			t.Fatalf("%d events follow the saved state after event %d", s.state.Seq-c.savedSeq, n)
		}
		if c.savedSeq < s.state.Seq {
			continue
		}
		if c = loadX(e); c.savedSeq != s.state.Seq {
			t.Fatalf("at %d: loaded as of %d", s.state.Seq, c.savedSeq)
		}
		for i := range keys * (n + 1) {
			if e, ok := c.keys.Find(numberedKey(i)); !ok || e.Seq != int64(i/keys+2) {
				t.Fatalf("key %d after %d: %+v %t", i, n, e, ok)
			}
		}
	}
}

// numberedKey returns key n of a sequence of distinct keys in scattered order.
func numberedKey(n int) (id idempotency.KeyID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

// TestPutBack_KeepsUseDuringSweep checks that a use of a conversation during a sweep counts, even
// if the sweeper puts the conversation back last.
func TestPutBack_KeepsUseDuringSweep(t *testing.T) {
	e := &Engine{unused: unused{maxLoaded: 1, maxBytes: 1 << 20}}
	s, _ := sampleState(0)
	c := &Conversation{engine: e, id: "x", head: s.state, index: inUse, pins: 1}
	old := time.Now()
	e.putBack(c, old)
	e.unused.take(c)
	c.pins++ // a caller uses it
	e.putBack(c, old.Add(time.Hour))
	e.putBack(c, time.Time{})
	if c.index == inUse || !c.usedAt.Equal(old.Add(time.Hour)) {
		t.Fatalf("used at %v, want an hour after %v", c.usedAt, old)
	}
}

// TestVictim_CyclicUseDoesNotThrash checks that most conversations are found in memory if they are
// used in turn and one in ten does not fit.
func TestVictim_CyclicUseDoesNotThrash(t *testing.T) {
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

// BenchmarkSaveAndLoad measures saving a conversation of 10,000 keys, with and without its settled
// keys, and loading it again.
func BenchmarkSaveAndLoad(b *testing.B) {
	const n = 10_000
	j := memory.New()
	s, keys := sampleState(n)
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
			if c := loadX(e); c.savedSeq != n+1 {
				b.Fatal("not loaded")
			}
		}
	})
}
