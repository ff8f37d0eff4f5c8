package desk

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// mint makes the id of a claim. It reuses ids that no part of the world remembers, because the
// number of states must be finite.
func (w *world) mint(turn int64) string {
	for n := 0; ; n++ {
		id := eventdata.ClaimID(turn, fmt.Sprint(n))
		if !w.used(eventdata.HashClaim(id)) {
			return id
		}
	}
}

// decide lets hub h decide a command as a hub does: on the head, and again when the head has moved. from is the replica that calls, or -1.
func (x *explorer) decide(w *world, h, from int, c fold.Command) *fold.Decision {
	c.Now = max(c.Now, now)
	if from >= 0 {
		c.Executor = fold.Executor{ID: name(from)}
	}
	if x.behind(w, h) && !x.without.reading {
		x.saw(w, h, -1)
	}
	view := w.hubs[h].view
	d := fold.Decide(view.state, view.keys, c)
	if len(d.Events) > 0 && view != w.head {
		if x.without.recheck {
			d = x.blindly(w, d)
		} else {
			x.saw(w, h, -1)
			d = fold.Decide(w.head.state, w.head.keys, c)
		}
	}
	if errors.Is(d.Err, parley.ErrInternal) {
		w.violate("the hub would write what it would not read")
	}
	if len(d.Events) == 0 {
		return &d
	}
	before := w.head
	x.refold(w, before, &d)
	for i := range d.Events {
		w.read(&d.Events[i].Event, from, before)
	}
	w.head = before.with(&d)
	w.compareWords()
	w.forgetUsed()
	takes := -1
	if d.Claimed {
		takes = from
	}
	x.saw(w, h, takes)
	return &d
}

// blindly does what a hub must not do: it renumbers what it decided before.
func (x *explorer) blindly(w *world, d fold.Decision) fold.Decision {
	s := w.head.state
	for i := range d.Events {
		e := d.Events[i].Event
		e.Seq = s.Seq + 1
		next, err := s.Apply(&e, 1)
		if err != nil {
			w.violate("a log that no hub writes: " + err.Error())
			return fold.Decision{State: w.head.state, Err: parley.ErrInternal}
		}
		s = next
		d.Events[i].Event = e
		d.Events[i].Data = eventdata.AppendEvent(nil, &e)
	}
	d.State = s
	return d
}

// refold holds the state of a decision against that of its events as they are stored.
func (x *explorer) refold(w *world, before *snapshot, d *fold.Decision) {
	s := before.state
	for i := range d.Events {
		var e parley.Event
		if err := json.Unmarshal(d.Events[i].Data, &e); err != nil {
			w.violate(err.Error())
			return
		}
		next, err := s.Apply(&e, len(d.Events[i].Data))
		if err != nil {
			w.violate("the log does not fold: " + err.Error())
			return
		}
		s = next
	}
	if x.without.recheck { // records that were written blindly were counted differently
		return
	}
	if !reflect.DeepEqual(s, d.State) {
		w.violate("the state of a decision is not that of its events")
	}
	for _, id := range []string{agent, "b"} {
		if !reflect.DeepEqual(s.Guidance(id, false), d.State.Guidance(id, false)) {
			w.violate("guidance differs after a refold")
		}
	}
}

func (w *world) violate(what string) {
	if w.bad == "" {
		w.bad = what
	}
}

// read holds an event against the facts before it. It knows no fold.
func (w *world) read(e *parley.Event, from int, before *snapshot) {
	f := &w.facts
	if e.Type == parley.TypeMessage {
		w.readMessage(e, from, before)
		return
	}
	sys, err := e.System()
	if err != nil {
		w.violate(err.Error())
		return
	}
	switch sys.Kind {
	case parley.KindTurnClaimed:
		if f.claimed {
			w.violate("two current claims")
		}
		if f.pending {
			w.violate("a turn that waits for an approval is claimed")
		}
		h, _ := eventdata.ParseClaimHash(sys.ClaimHash)
		f.claims = f.claims%6 + 1
		f.claimed, f.claim, f.holder, f.tag, f.renewed = true, h, int8(from), f.claims, 0
		if from >= 0 {
			w.reps[from].fresh = true
		}
	case parley.KindClaimRenewed:
		if !f.claimed || f.claim.String() != sys.ClaimHash {
			w.violate("a renewal of a claim that is not current")
		}
		f.renewed ^= 1
	case parley.KindApprovalRequested, parley.KindApprovalResolved:
		w.readApproval(&sys)
	case parley.KindClaimEnded:
		w.readClaimEnded(&sys)
	case parley.KindTurnEnded:
		if sys.Detail == parley.ReasonAttempts {
			w.givenUp(before)
		}
		w.readTurnEnd(sys.Turn)
	}
}

func (w *world) readMessage(e *parley.Event, from int, before *snapshot) {
	f := &w.facts
	if e.Turn <= f.ended {
		w.violate(fmt.Sprintf("a message in turn %d, which has ended", e.Turn))
	}
	if e.From == parley.HubID {
		if e.Outcome != nil && e.Outcome.Reason == parley.ReasonAttempts {
			w.givenUp(before)
		}
		f.claimed = false
		return
	}
	tag := uint8(200)
	switch {
	case from >= 0 && f.claimed:
		tag = f.tag
	case from >= 0:
		tag = 100 + uint8(from)
	}
	if f.pending && !f.claimed {
		w.violate("somebody speaks in a turn that waits for an approval, without a claim")
	}
	f.words = append(f.words, word{seq: e.Seq, tag: tag})
	if !e.Finality.Final() {
		return
	}
	for _, x := range f.words {
		if !x.hidden && x.tag != tag {
			w.violate("a turn shows the words of two attempts")
		}
	}
	w.readTurnEnd(e.Turn)
}

