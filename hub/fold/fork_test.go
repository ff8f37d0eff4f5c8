package fold_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

const forkHash = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// TestForks checks forks of random conversations at every seq. The fork has the same bytes. Its state is that of the
// other one, except for the parts that begin again or belong to the other. Its guidance is the same, unless a turn was
// claimed or waited for an approval.
func TestForks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var stored [][]byte
		switch rapid.IntRange(0, 2).Draw(rt, "story") {
		case 0:
			c := &claimer{state: fold.State{ID: "cnv"}, now: 1_000_000, shown: map[int64]bool{}, hidden: map[int64]bool{},
				asked: questions{}}
			c.do(rt, c.drawCreate(rt))
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				c.now += parley.Timestamp(rapid.SampledFrom([]int64{0, 1, 60_000}).Draw(rt, "dt"))
				c.do(rt, c.draw(rt))
			}
			stored = c.stored
		case 1:
			w := &waker{state: fold.State{ID: "cnv"}, now: 1_000_000, seen: map[string]int{}}
			w.ledger.running = map[string]bool{}
			create := w.drawCreate(rt)
			w.ledger.params = *create.Do.(*fold.Create).Params
			w.do(rt, create)
			for range 40 {
				w.now += parley.Timestamp(rapid.SampledFrom([]int64{0, 1, 29_000}).Draw(rt, "dt"))
				w.do(rt, w.draw(rt))
			}
			stored = w.stored
		default:
			m := &machine{state: fold.State{ID: "cnv"}, now: 1_000_000}
			m.step(rt, m.drawCreate(rt))
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				m.now += parley.Timestamp(rapid.SampledFrom([]int64{0, 1, 7}).Draw(rt, "dt"))
				m.step(rt, m.draw(rt))
			}
			stored = m.stored
		}
		testFork(rt, stored)
	})
}

func testFork(rt *rapid.T, stored [][]byte) {
	last := len(stored)
	if e := decoded(rt, stored[last-1]); e.Closes() {
		last--
	}
	if last == 0 {
		return
	}
	seq := rapid.IntRange(1, last).Draw(rt, "seq")
	other := fold.State{ID: "cnv"}
	cmd := begin(rt, stored[:seq])
	for _, e := range cmd.Do.(*fold.Fork).Shared {
		other = applied(rt, other, e.Data)
	}
	cmd.Now = other.LastAt + 5
	d := fold.Decide(fold.State{ID: "fork"}, idempotency.Keys{}, cmd)
	if d.Err != nil {
		if seq < len(stored) && decoded(rt, stored[seq]).From == parley.HubID && len(d.Events) == 0 &&
			strings.Contains(d.Err.Error(), "has reached the limit") {
			return
		}
		rt.Fatalf("at %d of %d: %v", seq, len(stored), d.Err)
	}
	again, keys, kept := fold.State{ID: "fork"}, idempotency.Keys{}, idempotency.Keys{}
	for i := range d.Events {
		e := &d.Events[i]
		if i < seq && !bytes.Equal(e.Data, stored[i]) {
			rt.Fatalf("event %d is %s", i+1, e.Data)
		}
		loads(&kept, again.Claim, &e.Event)
		enter(&keys, e)
		again = applied(rt, again, e.Data)
	}
	if diff := cmp.Diff(d.State, again); diff != "" {
		rt.Fatalf("the fork read from its log differs:\n%s", diff)
	}
	if diff := cmp.Diff(collected(kept), collected(keys)); diff != "" {
		rt.Fatalf("the keys read from its log differ:\n%s", diff)
	}
	if diff := cmp.Diff(forked(other, &d, seq), d.State); diff != "" {
		rt.Fatalf("forked at %d, it is not as the other was (-want +got):\n%s", seq, diff)
	}
	if other.Claim != nil || other.AwaitsApproval() {
		return
	}
	for _, p := range append(slices.Clone(other.Participants), parley.Participant{ID: "nobody"}) {
		there, here := other.Guidance(p.ID, false), d.State.Guidance(p.ID, false)
		here.DeadlineMs = there.DeadlineMs
		if diff := cmp.Diff(there, here); diff != "" {
			rt.Fatalf("forked at %d, %s is told something else:\n%s", seq, p.ID, diff)
		}
	}
}

// forked is what a fork of a state is to be.
func forked(s fold.State, d *fold.Decision, seq int) fold.State {
	e := &d.Events[seq].Event
	s.ID, s.Seq, s.LastAt = "fork", d.State.Seq, e.At
	s.Fork = &parley.ForkRecord{ConversationID: "cnv", Seq: int64(seq), Hash: forkHash}
	s.CreatedBy, s.CreatedAt, s.CreateKey, s.ParamsHash, s.Title = "forker", e.At, "key", "digest", "another"
	s.ActiveAt, s.FloorSeq, s.FloorSince, s.FloorAt = e.At, e.Seq, e.At, e.At
	s.Children, s.Callbacks, s.Approvals, s.Lender = nil, nil, nil, ""
	s.Traceparent, s.WakeEvent.Traceparent, s.EndedTurn = "", "", nil
	var woken []fold.Match
	for _, w := range s.Matches {
		if w.ByTurn() {
			w.Traceparent = ""
			woken = append(woken, w)
		}
	}
	s.Matches = woken
	if c := s.Claim; c != nil { // what becomes of a claim that ends is for other tests
		s.Claim, s.Ended = nil, &fold.EndedClaim{Hash: c.Hash, Turn: c.Turn, AgentID: c.AgentID,
			Reason: parley.ClaimRestarted}
		s.Tries, s.Withdrawn, s.WordsFrom, s.Passed = d.State.Tries, d.State.Withdrawn, 0, d.State.Passed
		s.MessageSeq, s.MessageBy, s.OtherSeq = d.State.MessageSeq, d.State.MessageBy, d.State.OtherSeq
	}
	return s
}

// begin is a command that forks the conversation cnv after some events.
func begin(t fataler, stored [][]byte) fold.Command {
	fork := &fold.Fork{
		Record: parley.ForkRecord{ConversationID: "cnv", Seq: int64(len(stored)), Hash: forkHash}, Title: "another",
		Digest: "digest",
	}
	for _, data := range stored {
		fork.Shared = append(fork.Shared, eventdata.Shared{Event: decoded(t, data), Data: data})
	}
	return fold.Command{Do: fork, From: "forker", Key: "key"}
}

type fataler interface {
	Fatal(...any)
}

func decoded(t fataler, data []byte) parley.Event {
	var e parley.Event
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func applied(t fataler, s fold.State, data []byte) fold.State {
	e := decoded(t, data)
	next, err := s.Apply(&e, len(data))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// loads adds the keys of an event, as a hub does that reads the log. claim is the current claim before it.
func loads(keys *idempotency.Keys, claim *fold.Claim, e *parley.Event) {
	var under *eventdata.ClaimHash
	if claim != nil && claim.AgentID == e.From {
		under = &claim.Hash
	}
	ids, entry := idempotency.KeysOf(e, under)
	for _, id := range ids {
		keys.Put(id, entry)
	}
}

func collected(k idempotency.Keys) map[idempotency.KeyID]idempotency.KeyEntry {
	all := map[idempotency.KeyID]idempotency.KeyEntry{}
	for id, e := range k.All() {
		all[id] = e
	}
	return all
}
