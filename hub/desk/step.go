package desk

import (
	"cmp"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Executor is one that is registered in push mode, as a desk sees it.
type Executor struct {
	// Key tells it from all others, ID is what the log calls it.
	Key, ID  string
	Internal bool
	// Holds is how many claims it holds, Load that and how many it was just asked to take; Full is true when it takes no more.
	Holds, Load int
	Full        bool
}

// World is what a step looks at beside the desk.
type World struct {
	Now Time
	// Executors gives those in push mode that may be asked.
	Executors func(a *fold.Ask) []Executor
	// Mint makes the id of a claim.
	Mint func(turn int64) (id string, h eventdata.ClaimHash)
	// Later is true when only requests can be made now: what else is due is left to a step that At tells to make at once.
	Later bool
	// Shared is true when other hubs serve the same log: then the end of a grace only makes the claim shorter, and the hub that has the holder renews it.
	Shared bool
}

// Request asks an executor to take a turn.
type Request struct {
	fold.Ask
	Executor string
	ClaimID  string
}

// Todo is what is to be done. It may be decided otherwise on the head.
type Todo struct {
	Requests []Request
	Commands []fold.Command
	// At is when to step again; 0 is never.
	At Time
}

func (t *Todo) at(when Time) {
	if t.At == 0 || when < t.At {
		t.At = when
	}
}

const (
	// sharedGraceMs is how long a claim is left for another hub to find its holder and renew it.
	sharedGraceMs = 1_000
	// sharedSlackMs is how much later than that hub another one may have seen an event, and what it has promised counts from there.
	sharedSlackMs = 250
)

// never is the deadline of what has none.
const never Time = 1 << 62

// A hub that is so late was stopped, or its machine was: a claim gets that much more time, once, at most putOffMs.
const (
	lateMs   = 1_000
	putOffMs = 5_000
)

// Step gives what is to be done now.
func (d *Desk) Step(w World) Todo {
	var todo Todo
	if d.claim != nil {
		d.watch(w, &todo)
	}
	for i := range d.asks {
		d.hurry(&d.asks[i], w, &todo)
		d.ask(&d.asks[i], w, &todo)
	}
	return todo
}

// watch ends a claim whose time is over, or whose holder is lost.
func (d *Desk) watch(w World, todo *Todo) {
	c := d.claim
	if c.told {
		return
	}
	deadline := c.renewed + Time(c.DurationMs)
	if w.Shared {
		deadline += sharedSlackMs
	}
	if c.waits {
		if c.lost == 0 || w.Shared {
			return // who has lost the holder makes it short when it runs again
		}
		deadline = never
	}
	when := deadline
	switch {
	case d.revives(w):
		when = w.Now
	case c.lost != 0:
		when = min(deadline, c.lost+Time(c.GraceMs))
	}
	when, deadline = when+c.slept, deadline+c.slept
	if w.Later || w.Now < when {
		todo.at(when)
		return
	}
	if late := w.Now - when; late > lateMs && c.slept == 0 {
		c.slept = late + min(late, putOffMs) // the hub has slept, and has not read yet what has come meanwhile
		todo.at(when + c.slept)
		return
	}
	todo.Commands = append(todo.Commands, d.judge(w, deadline))
	if !c.told {
		todo.at(deadline)
	}
}

// revives reports whether another hub, which has lost the holder, has made a claim short that is held here.
func (d *Desk) revives(w World) bool {
	c := d.claim
	return w.Shared && c.here && !c.revived && c.DurationMs <= sharedGraceMs && c.DurationMs < d.length
}

// judge is what becomes of the claim now.
func (d *Desk) judge(w World, deadline Time) fold.Command {
	c := d.claim
	cmd := fold.Command{From: parley.HubID, Named: &c.Hash}
	end := &fold.EndClaim{RenewedSeq: c.RenewedSeq}
	switch {
	case d.revives(w):
		c.revived = true
		cmd.HeldMs = int64(w.Now - c.taken)
		cmd.Do = &fold.Renew{LeftMs: int64(c.renewed-w.Now) + c.DurationMs, RenewedSeq: c.RenewedSeq}
		return cmd
	case w.Now >= deadline:
		end.Reason = parley.ClaimExpired
	case w.Shared:
		c.lost = 0
		cmd.Do = &fold.Renew{ShortenMs: sharedGraceMs, LeftMs: int64(deadline - w.Now), RenewedSeq: c.RenewedSeq}
		return cmd
	default:
		end.Reason = parley.ClaimDisconnected
	}
	c.told, cmd.Do = true, end
	return cmd
}

// hurry tells that the time for a turn is over.
func (d *Desk) hurry(k *asking, w World, todo *Todo) {
	if k.TimeoutMs == 0 || k.told {
		return
	}
	if due := k.seen + Time(k.TimeoutMs); w.Later || w.Now < due {
		todo.at(due)
		return
	}
	if k.Patient && d.waitsOn(k, w, todo) {
		return
	}
	k.told = true
	late := &fold.Timeout{AgentID: k.AgentID, Since: k.Since, Asked: len(k.asked) > 0 || k.rounds > 0}
	todo.Commands = append(todo.Commands, fold.Command{Do: late, From: parley.HubID})
}

// askedAgainMs is how often an executor is looked at that was asked to take as much as it can, and holds nothing.
const askedAgainMs = 250

// waitsOn reports whether the time for a turn, which is over, counts anew, because an executor works on as much as it can; one that was only asked to take so
// much is given the time to do so.
func (d *Desk) waitsOn(k *asking, w World, todo *Todo) bool {
	all := w.Executors(&k.Ask)
	end := k.seen + Time(k.TimeoutMs+d.window)
	switch {
	case slices.ContainsFunc(all, func(x Executor) bool { return x.Full && x.Holds > 0 }):
		k.seen = w.Now
		todo.at(k.seen + Time(k.TimeoutMs))
	case w.Now < end && slices.ContainsFunc(all, func(x Executor) bool { return x.Full }):
		todo.at(min(end, w.Now+askedAgainMs))
	default:
		return false
	}
	return true
}

// Again takes back that the time was told to be over: the command was not taken. It is tried again at the next step.
func (d *Desk) Again() {
	if d.claim != nil {
		d.claim.told = false
	}
	for i := range d.asks {
		d.asks[i].told = false
	}
}

// ask asks the next executor when it is time for that.
func (d *Desk) ask(k *asking, w World, todo *Todo) {
	if !k.Offer {
		return
	}
	if w.Now < k.next {
		todo.at(k.next)
		return
	}
	x, ok := k.choose(w.Executors(&k.Ask))
	if !ok {
		return // the next step comes with an executor, or its room
	}
	id, h := w.Mint(k.Turn)
	d.offers = append(d.offers, Offer{Hash: h, AgentID: k.AgentID, Executor: x.Key, Turn: k.Turn})
	if len(d.offers) > maxOffers {
		d.offers = slices.Delete(d.offers, 0, 1)
	}
	k.asked = append(k.asked, x.Key)
	k.next = w.Now + Time(d.window)<<min(k.rounds, 4)
	todo.at(k.next)
	todo.Requests = append(todo.Requests, Request{Ask: k.Ask, Executor: x.Key, ClaimID: id})
}

// maxOffers bounds the offers of a turn that are remembered: older ones are of no use any more.
const maxOffers = 256

// choose gives the executor that has lost the fewest claims of this turn, of those that were not asked in this round; then the one that the agent
// had last, then the one with the least to do.
func (k *asking) choose(all []Executor) (Executor, bool) {
	may := slices.DeleteFunc(slices.Clone(all), func(x Executor) bool { return x.Full || !fold.AllowsPlace(k.Place, x.Internal) })
	if len(may) == 0 {
		return Executor{}, false
	}
	fresh := slices.DeleteFunc(slices.Clone(may), func(x Executor) bool { return slices.Contains(k.asked, x.Key) })
	if len(fresh) == 0 {
		k.asked, k.rounds = nil, k.rounds+1
		fresh = may
	}
	return slices.MinFunc(fresh, func(a, b Executor) int {
		return cmp.Or(
			cmp.Compare(fold.CountEnded(k.Ended, a.ID), fold.CountEnded(k.Ended, b.ID)),
			cmp.Compare(k.strange(a), k.strange(b)),
			cmp.Compare(a.Load, b.Load),
		)
	}), true
}

// strange is 0 for the executor that the agent had last.
func (k *asking) strange(x Executor) int {
	if x.ID == k.ExecutorID {
		return 0
	}
	return 1
}
