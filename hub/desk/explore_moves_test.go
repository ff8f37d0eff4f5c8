package desk

import (
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
)

// move is a thing that may happen next. Those with the same label are one action: if it could happen all the time, it happens. A fault need never happen.
type move struct {
	label uint8
	fault bool
	name  string
	do    func(w *world)
}

// Labels: eight for each replica, then eight for each hub, then b's.
const (
	actTake = iota
	actSpeak
	actRelease
	actRenew
	actConnect
	actBegin
	actAsk
)

const (
	tickDeadline = iota // one for each of two renewals in turn: a renewal puts the deadline off
	tickDeadlineToo
	tickGrace
	tickNext
	tickTimeout
	actCatchUp
	actRevive
)

const (
	labelHubs = 24
	labelB    = 48
)

func text(s string) json.RawMessage { return json.RawMessage(`{"text":"` + s + `"}`) }

// moves are all that may happen next in w.
func (x *explorer) moves(w *world) []move {
	var all []move
	for i := range w.reps {
		all = x.ofReplica(all, w, i)
	}
	for h := range w.hubs {
		all = x.ofHub(all, w, h)
	}
	if w.head.state.MaySpeak("b") && !x.silent {
		all = append(all, move{labelB, false, "b answers", func(w *world) {
			x.decide(w, 0, -1, fold.Command{From: "b",
				Do: &fold.Message{Turn: w.head.state.CurrentTurn(), Finality: parley.FinalityTurn, Payload: text("b")}})
		}})
	}
	all = x.ofApproval(all, w)
	for k := range w.copies {
		all = append(all, move{63, true, fmt.Sprintf("a copy of a call of %s comes", name(int(w.copies[k].from))), func(w *world) {
			s := w.copies[k]
			w.copies = append(w.copies[:k:k], w.copies[k+1:]...)
			if s.command.Named == nil {
				s.command.Do = x.withNewClaim(w, int(s.hub), s.command.Do)
			}
			x.call(w, int(s.from), int(s.hub), s.attempt, s.command, true)
			w.prune()
		}})
	}
	for k := range w.own {
		all = append(all, move{labelB + 1 + uint8(k), false, "a hub writes what it had decided", func(w *world) {
			s := w.own[k]
			w.own = append(w.own[:k:k], w.own[k+1:]...)
			x.decide(w, int(s.hub), -1, s.command)
		}})
	}
	return all
}

func (x *explorer) ofReplica(all []move, w *world, i int) []move {
	r := &w.reps[i]
	if r.gone {
		return all
	}
	add := func(act uint8, fault bool, what string, do func(w *world)) {
		all = append(all, move{uint8(i)*8 + act, fault, name(i) + " " + what, do})
	}
	if r.hub < 0 {
		for h := range w.hubs {
			add(actConnect, false, fmt.Sprintf("connects to hub %d", h), func(w *world) { x.register(w, i, h) })
		}
		return all
	}
	if w.drops > 0 {
		add(7, true, "loses its connection", func(w *world) { w.drops--; w.upset = true; x.disconnect(w, i) })
	}
	if w.drops > 0 && w.facts.holder == int8(i) && r.works {
		add(7, true, "is back on a new connection before the old one has ended",
			func(w *world) { w.drops--; w.upset = true; x.halfOpen(w, i) })
	}
	if w.deaths > 0 && r.kind != dead {
		add(7, true, "dies", func(w *world) {
			w.deaths--
			w.upset = true
			x.disconnect(w, i)
			w.reps[i].forget()
			w.reps[i].gone = true
		})
	}
	switch {
	case r.works:
		return x.ofWork(all, w, i)
	case r.offered && r.kind != dead && (r.kind != slow || r.late):
		x.addCalls(w, &all, i, actTake, "takes the offer", x.takeOffer)
	}
	if !r.kind.push() && w.head.state.MaySpeak(agent) && w.head.state.Claim == nil && !r.read {
		x.addPulls(w, &all, i)
	}
	if r.read {
		x.addCalls(w, &all, i, actSpeak, "says what it has thought", func(w *world, i int) call {
			c := say(parley.FinalityTurn, fmt.Sprintf("one %s %d", name(i), w.reps[i].turn))
			if !x.without.turnless {
				c.Do.(*fold.Message).Turn = w.reps[i].turn
			}
			return call{c, func(w *world, i int, _ *fold.Decision) { w.reps[i].forget() }}
		})
	}
	return all
}

// call is a call of a replica, and what it makes of the answer.
type call struct {
	command fold.Command
	answer  func(w *world, i int, d *fold.Decision)
}