// readTurnEnd is the end of a turn: of its claim, its words, and whatever was tried.
func (w *world) readTurnEnd(turn int64) {
	if turn <= w.facts.ended {
		w.violate(fmt.Sprintf("turn %d ends twice", turn))
	}
	w.facts = facts{ended: turn, holder: -1, words: w.facts.words[:0:0]}
	for i := range w.reps {
		w.reps[i].fresh = false
	}
}

func (w *world) readClaimEnded(sys *parley.System) {
	f := &w.facts
	if !f.claimed || f.claim.String() != sys.ClaimHash {
		w.violate("the end of a claim that is not current")
		return
	}
	if f.pending && sys.Reason == string(parley.ClaimExpired) {
		w.violate("the claim of a turn that waits for an approval has expired")
	}
	if f.holder >= 0 && !w.races && sys.Reason == string(parley.ClaimDisconnected) {
		if r := &w.reps[f.holder]; !r.gone && r.hub >= 0 && r.works && w.stands(r) {
			w.violate("the claim of a replica that is connected has ended as disconnected")
		}
	}
	if i := w.worker(); i >= 0 && sys.Reason == string(parley.ClaimExpired) &&
		w.head.state.Claim.DurationMs == sharedGraceMs {
		w.violate("a claim that was made short has ended though its holder is connected")
	}
	for i := range f.words {
		x := &f.words[i]
		if x.hidden || sys.ResetFrom == 0 || x.seq < sys.ResetFrom {
			continue
		}
		x.hidden = true
		if x.tag != f.tag {
			w.violate("the end of a claim hides the words of another")
		}
	}
	if parley.ClaimEnd(sys.Reason).IsAttempt() && attempts(&w.head.state) == 0 {
		for i := range w.reps {
			w.reps[i].fresh = false
		}
	}
	f.claimed, f.holder = false, -1
}

// attempts of agent a in the current turn.
func attempts(s *fold.State) int {
	for _, t := range s.Tries {
		if t.AgentID == agent {
			return t.Attempts
		}
	}
	return 0
}

// givenUp holds the end of a turn whose attempts are used up against who was asked.
func (w *world) givenUp(before *snapshot) {
	if w.upset || len(w.hubs) > 1 {
		return
	}
	for i, r := range w.reps {
		if r.kind != good || r.hub < 0 || r.fresh || r.works {
			continue
		}
		for _, t := range before.state.Tries {
			last := before.state.Claim
			if t.AgentID == agent && last != nil && fold.CountEnded(t.Ended, last.ExecutorID) > 0 &&
				fold.CountEnded(t.Ended, name(i)) == 0 {
				w.violate("the attempts are used up, and a good replica was not asked again")
			}
		}
	}
}

// compareWords holds what is withdrawn against what the events say.
func (w *world) compareWords() {
	for _, x := range w.facts.words {
		if w.head.state.IsWithdrawn(x.seq) != x.hidden {
			w.violate("the fold hides other words than the log")
		}
	}
	w.facts.words = slices.DeleteFunc(w.facts.words, func(x word) bool { return x.hidden })
}

// call lets replica i call its hub and holds the answer against what it must be. On claims that it names it is in an attempt.
func (x *explorer) call(w *world, i, h int, attempt uint8, c fold.Command, isCopy bool) *fold.Decision {
	spoken := w.facts // as they were decided on
	d := x.decide(w, h, i, c)
	said, speech := c.Do.(*fold.Message)
	_, renews := c.Do.(*fold.Renew)
	_, takes := c.Do.(*fold.Take)
	ok := d.Err == nil
	current := c.Named != nil && spoken.claimed && spoken.claim == *c.Named && spoken.tag == attempt
	switch {
	case ok && speech && !d.Duplicate && c.Named != nil && !current:
		w.violate("words under a claim that does not stand")
	case ok && speech && said.Turn > 0 && d.Turn != said.Turn:
		w.violate("words in another turn than they are for")
	case ok && speech && w.reps[i].read && d.Turn != w.reps[i].turn && !isCopy:
		w.violate("an answer in another turn than it is for")
	case ok && speech && current && w.hidden(d.Seq):
		w.violate("words that nobody sees were acknowledged")
	case ok && renews && c.HeldMs+d.State.Limits.TurnTimeout() <= d.State.Limits.MaxClaim() && len(d.Events) == 0:
		w.violate("a renewal that is not in the log was acknowledged")
	case errors.Is(d.Err, parley.ErrClaimLost) && current && !isCopy && !takes:
		w.violate("the holder of a claim is told that it has lost it")
	}
	return d
}

// hidden reports whether the fold hides an event, or it does not belong to the current attempt.
func (w *world) hidden(seq int64) bool { return w.head.state.IsWithdrawn(seq) }
