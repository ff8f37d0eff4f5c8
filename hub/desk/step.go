package desk

import (
	"cmp"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Executor is an executor in push mode.
type Executor struct {
	// Key is unique. ID is the name in the log.
	Key, ID  string
	Internal bool
	// Holds is the number of its claims. Load also counts the turns that it was asked to take. Full
	// is set if it takes no more.
	Holds, Load int
	Full        bool
}

// World is what a step depends on besides the desk.
type World struct {
	Now Time
	// Executors returns the executors in push mode that may be asked.
	Executors func(a *fold.Ask) []Executor
	// Mint returns a new claim id and its hash.
	Mint func(turn int64) (id string, h eventdata.ClaimHash)
	// Later is set if the step must not return commands. Then At is the current time for those that
	// are due.
	Later bool
	// Shared is set if other hubs serve the same log. Then the end of a grace period only shortens
	// the claim, and the hub that has the holder renews it.
	Shared bool
}

// Request asks an executor to take a turn.
type Request struct {
	fold.Ask
	Executor string
	ClaimID  string
}

// Todo is the result of a step. The decision on the head may be different.
type Todo struct {
	Requests []Request
	Commands []fold.Command
	// At is the time of the next step; 0 means never.
	At Time
}

func (t *Todo) at(when Time) {
	if t.At == 0 || when < t.At {
		t.At = when
	}
}

const (
	// sharedGraceMs is how long another hub has to find the holder of a claim and renew it.
	sharedGraceMs = 1_000
	// sharedSlackMs is how much earlier another hub may have seen the event from which a promised
	// duration counts.
	sharedSlackMs = 250
)

// never is the deadline of a claim without one.
const never Time = 1 << 62

// If a step is later than lateMs, the hub or its machine was stopped. Then a claim is extended
// once, by at most putOffMs.
const (
	lateMs   = 1_000
	putOffMs = 5_000
)

// Step returns what is due now.
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

// watch ends a claim that is overdue or whose holder is lost.
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
			return // the hub that lost the holder shortens the claim when its deadline runs again
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
		c.slept = late + min(late, putOffMs) // the hub was stopped and has not read the messages that came meanwhile
		todo.at(when + c.slept)
		return
	}
	todo.Commands = append(todo.Commands, d.judge(w, deadline))
	if !c.told {
		todo.at(deadline)
	}
}

// revives reports whether another hub lost the holder and shortened a claim that is held here.
func (d *Desk) revives(w World) bool {
	c := d.claim
	return w.Shared && c.here && !c.revived && c.DurationMs <= sharedGraceMs && c.DurationMs < d.length
}

// judge returns the command for a claim that is due.
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

// hurry returns the timeout of a turn.
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

// askedAgainMs is how often a Full executor without claims is checked again.
const askedAgainMs = 250

// waitsOn restarts the time of a turn if an executor works at full load. An executor that was only
// asked to take that many turns gets one claim window to do so. It reports whether the turn
// continues.
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

// Again makes the next step return the same commands again, because they were not written.
func (d *Desk) Again() {
	if d.claim != nil {
		d.claim.told = false
	}
	for i := range d.asks {
		d.asks[i].told = false
	}
}

// ask asks the next executor when it is time.
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
		return // the next step follows when an executor connects or has room
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

// maxOffers bounds the remembered offers of a turn. Older ones are no longer used.
const maxOffers = 256

// choose returns the executor that lost the fewest claims of this turn, of those that were not
// asked in this round. Of equal ones it prefers the last executor of the agent, then the one with
// the least load.
func (k *asking) choose(all []Executor) (Executor, bool) {
	may := slices.DeleteFunc(slices.Clone(all),
		func(x Executor) bool { return x.Full || !fold.AllowsPlace(k.Place, x.Internal) })
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

// strange is 0 for the last executor of the agent.
func (k *asking) strange(x Executor) int {
	if x.ID == k.ExecutorID {
		return 0
	}
	return 1
}
