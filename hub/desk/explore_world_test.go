package desk

// The exploration is inside the package: it copies desks, and lets any of their timers end.

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// kind is how the replica of an agent behaves.
type kind uint8

const (
	good      kind = iota // takes what is offered, says something, ends the turn
	dead                  // is connected, and does nothing
	hang                  // takes the turn, says something, and stops
	mute                  // takes the turn, and stops
	renewer               // takes the turn and does nothing but renew
	decliner              // sends a message and releases the turn
	yielder               // says something and yields
	slow                  // takes an offer only after the next one was made
	restarter             // sends a message, restarts without its memory, and is healthy from then on
	asker                 // says something, asks for an approval, and ends the turn when that is resolved
	puller                // is never asked: speaks when guidance says that it may
	taker                 // is never asked: takes the turn by its number
	pullDies              // speaks like puller, and restarts after each message
	oneShot               // is never asked: reads that it may speak, thinks, and says one final message without a claim
)

func (k kind) push() bool { return k < puller }

// healthy reports whether a replica is late only when it is allowed to be.
func (k kind) healthy() bool {
	switch k {
	case good, decliner, yielder, restarter, asker, puller, taker, oneShot:
		return true
	}
	return false
}

// snapshot is what a hub has read of the log. It does not change.
type snapshot struct {
	state fold.State
	keys  idempotency.Keys
}

// memory is what a hub does not keep in the log.
type memory struct {
	view   *snapshot
	desk   Desk
	watch  eventdata.ClaimHash // the claim that the desk watches
	holder int8                // the replica that holds it here, or -1
}

// replica is a process that runs agent a.
type replica struct {
	kind kind
	gone bool
	hub  int8 // to which it is connected, or -1

	offered bool // it was asked, and has not answered
	late    bool // others were asked since
	offer   eventdata.ClaimHash
	turn    int64 // of the offer, or of its work, or that it has read

	works   bool
	claim   eventdata.ClaimHash
	attempt uint8 // that it believes to be in
	said    bool
	asked   bool // for its approval
	read    bool

	fresh bool // it was asked after the end of the first attempt of the turn
}

// sent is a copy of a call that is still on its way.
type sent struct {
	hub, from int8
	attempt   uint8
	command   fold.Command
}

// word is a message of the current turn, by the attempt that said it.
type word struct {
	seq    int64
	tag    uint8
	hidden bool
}

// facts are what the events say, read without the fold.
type facts struct {
	ended   int64 // the last turn that ended
	claimed bool
	claim   eventdata.ClaimHash
	holder  int8
	tag     uint8 // of the current attempt: the number of claims of the turn so far
	claims  uint8
	renewed uint8
	words   []word
	pending bool // the approval of the turn
}

// world is a state of everything.
type world struct {
	head   *snapshot
	hubs   []memory
	reps   []replica
	copies []sent
	own    []sent // commands of the hubs that are not decided yet
	facts  facts

	crashes, drops, deaths, lates, repeats int8

	races bool // a hub may end a claim whose holder comes back meanwhile
	upset bool // there was a fault that takes replicas from hubs

	bad string // the violated rule
}

func (w *world) clone() *world {
	n := *w
	n.hubs = slices.Clone(w.hubs)
	for i := range n.hubs {
		n.hubs[i].desk = n.hubs[i].desk.clone()
	}
	n.reps = slices.Clone(w.reps)
	n.copies = slices.Clone(w.copies)
	n.own = slices.Clone(w.own)
	n.facts.words = slices.Clone(w.facts.words)
	return &n
}

func (d Desk) clone() Desk {
	if d.claim != nil {
		c := *d.claim
		d.claim = &c
	}
	d.asks = slices.Clone(d.asks)
	for i := range d.asks {
		d.asks[i].asked = slices.Clone(d.asks[i].asked)
	}
	d.offers = slices.Clone(d.offers)
	return d
}

// with returns the snapshot after events.
func (s *snapshot) with(d *fold.Decision) *snapshot {
	keys := s.keys.Clone()
	for i := range d.Events {
		ids, entry := idempotency.KeysOf(&d.Events[i].Event, d.Events[i].Claim)
		for _, id := range ids {
			keys.Put(id, entry)
		}
	}
	return &snapshot{d.State, keys}
}

// now is when everything happens: what passes is not time but timers, one at a time, in any order.
const now = 1_000_000_000

const agent = "a"

// name of a replica as an executor.
func name(i int) string { return "r" + string(rune('1'+i)) }

// executors are those that hub h may ask.
func (w *world) executors(h int) []Executor {
	var all []Executor
	for i, r := range w.reps {
		if !r.gone && r.kind.push() && int(r.hub) == h {
			all = append(all, Executor{Key: name(i), ID: name(i)})
		}
	}
	return all
}

func (x *explorer) step(w *world, h int, later bool) {
	hub := &w.hubs[h]
	todo := hub.desk.Step(World{
		Now: now, Later: later, Shared: len(w.hubs) > 1,
		Executors: func(a *fold.Ask) []Executor {
			name := a.Agent
			if name != agent {
				return nil
			}
			return w.executors(h)
		},
		Mint: func(turn int64) (string, eventdata.ClaimHash) {
			id := w.mint(turn)
			return id, eventdata.HashClaim(id)
		},
	})
	for _, r := range todo.Requests {
		w.deliver(h, &r)
	}
	for _, c := range todo.Commands {
		if x.deferred {
			w.own = append(w.own, sent{hub: int8(h), from: -1, command: c})
			continue
		}
		x.decide(w, h, -1, c)
	}
}