// addCalls adds a call in all ways in which it can go: well; with a copy of it that comes later; with its answer lost, so that it is made again.
func (x *explorer) addCalls(w *world, all *[]move, i int, act uint8, what string, make func(w *world, i int) call) {
	do := func(w *world, lost, twice bool) {
		r := &w.reps[i]
		c := make(w, i)
		h := int(r.hub)
		if twice {
			w.copies = append(w.copies, sent{int8(h), int8(i), r.attempt, c.command})
		}
		d := x.call(w, i, h, r.attempt, c.command, false)
		if !lost {
			c.answer(w, i, d)
		}
		w.prune()
	}
	label := uint8(i)*8 + act
	*all = append(*all, move{label, false, name(i) + " " + what, func(w *world) { do(w, false, false) }})
	if w.repeats > 0 {
		*all = append(*all,
			move{label, true, name(i) + " " + what + ", and a copy is on its way",
				func(w *world) { w.repeats--; do(w, false, true) }},
			move{label, true, name(i) + " " + what + ", and the answer is lost",
				func(w *world) { w.repeats--; do(w, true, false) }})
	}
}

func (x *explorer) takeOffer(w *world, i int) call {
	r := w.reps[i]
	id := r.offer
	turn := r.turn
	o, ok := w.hubs[r.hub].desk.Offered(id)
	if ok {
		turn = o.Turn
	}
	c := fold.Command{
		Do: &fold.Take{Turn: turn, Offered: ok && o.Executor == name(i),
			NewClaim: fold.NewClaim{New: id, GraceMs: limits.DefaultGraceMs}},
		From: agent, Named: &id,
	}
	return call{c, func(w *world, i int, d *fold.Decision) {
		r := &w.reps[i]
		r.offered, r.late = false, false
		if d.Err == nil {
			r.begin(w, d)
		}
	}}
}

func (r *replica) begin(w *world, d *fold.Decision) {
	r.works, r.said, r.asked, r.read = true, false, false, false
	r.claim, r.turn, r.attempt = d.Claim.Hash, d.Claim.Turn, w.facts.tag
}

func say(f parley.Finality, key string) fold.Command {
	return fold.Command{Do: &fold.Message{Finality: f, Payload: text(key)}, From: agent, Key: key}
}

// addPulls is what replicas do that are never asked.
func (x *explorer) addPulls(w *world, all *[]move, i int) {
	mint := func(w *world, turn *int64, n *fold.NewClaim) {
		*turn = w.head.state.CurrentTurn()
		x.mayTake(w, int(w.reps[i].hub), n)
	}
	begin := func(said bool) func(*world, int, *fold.Decision) {
		return func(w *world, i int, d *fold.Decision) {
			r := &w.reps[i]
			if d.Err != nil || d.Claim == nil {
				return
			}
			r.begin(w, d)
			r.works, r.said, r.turn = true, said, d.Turn
		}
	}
	switch w.reps[i].kind {
	case taker:
		x.addCalls(w, all, i, actTake, "takes the turn", func(w *world, i int) call {
			take := &fold.Take{}
			mint(w, &take.Turn, &take.NewClaim)
			return call{fold.Command{Do: take, From: agent}, begin(false)}
		})
	case oneShot:
		*all = append(*all, move{uint8(i)*8 + actTake, false, name(i) + " reads that it may speak", func(w *world) {
			w.reps[i].read, w.reps[i].turn = true, w.head.state.CurrentTurn()
		}})
	default:
		x.addCalls(w, all, i, actTake, "says something without a claim", func(w *world, i int) call {
			c := say(parley.FinalityNone, fmt.Sprintf("p %s %d", name(i), w.head.state.CurrentTurn()))
			said := c.Do.(*fold.Message)
			mint(w, &said.Turn, &said.NewClaim)
			return call{c, begin(true)}
		})
	}
}

// withNewClaim returns a copy of an action with another claim that it may take. Worlds share actions.
func (x *explorer) withNewClaim(w *world, h int, do fold.Action) fold.Action {
	switch a := do.(type) {
	case *fold.Message:
		again := *a
		x.mayTake(w, h, &again.NewClaim)
		return &again
	case *fold.Take:
		again := *a
		x.mayTake(w, h, &again.NewClaim)
		return &again
	}
	return do
}

// mayTake sets the id of a claim that a call may take.
func (x *explorer) mayTake(w *world, h int, n *fold.NewClaim) {
	hub := &w.hubs[h]
	n.New, n.GraceMs = eventdata.HashClaim(w.mint(w.head.state.CurrentTurn())), limits.DefaultGraceMs
	n.Others = len(hub.view.state.Tries) > 0 && hub.desk.Others(agent, w.executors(h))
}

