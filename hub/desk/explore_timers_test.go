package desk

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// ofHub is what a hub does by itself, and what happens to it.
func (x *explorer) ofHub(all []move, w *world, h int) []move {
	hub := &w.hubs[h]
	add := func(label uint8, fault bool, what string, do func(w *world)) {
		all = append(all, move{labelHubs + uint8(h)*8 + label, fault, fmt.Sprintf("hub %d: %s", h, what), do})
	}
	if x.behind(w, h) {
		add(actCatchUp, false, "reads the log", func(w *world) { x.saw(w, h, -1) })
	}
	if w.crashes > 0 {
		add(7, true, "crashes and starts", func(w *world) { w.crashes--; w.upset = true; x.restart(w, h) })
	}
	if hub.desk.claim != nil && hub.desk.revives(World{Shared: len(w.hubs) > 1}) {
		add(actRevive, false, "keeps the claim for its holder", func(w *world) { x.step(w, h, false) })
	}
	if c := hub.desk.claim; c != nil && !c.told {
		x.ofClaim(w, h, add)
	}
	for k := range hub.desk.asks {
		a := &hub.desk.asks[k]
		if a.Offer && a.next > now && len(w.executors(h)) > 0 && a.AgentID == agent {
			x.late(w, w.expects(h), tickNext, add, "asks the next executor", func(w *world) {
				w.hubs[h].desk.asks[k].next = now
				x.step(w, h, false)
			})
		}
		if a.TimeoutMs > 0 && !a.told {
			prompt := a.AgentID == "b" && !x.silent || a.AgentID == agent && w.canTake()
			x.late(w, prompt, tickTimeout, add, "the time of the turn is over", func(w *world) {
				a := &w.hubs[h].desk.asks[k]
				seen := a.seen
				a.seen = now - Time(a.TimeoutMs)
				x.stepKeeping(w, h, func(d *Desk) {
					if k < len(d.asks) && d.asks[k].seen != now {
						d.asks[k].seen = seen
					}
				})
			})
		}
	}
	return all
}

// late adds the end of a time limit. If a healthy replica is about to act, it comes only as often
// as the scenario lets healthy replicas be late.
func (x *explorer) late(w *world, prompt bool, label uint8, add func(uint8, bool, string, func(*world)), what string, do func(w *world)) {
	switch {
	case !prompt:
		add(label, false, what, do)
	case w.lates > 0:
		add(label, true, what+", though somebody was about to act", func(w *world) { w.lates--; do(w) })
	}
}

func (x *explorer) stepKeeping(w *world, h int, keep func(*Desk)) {
	x.step(w, h, false)
	keep(&w.hubs[h].desk)
}

// ofClaim is the end of the time of a claim.
func (x *explorer) ofClaim(w *world, h int, add func(uint8, bool, string, func(*world))) {
	c := w.hubs[h].desk.claim
	if c.DurationMs <= sharedGraceMs && w.moving(x) {
		return // in so short a time the other hubs read the log and act
	}
	x.late(w, w.worker() >= 0 && c.DurationMs > sharedGraceMs, tickDeadline+w.facts.renewed, add,
		"the time of the claim is over", func(w *world) {
			c := w.hubs[h].desk.claim
			c.renewed = now - Time(c.DurationMs) - sharedSlackMs
			x.stepKeeping(w, h, func(d *Desk) {
				if d.claim != nil {
					d.claim.renewed = now
				}
			})
		})
	if c.lost != 0 {
		holder := w.facts.holder
		prompt := holder >= 0 && w.reps[holder].kind.healthy() && w.reps[holder].works && !w.reps[holder].gone
		x.late(w, prompt && w.reps[max(holder, 0)].hub < 0, tickGrace, add, "the grace of the claim is over", func(w *world) {
			w.hubs[h].desk.claim.lost = now - Time(w.hubs[h].desk.claim.GraceMs)
			x.step(w, h, false)
		})
	}
}

// moving reports whether a hub has something to read, or a claim to keep.
func (w *world) moving(x *explorer) bool {
	for h := range w.hubs {
		d := &w.hubs[h].desk
		if x.behind(w, h) || d.claim != nil && d.revives(World{Shared: len(w.hubs) > 1}) {
			return true
		}
	}
	return false
}

// worker is a healthy, connected replica that works under the current claim; else -1.
func (w *world) worker() int {
	for i := range w.reps {
		r := &w.reps[i]
		if r.works && (r.kind.healthy() || r.kind == slow) && !r.gone && r.hub >= 0 && w.stands(r) {
			return i
		}
	}
	return -1
}

// expects reports whether a healthy replica was asked by hub h and is about to answer.
func (w *world) expects(h int) bool {
	for _, r := range w.reps {
		if int(r.hub) == h && r.kind.healthy() && r.offered && !r.late && !r.works && !r.gone {
			return true
		}
	}
	return false
}

// canTake reports whether anybody healthy may take the turn in the end.
func (w *world) canTake() bool {
	if attempts(&w.head.state) >= w.head.state.Limits.Attempts() {
		return false
	}
	for _, r := range w.reps {
		if r.kind.healthy() && !r.gone {
			return true
		}
	}
	return false
}

// restart is the end of a hub's process and the start of another: everything that is not in the log is lost.
func (x *explorer) restart(w *world, h int) {
	w.hubs[h] = memory{holder: -1}
	for i := range w.reps {
		if int(w.reps[i].hub) == h {
			w.reps[i].hub, w.reps[i].offered, w.reps[i].late = -1, false, false
		}
	}
	x.saw(w, h, -1)
	if c := w.head.state.Claim; c != nil && x.without.restart {
		x.decide(w, h, -1, fold.Command{Do: &fold.EndClaim{Reason: parley.ClaimDisconnected}, From: parley.HubID, Named: &c.Hash})
	}
}