// deliver delivers a request to its executor. It drops state that is not used again, so that the
// number of states is finite.
func (w *world) deliver(h int, r *Request) {
	for i := range w.reps {
		p := &w.reps[i]
		if int(p.hub) != h {
			continue
		}
		if name(i) == r.Executor {
			p.fresh = true
			if p.kind == slow && p.offered {
				p.late = true
				continue
			}
			p.offered, p.late, p.offer = true, false, eventdata.HashClaim(r.ClaimID)
			if !p.works {
				p.turn = r.Turn
			}
			continue
		}
		p.late = p.offered
	}
	if w.facts.pending && w.hubs[h].view == w.head {
		w.violate("a turn that waits for an approval is offered")
	}
	w.prune()
}

// prune drops the offers that no replica remembers, except for the last.
func (w *world) prune() {
	for h := range w.hubs {
		d := &w.hubs[h].desk
		last := len(d.offers) - 1
		kept := make([]Offer, 0, len(d.offers))
		for i, o := range d.offers {
			if i == last || w.remembered(o.Hash) {
				kept = append(kept, o)
			}
		}
		d.offers = kept
	}
}

func (w *world) remembered(h eventdata.ClaimHash) bool {
	for _, r := range w.reps {
		if r.offered && r.offer == h || r.works && r.claim == h {
			return true
		}
	}
	return slices.ContainsFunc(w.copies, func(s sent) bool {
		n := s.command.NewClaim()
		return s.command.Named != nil && *s.command.Named == h || n != nil && n.New == h
	})
}

// forgetUsed drops the ids of ended claims that no replica remembers. They may be used again, so
// that the number of states is finite.
func (w *world) forgetUsed() {
	tries := slices.Clone(w.head.state.Tries)
	for i := range tries {
		var used []eventdata.ClaimHash
		for _, h := range tries[i].Used {
			if w.remembered(h) || w.offering(h) {
				used = append(used, h)
				continue
			}
			for _, key := range []string{"p", "f", "late", "p r1 1", "p r1 2", "p r1 3", "p r2 1", "p r2 2", "p r2 3"} {
				if ids, _ := idempotency.KeysOf(&parley.Event{Seq: 2, From: agent, ClientRequestID: key}, &h); len(ids) > 1 {
					w.head.keys.Delete(ids[1])
				}
			}
		}
		tries[i].Used = used
	}
	w.head.state.Tries = tries
}

// offering reports whether a desk remembers an offer.
func (w *world) offering(h eventdata.ClaimHash) bool {
	for i := range w.hubs {
		if slices.ContainsFunc(w.hubs[i].desk.offers, func(o Offer) bool { return o.Hash == h }) {
			return true
		}
	}
	return false
}

// used reports whether an id means something to anybody.
func (w *world) used(h eventdata.ClaimHash) bool {
	if w.remembered(h) || w.head.state.Claim != nil && w.head.state.Claim.Hash == h {
		return true
	}
	for _, t := range w.head.state.Tries {
		if slices.Contains(t.Used, h) {
			return true
		}
	}
	return w.offering(h)
}

// saw shows the log to hub h.
func (x *explorer) saw(w *world, h int, takes int) {
	hub := &w.hubs[h]
	hub.view = w.head
	hub.desk.Saw(now, &w.head.state)
	c, stands := hub.desk.Claim()
	switch {
	case !stands:
		hub.holder, hub.watch = -1, eventdata.ClaimHash{}
	case c.Hash != hub.watch || takes >= 0:
		hub.watch, hub.holder = c.Hash, int8(takes)
		switch {
		case takes >= 0:
			hub.desk.Found(c.Hash)
		case len(w.hubs) == 1: // else another hub may have the holder
			hub.desk.Lost(now, c.Hash)
		}
	}
	x.step(w, h, true)
	w.prune()
}

// register connects replica i to hub h. It shows the claim that it holds, if any, and the hub ends others of it.
func (x *explorer) register(w *world, i, h int) {
	if x.behind(w, h) && !x.without.reading {
		x.saw(w, h, -1)
	}
	r, hub := &w.reps[i], &w.hubs[h]
	r.hub = int8(h)
	c, stands := hub.desk.Claim()
	switch {
	case !stands || c.ExecutorID != name(i):
	case r.works && r.claim == c.Hash:
		hub.holder = int8(i)
		hub.desk.Found(c.Hash)
	default:
		x.decide(w, h, -1, fold.Command{Do: &fold.EndClaim{Reason: parley.ClaimDisconnected}, From: parley.HubID, Named: &c.Hash})
	}
	if r.works && !w.stands(r) {
		r.forget()
	}
	x.step(w, h, true)
}

func (r *replica) forget() {
	r.works, r.said, r.asked, r.read, r.claim, r.attempt = false, false, false, false, eventdata.ClaimHash{}, 0
}

// stands reports whether the claim that a replica believes to hold is current.
func (w *world) stands(r *replica) bool {
	return w.facts.claimed && w.facts.claim == r.claim && w.facts.tag == r.attempt
}

// disconnect takes replica i off its hub.
func (x *explorer) disconnect(w *world, i int) {
	r := &w.reps[i]
	if r.hub < 0 {
		return
	}
	h := int(r.hub)
	hub := &w.hubs[h]
	r.hub, r.offered, r.late = -1, false, false
	if int(hub.holder) == i {
		hub.holder = -1
		hub.desk.Lost(now, hub.watch)
	}
	w.prune()
}

func (x *explorer) behind(w *world, h int) bool { return w.hubs[h].view != w.head }