// ofWork is what a replica does with the claim that it believes to have.
func (x *explorer) ofWork(all []move, w *world, i int) []move {
	r := &w.reps[i]
	speak := func(f parley.Finality, key string) func(w *world, i int) call {
		return func(w *world, i int) call {
			r := &w.reps[i]
			c := say(f, key)
			c.Do.(*fold.Message).Turn = r.turn
			if r.claim != (eventdata.ClaimHash{}) {
				named := r.claim
				c.Named = &named
			}
			return call{c, func(w *world, i int, d *fold.Decision) {
				r := &w.reps[i]
				if r.said = true; d.Err != nil || f.Final() {
					r.forget()
				}
			}}
		}
	}
	release := func(reason parley.ClaimEnd) func(w *world, i int) call {
		return func(w *world, i int) call {
			named := w.reps[i].claim
			return call{fold.Command{Do: &fold.Release{Reason: reason}, From: agent, Named: &named},
				func(w *world, i int, _ *fold.Decision) { w.reps[i].forget() }}
		}
	}
	switch {
	case r.kind == renewer:
		x.addCalls(w, &all, i, actRenew, "renews", x.renew)
	case r.kind == mute:
	case r.kind == asker && r.asked && w.head.state.AwaitsApproval():
	case r.kind == asker && r.said && !r.asked:
		x.addCalls(w, &all, i, actAsk, "asks for an approval", x.askApproval)
	case !r.said:
		x.addCalls(w, &all, i, actSpeak, "says something", speak(parley.FinalityNone, "p"))
	case r.kind == decliner:
		x.addCalls(w, &all, i, actRelease, "declines", release(parley.ClaimDeclined))
	case r.kind == yielder:
		x.addCalls(w, &all, i, actRelease, "yields", release(parley.ClaimYielded))
	case r.kind == restarter, r.kind == pullDies:
		all = append(all, move{uint8(i)*8 + actBegin, false, name(i) + " begins anew", func(w *world) { x.beginAnew(w, i) }})
	case r.kind != hang:
		x.addCalls(w, &all, i, actSpeak, "ends the turn", speak(parley.FinalityTurn, "f"))
	}
	if w.lates > 0 && (r.kind == hang || r.kind == mute || r.kind == renewer) {
		for _, late := range []struct {
			what string
			make func(w *world, i int) call
		}{
			{"says something late", speak(parley.FinalityNone, "late")}, {"ends the turn late", speak(parley.FinalityTurn, "f")},
			{"renews late", x.renew}, {"gives the turn back late", release(parley.ClaimSilent)},
		} {
			all = append(all, move{63, true, name(i) + " " + late.what, func(w *world) {
				w.lates--
				c := late.make(w, i)
				r := w.reps[i]
				x.call(w, i, int(r.hub), r.attempt, c.command, false)
			}})
		}
	}
	return all
}

// halfOpen moves replica i to a new connection; then its hub notices the end of the old one, which holds nothing any more.
func (x *explorer) halfOpen(w *world, i int) {
	h := int(w.reps[i].hub)
	x.register(w, i, h)
	if hub := &w.hubs[h]; x.without.grace {
		hub.holder = -1
		hub.desk.Lost(now, hub.watch)
	}
}

// beginAnew is the start of a process in the place of one that has stopped.
func (x *explorer) beginAnew(w *world, i int) {
	h := int(w.reps[i].hub)
	x.disconnect(w, i)
	w.reps[i].forget()
	if w.reps[i].kind == restarter {
		w.reps[i].kind = good
	}
	x.register(w, i, h)
}

// renew is renewClaim when less than half of the time is left. It makes the claim older by its whole time.
func (x *explorer) renew(w *world, i int) call {
	r := w.reps[i]
	named := r.claim
	d := &w.hubs[r.hub].desk
	held, _ := d.Watched(now, named)
	c := fold.Command{Do: &fold.Renew{LeftMs: 1}, From: agent, Named: &named, HeldMs: held}
	return call{c, func(w *world, i int, d *fold.Decision) {
		desk := &w.hubs[w.reps[i].hub].desk
		switch {
		case d.Err != nil:
			w.reps[i].forget()
		case len(d.Events) > 0 && desk.claim != nil && held < 2*w.head.state.Limits.MaxClaim():
			desk.claim.taken -= Time(w.head.state.Limits.TurnTimeout())
		}
	}}
}
