package turns

import (
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// turn is the current turn of a conversation, with the executors that were offered it.
type turn struct {
	desk.Desk
	id      string // of the conversation
	number  int64
	place   place // in the queues
	asked   []*executor
	trace   string    // the traceparent for the executor
	answers string    // the traceparent of what the turn answers
	retryAt desk.Time // no command of the hub is tried before
	yielded bool      // another hub was let act first
}

// demands returns where the turn is to wait, if it is the current one since a time.
func (t *turn) demands(since parley.Timestamp) place {
	p := place{since: since}
	for _, name := range t.Served() {
		for _, w := range []demand{{name, false}, {name, true}} {
			if t.Waits(w.serves, w.internal) {
				p.demands = append(p.demands, w)
			}
		}
	}
	return p
}

// withdraw ends the offers of the turn, and returns the executors that have room for others.
func (t *turn) withdraw() (freed []*executor) {
	freed, t.asked = t.asked, nil
	for _, x := range freed {
		delete(x.pending, t.id)
	}
	return freed
}

// expire ends the offers whose claim window is over, and returns the executors that have room for others.
func (t *turn) expire(now desk.Time) (freed []*executor) {
	t.asked = slices.DeleteFunc(t.asked, func(x *executor) bool {
		until, ok := x.pending[t.id]
		if ok && until > now {
			return false
		}
		delete(x.pending, t.id)
		freed = append(freed, x)
		return true
	})
	return freed
}

// yield lets another hub act first on what every hub finds due, once, for a time. The loss or return of
// a holder is known to one hub only and not delayed.
func (t *turn) yield(commands []fold.Command, now desk.Time, wait time.Duration) bool {
	isRenewal := func(c fold.Command) bool {
		_, ok := c.Do.(*fold.Renew)
		return ok
	}
	if wait == 0 || len(commands) == 0 || t.yielded || slices.ContainsFunc(commands, isRenewal) {
		t.yielded = false
		return false
	}
	t.yielded = true
	t.Again()
	t.retryAt = now + desk.Time(wait.Milliseconds())
	return true
}

// updateTrace moves the turn to the current one and updates its traceparent. It runs for every commit, so
// it looks for the speaker only if a trigger makes a difference, and asks the tracer once for each turn.
func (t *turn) updateTrace(s *fold.State, spans spans) {
	speaker := ""
	if len(s.Matches) > 0 {
		speaker = s.Floor().Speaker
	}
	number, answers := s.CurrentTurn(), s.AnsweredTraceparent(speaker)
	if number == t.number && answers == t.answers {
		return
	}
	t.number, t.answers, t.trace = number, answers, spans.traceparent(s, answers)
}

// records has the turns that are claimed or wait, and the open conversations.
type records struct {
	engine *conv.Engine

	mu    *sync.Mutex // Dispatcher.mu; guards the fields below
	turns map[string]*turn
	open  map[string]struct{}
}

func newRecords(mu *sync.Mutex, e *conv.Engine) *records {
	return &records{engine: e, mu: mu, turns: make(map[string]*turn), open: make(map[string]struct{})}
}

// recordLocked returns the turn of a conversation. It returns nil if no claim is current and no one waits
// for an executor, or if a later state came first.
func (r *records) recordLocked(s *fold.State) *turn {
	if s.Closed() {
		delete(r.open, s.ID)
	} else {
		r.open[s.ID] = struct{}{}
	}
	t := r.turns[s.ID]
	if t == nil {
		if s.Claim == nil && len(s.Asks()) == 0 {
			return nil
		}
		t = &turn{id: s.ID}
		r.turns[s.ID] = t
	}
	if s.Seq < t.Seq() {
		return nil
	}
	return t
}

// offerOf returns for which participant and which executor the id of a claim was made; empty if this hub
// has not made it for the current turn.
func (r *records) offerOf(conversation string, hash eventdata.ClaimHash) (agent, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.turns[conversation]
	if t == nil {
		return "", ""
	}
	o, _ := t.Offered(hash)
	return o.AgentID, o.Executor
}

// HeldFor returns how long a claim has been held and how long it remains, in ms.
func (r *records) HeldFor(conversation string, hash eventdata.ClaimHash) (heldMs, leftMs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.turns[conversation]; t != nil {
		return t.Watched(deskNow(r.engine), hash)
	}
	return 0, 0
}
