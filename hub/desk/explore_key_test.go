package desk

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// key identifies a state. It has everything that decides what may happen next: no seq and no time,
// but which of them are equal.
func (x *explorer) key(w *world) [16]byte {
	k := keyer{b: x.buffer[:0]}
	k.state(&w.head.state)
	k.keys(w.head)
	for h := range w.hubs {
		k.memory(w, &w.hubs[h])
	}
	for i := range w.reps {
		k.replica(&w.reps[i])
		k.bit(w.stands(&w.reps[i]))
	}
	for _, c := range w.copies {
		k.num(int(c.hub), int(c.from), int(c.attempt))
		k.action(c.command.Do)
		k.str(c.command.Key)
		k.bit(c.command.Named != nil)
		if c.command.Named != nil {
			k.hash(*c.command.Named)
		}
	}
	for _, o := range w.own {
		k.num(int(o.hub))
		k.action(o.command.Do)
	}
	f := &w.facts
	k.num(int(f.ended), int(f.holder), int(f.tag), int(f.claims), int(f.renewed))
	k.bit(f.claimed, f.pending)
	k.hash(f.claim)
	for _, x := range f.words {
		k.num(int(x.tag))
		k.bit(x.hidden)
	}
	k.num(int(w.crashes), int(w.drops), int(w.deaths), int(w.lates), int(w.repeats))
	x.buffer = k.b
	h := fnv.New128a()
	h.Write(k.b)
	return [16]byte(h.Sum(nil))
}

// action adds what an action asks for.
func (k *keyer) action(do fold.Action) {
	var n *fold.NewClaim
	switch a := do.(type) {
	case *fold.Message:
		k.num(1, int(a.Turn), len(a.Finality))
		n = &a.NewClaim
	case *fold.Take:
		k.num(2, int(a.Turn))
		k.bit(a.Offered)
		n = &a.NewClaim
	case *fold.Renew:
		k.num(3)
	case *fold.Release:
		k.num(4)
		k.str(string(a.Reason))
	case *fold.RequestApproval:
		k.num(5)
	case *fold.EndClaim:
		k.num(6)
		k.str(string(a.Reason))
	case *fold.Timeout:
		k.num(7)
		k.str(a.AgentID)
		k.bit(a.Asked)
	default:
		panic(fmt.Sprintf("no key for a %T", do))
	}
	if n != nil {
		k.bit(n.Others)
		k.hash(n.New)
	}
}

// stale reports whether a hub's own command can do nothing any more.
func (w *world) stale(o sent) bool {
	s, c := &w.head.state, &o.command
	renewed := int64(0)
	switch a := c.Do.(type) {
	case *fold.Timeout:
		return !slices.ContainsFunc(s.Asks(), func(k fold.Ask) bool { return k.AgentID == a.AgentID && k.Since == a.Since })
	case *fold.EndClaim:
		renewed = a.RenewedSeq
	case *fold.Renew:
		renewed = a.RenewedSeq
	}
	return s.Claim == nil || s.Claim.Hash != *c.Named || renewed != 0 && s.Claim.RenewedSeq != renewed
}

type keyer struct{ b []byte }

func (k *keyer) num(n ...int) {
	for _, v := range n {
		k.b = binary.AppendVarint(k.b, int64(v))
	}
}

func (k *keyer) bit(bits ...bool) {
	for _, v := range bits {
		if v {
			k.b = append(k.b, 1)
		} else {
			k.b = append(k.b, 0)
		}
	}
}

func (k *keyer) str(s string)               { k.b = append(append(k.b, s...), 0) }
func (k *keyer) hash(h eventdata.ClaimHash) { k.b = append(k.b, h[:4]...) }

