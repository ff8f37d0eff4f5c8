package hub

import (
	"cmp"
	"iter"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
)

// wanted is an executor that is waited for, inside the hub or not, by what it serves.
type wanted struct {
	serves   string
	internal bool
}

// inLine is a conversation that waits for an executor, and since when its turn is what it is.
type inLine struct {
	since parley.Timestamp
	id    string
}

func (a inLine) compare(b inLine) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id))
}

// waitLocked keeps the lines of those that wait for executors, the longest first.
func (t *turns) waitLocked(id string, p *place, since parley.Timestamp) {
	stood := inLine{p.since, id}
	for _, w := range p.wants {
		if since != p.since || !p.Waits(w.serves, w.internal) {
			t.leaveLocked(w, stood)
		}
	}
	p.wants, p.since = p.wants[:0:0], since
	for _, name := range p.Served() {
		for _, w := range []wanted{{name, false}, {name, true}} {
			t.wantLocked(inLine{since, id}, p, w)
		}
	}
}

func (t *turns) wantLocked(who inLine, p *place, w wanted) {
	if !p.Waits(w.serves, w.internal) {
		return
	}
	if i, there := slices.BinarySearchFunc(t.waiting[w], who, inLine.compare); !there {
		t.waiting[w] = slices.Insert(t.waiting[w], i, who)
	}
	p.wants = append(p.wants, w)
}

func (t *turns) leaveLocked(w wanted, who inLine) {
	i, there := slices.BinarySearchFunc(t.waiting[w], who, inLine.compare)
	switch {
	case !there:
	case len(t.waiting[w]) == 1:
		delete(t.waiting, w)
	default:
		t.waiting[w] = slices.Delete(t.waiting[w], i, i+1)
	}
}

// feedLocked asks x for what waits, the longest first, while it has room; what has taken its place, where it was registered anew. One that was never without room
// has missed nothing, and then nothing is looked through.
func (t *turns) feedLocked(x *executor) {
	if x = t.executors[x.key]; x == nil || !x.push {
		return
	}
	now := t.now()
	if !x.missed || x.view(now).Full || t.hub.Valid(x.by) != nil {
		return
	}
	x.missed = false
	for name, id := range t.inLineLocked(x) {
		p := t.desks[id]
		if !x.by.Reaches(id) || !p.Due(now, name, x.conn.internal) {
			continue
		}
		if x.view(now).Full {
			return
		}
		t.stepLocked(id, p, true)
	}
}

// inLineLocked gives what waits for x, of all that it serves, the longest first: no agent of it comes before the others.
func (t *turns) inLineLocked(x *executor) iter.Seq2[string, string] {
	type line struct {
		name string
		rest []inLine
	}
	var lines []line
	for _, name := range x.serves {
		if all := t.waiting[wanted{name, x.conn.internal}]; len(all) > 0 {
			lines = append(lines, line{name, all})
		}
	}
	return func(yield func(name, id string) bool) {
		for len(lines) > 0 {
			first := 0
			for i := range lines {
				if lines[i].rest[0].compare(lines[first].rest[0]) < 0 {
					first = i
				}
			}
			l := &lines[first]
			name, id := l.name, l.rest[0].id
			if l.rest = l.rest[1:]; len(l.rest) == 0 {
				lines = slices.Delete(lines, first, first+1)
			}
			if !yield(name, id) {
				return
			}
		}
	}
}

// stepLocked lets a desk ask executors, and sets its alarm. It gives the commands that are due, unless they are left for later.
func (t *turns) stepLocked(id string, p *place, later bool) []fold.Command {
	now := t.now()
	todo := p.Step(desk.World{
		Now: now, Later: later, Shared: t.hub.shared,
		Executors: func(a *fold.Ask) []desk.Executor { return t.candidatesLocked(id, a.Serves, a.Demands, now) },
		Mint: func(turn int64) (string, fold.ClaimHash) {
			claim := t.hub.newClaim(turn)
			return claim, fold.HashClaim(claim)
		},
	})
	for _, r := range todo.Requests {
		t.requestLocked(id, p, &r, now)
	}
	if todo.At != 0 {
		t.alarm.Set(id, parley.Timestamp(todo.At))
	}
	return todo.Commands
}

// newClaim makes the id of a claim.
func (h *Hub) newClaim(turn int64) string { return fold.ClaimID(turn, h.opts.NewID("")) }

func (t *turns) candidatesLocked(id, serves string, demands map[string]string, now desk.Time) []desk.Executor {
	var all []desk.Executor
	if !t.hub.sessions.mayRun(id) {
		return nil // it is looked at again when its parent knows of it
	}
	for _, x := range t.serving[serves] {
		if x.push && x.reaches(t.hub, id) && fold.Meets(x.labels, demands) {
			all = append(all, x.view(now))
		}
	}
	return all
}

func (t *turns) requestLocked(id string, p *place, r *desk.Request, now desk.Time) {
	x := t.executors[r.Executor]
	if x == nil || x.conn.notify == nil {
		return
	}
	t.counts.offers++
	x.pending[id] = now + desk.Time(p.WindowMs())
	x.tires = min(x.tires, x.pending[id])
	t.alarm.Set(id, parley.Timestamp(x.pending[id])) // then it may have room for another
	p.asked = append(p.asked, x)
	x.conn.notify(parley.ExecutorNotification{RequestTurn: &parley.RequestTurn{
		ConversationID: id, AgentID: r.AgentID, Agent: r.Agent, Turn: r.Turn, ClaimID: r.ClaimID, Attempt: r.Attempts + 1, SinceSeq: r.SinceSeq,
		DeadlineMs: int64(now) + p.DurationMs(), ClaimWindowMs: p.WindowMs(), Traceparent: p.trace,
	}})
}

// tireLocked gives the executors that were asked long enough their room back, for what else waits.
func (t *turns) tireLocked(id string, p *place) {
	now := t.now()
	var free []*executor
	p.asked = slices.DeleteFunc(p.asked, func(x *executor) bool {
		until, ok := x.pending[id]
		if ok && until > now {
			return false
		}
		delete(x.pending, id)
		free = append(free, x)
		return true
	})
	for _, x := range free {
		t.feedLocked(x)
	}
}
