package turns

import (
	"cmp"
	"iter"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// demand is what an executor must serve, inside the hub or outside.
type demand struct {
	serves   string
	internal bool
}

// waiter is a conversation that waits for an executor, and since when its turn is the current one.
type waiter struct {
	since parley.Timestamp
	id    string
}

func (a waiter) compare(b waiter) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id))
}

// updateQueuesLocked updates the queues of conversations that wait for executors, the longest first.
func (d *Dispatcher) updateQueuesLocked(id string, t *turn, since parley.Timestamp) {
	old := waiter{t.since, id}
	for _, w := range t.demands {
		if since != t.since || !t.Waits(w.serves, w.internal) {
			d.dequeueLocked(w, old)
		}
	}
	t.demands, t.since = t.demands[:0:0], since
	for _, name := range t.Served() {
		for _, w := range []demand{{name, false}, {name, true}} {
			d.enqueueLocked(waiter{since, id}, t, w)
		}
	}
}

func (d *Dispatcher) enqueueLocked(who waiter, t *turn, w demand) {
	if !t.Waits(w.serves, w.internal) {
		return
	}
	if i, found := slices.BinarySearchFunc(d.waiting[w], who, waiter.compare); !found {
		d.waiting[w] = slices.Insert(d.waiting[w], i, who)
	}
	t.demands = append(t.demands, w)
}

func (d *Dispatcher) dequeueLocked(w demand, who waiter) {
	i, found := slices.BinarySearchFunc(d.waiting[w], who, waiter.compare)
	switch {
	case !found:
	case len(d.waiting[w]) == 1:
		delete(d.waiting, w)
	default:
		d.waiting[w] = slices.Delete(d.waiting[w], i, i+1)
	}
}

// offerWaitingLocked offers x the waiting turns, the longest first, while it has room. If x was
// replaced, its successor gets the offers. An executor that always had room has missed none, and then
// the queues are not read.
func (d *Dispatcher) offerWaitingLocked(x *executor) {
	if x = d.executors[x.key]; x == nil || !x.push {
		return
	}
	now := d.now()
	if !x.missed || x.view(now).Full || x.by.Valid(d.engine.Now()) != nil {
		return
	}
	x.missed = false
	for name, id := range d.waitingForLocked(x) {
		t := d.turns[id]
		if !x.by.Reaches(id) || !t.Due(now, name, x.conn.internal) {
			continue
		}
		if x.view(now).Full {
			return
		}
		d.stepLocked(id, t, true)
	}
}

// waitingForLocked returns what waits for x, the longest first over all agents that it serves.
func (d *Dispatcher) waitingForLocked(x *executor) iter.Seq2[string, string] {
	type queue struct {
		name string
		rest []waiter
	}
	var queues []queue
	for _, name := range x.serves {
		if all := d.waiting[demand{name, x.conn.internal}]; len(all) > 0 {
			queues = append(queues, queue{name, all})
		}
	}
	return func(yield func(name, id string) bool) {
		for len(queues) > 0 {
			first := 0
			for i := range queues {
				if queues[i].rest[0].compare(queues[first].rest[0]) < 0 {
					first = i
				}
			}
			q := &queues[first]
			name, id := q.name, q.rest[0].id
			if q.rest = q.rest[1:]; len(q.rest) == 0 {
				queues = slices.Delete(queues, first, first+1)
			}
			if !yield(name, id) {
				return
			}
		}
	}
}

// stepLocked lets a desk offer its turn, and sets its alarm. It returns the commands that are due; with
// later set, they stay due.
func (d *Dispatcher) stepLocked(id string, t *turn, later bool) []fold.Command {
	now := d.now()
	todo := t.Step(desk.World{
		Now: now, Later: later, Shared: d.engine.Shared(),
		Executors: func(a *fold.Ask) []desk.Executor { return d.candidatesLocked(id, a.Serves, a.Demands, now) },
		Mint: func(turn int64) (string, eventdata.ClaimHash) {
			claim := d.newClaimID(turn)
			return claim, eventdata.HashClaim(claim)
		},
	})
	for _, r := range todo.Requests {
		d.requestLocked(id, t, &r, now)
	}
	if todo.At != 0 {
		d.alarm.Set(id, parley.Timestamp(todo.At))
	}
	return todo.Commands
}

func (d *Dispatcher) newClaimID(turn int64) string { return eventdata.ClaimID(turn, d.opts.NewID("")) }

func (d *Dispatcher) candidatesLocked(
	id, serves string, demands map[string]string, now desk.Time,
) (all []desk.Executor) {
	if !d.sessions.MayRun(id) {
		return nil // it is stepped again when its parent knows of it
	}
	for _, x := range d.serving[serves] {
		if x.push && x.by.Reaches(id) && x.by.Valid(d.engine.Now()) == nil && fold.Meets(x.labels, demands) {
			all = append(all, x.view(now))
		}
	}
	return all
}

func (d *Dispatcher) requestLocked(id string, t *turn, r *desk.Request, now desk.Time) {
	x := d.executors[r.Executor]
	if x == nil || x.conn.notify == nil {
		return
	}
	d.counts.offers++
	x.pending[id] = now + desk.Time(t.WindowMs())
	x.pendingUntil = min(x.pendingUntil, x.pending[id])
	d.alarm.Set(id, parley.Timestamp(x.pending[id])) // then it may have room for another
	t.asked = append(t.asked, x)
	x.conn.notify(parley.ExecutorNotification{RequestTurn: &parley.RequestTurn{
		ConversationID: id, AgentID: r.AgentID, Agent: r.Agent, Turn: r.Turn, ClaimID: r.ClaimID, Attempt: r.Attempts + 1,
		SinceSeq: r.SinceSeq, DeadlineMs: int64(now) + t.DurationMs(), ClaimWindowMs: t.WindowMs(), Traceparent: t.trace,
	}})
}

// expireOffersLocked ends the offers of a turn whose claim window is over. Their executors have room
// for others.
func (d *Dispatcher) expireOffersLocked(id string, t *turn) {
	now := d.now()
	var free []*executor
	t.asked = slices.DeleteFunc(t.asked, func(x *executor) bool {
		until, ok := x.pending[id]
		if ok && until > now {
			return false
		}
		delete(x.pending, id)
		free = append(free, x)
		return true
	})
	for _, x := range free {
		d.offerWaitingLocked(x)
	}
}