func (k *keyer) state(s *fold.State) {
	k.bit(s.Closed(), s.Open, s.WordsFrom != 0)
	k.num(int(s.Turn), int(s.Turns), int(s.Autonomous))
	k.str(s.Owner)
	k.str(s.LastOwner)
	k.str(s.LastSpeaker)
	for _, p := range s.Passed {
		k.str(p)
	}
	for _, x := range s.Activities {
		k.str(x.ExecutorID)
	}
	k.claim(s.Claim)
	for _, a := range s.Approvals {
		if a.Turn == s.CurrentTurn() {
			k.str(string(a.Status))
		}
	}
	tries := slices.Clone(s.Tries)
	slices.SortFunc(tries, func(a, b fold.Try) int { return compareStrings(a.AgentID, b.AgentID) })
	for _, t := range tries {
		k.str(t.AgentID)
		k.num(t.Attempts, min(t.Reoffers, 1))
		ended := slices.Clone(t.Ended)
		slices.SortFunc(ended, func(a, b fold.ExecutorEnds) int { return compareStrings(a.ExecutorID, b.ExecutorID) })
		for _, e := range ended {
			k.str(e.ExecutorID)
			k.num(e.Claims)
		}
		used := make([]string, len(t.Used))
		for i := range t.Used {
			used[i] = string(t.Used[i][:4])
		}
		slices.Sort(used)
		for _, u := range used {
			k.str(u)
		}
	}
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (k *keyer) claim(c *fold.Claim) {
	k.bit(c != nil)
	if c == nil {
		return
	}
	k.hash(c.Hash)
	k.str(c.ExecutorID)
	k.num(c.Attempt, int(c.DurationMs), int(c.GraceMs))
	k.bit(c.RenewedSeq != c.Seq)
}

// keys are those that may still be used: of this turn, or of the past one.
func (k *keyer) keys(s *snapshot) {
	entries := make([]string, 0, 8)
	for id, e := range s.keys.All() {
		gone := "-"
		if s.state.IsWithdrawn(e.Seq) {
			gone = "w"
		}
		entries = append(entries, string(id[:4])+gone+string(rune(e.Turn)))
	}
	slices.Sort(entries)
	for _, e := range entries {
		k.str(e)
	}
}

func (k *keyer) memory(w *world, m *memory) {
	view, head := &m.view.state, &w.head.state
	if m.view != w.head {
		k.bit(true, view.FloorSeq == head.FloorSeq, view.Claim != nil && head.Claim != nil &&
			view.Claim.RenewedSeq == head.Claim.RenewedSeq)
		k.bit(slices.EqualFunc(view.Asks(), head.Asks(), func(a, b fold.Ask) bool { return a.Since == b.Since }))
		k.state(view)
		k.keys(m.view)
	}
	k.hash(m.watch)
	k.num(int(m.holder))
	d := &m.desk
	k.bit(d.claim != nil)
	if c := d.claim; c != nil {
		k.claim(&c.Claim)
		k.num(int(now - c.taken))
		k.bit(c.told, c.lost != 0, c.here, c.revived, c.waits)
	}
	for _, a := range d.asks {
		k.str(a.AgentID)
		k.num(min(a.rounds, 1))
		k.bit(a.told, a.next > now)
		asked := slices.Clone(a.asked)
		slices.Sort(asked)
		for _, x := range asked {
			k.str(x)
		}
	}
	for _, o := range d.offers {
		k.hash(o.Hash)
		k.str(o.Executor)
		k.num(int(o.Turn))
	}
}

func (k *keyer) replica(r *replica) {
	k.num(int(r.kind), int(r.hub), int(r.attempt))
	k.bit(r.gone, r.offered, r.late, r.works, r.said, r.asked, r.read, r.fresh)
	if r.offered {
		k.hash(r.offer)
	}
	if r.works || r.read || r.offered {
		k.num(int(r.turn))
	}
	k.hash(r.claim)
}

// finished reports whether a scenario is at its end.
func (x *explorer) finished(w *world) bool {
	return w.head.state.Closed() || w.facts.ended >= x.turns || w.head.state.Status == parley.StatusClosed
}
