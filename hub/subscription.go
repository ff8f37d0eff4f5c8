package hub

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// Item is one thing that a subscription tells. Exactly one of Event, CaughtUp, Guidance and Delta is set.
type Item struct {
	// Seq is the event's, or that at which CaughtUp and Guidance hold.
	Seq int64
	// Event is a stored event, and Tail the end of its notification: `"conversationId":"...","event":{...}}}`. Both are shared by all
	// readers.
	Event, Tail []byte
	CaughtUp    bool
	Guidance    *parley.Guidance
	Delta       *parley.Delta
}

// Subscription is a cursor and a wake-up. It is for one goroutine at a time, but for Close.
type Subscription struct {
	c      *conversation
	caller atomic.Pointer[Principal]
	place  int    // in c.audience; guarded by c.mu, as is the next
	wake   func() // what OnChange has set, or nil
	number int    // in hub.subscribers.open; guarded by its mutex
	types  []parley.EventType
	latest int64

	examined atomic.Int64 // cursor, for whoever looks from outside

	cursor   int64
	deltas   int64  // deltas of the conversation that were looked at
	rest     []Item // found, but more than Next was asked for
	behind   bool   // the last Poll has left something
	caughtUp bool
	stand    fold.Stand
	guidance parley.Guidance // that was told last

	renewed   chan struct{} // one slot: there is another caller
	closeOnce sync.Once
	closed    chan struct{}
}

// Subscribe gives a subscription from sinceSeq on. It keeps the conversation in memory until Close.
func (h *Hub) Subscribe(_ context.Context, p *Principal, q *parley.SubscribeParams) (*Subscription, error) {
	p = p.in(q.ConversationID)
	c, _, err := h.open(p, parley.MethodSubscribe, q.ConversationID, q.SinceSeq, 0)
	if err != nil {
		return nil, err
	}
	if err := checkTypes(q.Types); err != nil {
		h.unpin(c)
		return nil, err
	}
	s := &Subscription{c: c, types: slices.Clone(q.Types), cursor: q.SinceSeq, renewed: make(chan struct{}, 1), closed: make(chan struct{})}
	s.caller.Store(p)
	s.examined.Store(s.cursor)
	c.join(s)
	h.subscribers.add(s)
	return s, nil
}

// OnChange has wake called after each change of the conversation, until Close: for who does not Wait. It is called with a lock held: it must not block,
// and not use the subscription. What has changed before OnChange it is not called for.
func (s *Subscription) OnChange(wake func()) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.wake = wake
}

func checkTypes(types []parley.EventType) error {
	if types != nil && len(types) == 0 {
		return parley.Refuse(parley.ErrValidationFailed, "types is empty", "at least one type, or no types for all")
	}
	for _, t := range types {
		if t != parley.TypeMessage && t != parley.TypeTrace && t != parley.TypeSystem {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("types has %q", t), "message, trace or system")
		}
	}
	return nil
}

// Allows says why p could not hold the subscription, or nil: p must be the same participant, with the scope, the
// conversation and the sight that it was made with.
func (s *Subscription) Allows(p *Principal) error {
	s.c.mu.Lock()
	seen := p.reads(&s.c.durable)
	s.c.mu.Unlock()
	now := s.caller.Load()
	if !seen || p.AgentID != now.AgentID || !p.Has(parley.ScopeRead) || p.viewer() != now.viewer() {
		return parley.Refuse(parley.ErrForbidden, "a subscription of this socket needs more than the token allows", "a token that allows as much, or unsubscribe")
	}
	return nil
}

// Renew makes the subscription p's, which it must allow: it ends when p does.
func (s *Subscription) Renew(p *Principal) {
	s.caller.Store(p)
	select {
	case s.renewed <- struct{}{}:
	default: // it will look anyway
	}
}

// Revoked reports whether the token of its caller was revoked.
func (s *Subscription) Revoked() bool { return s.caller.Load().Revoked() }

// LatestSeq is the head when the subscription was made.
func (s *Subscription) LatestSeq() int64 { return s.latest }

// Close ends the subscription: Next fails with ErrUnavailable. It may be called from any goroutine and more than once.
func (s *Subscription) Close() {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.c.hub.subscribers.remove(s)
		s.c.leave(s)
		s.c.hub.unpin(s.c)
	})
}

// Wait returns when Poll may have something, without reading it: so that a door reads for its peer only what the peer takes. It fails as Next
// does.
func (s *Subscription) Wait(ctx context.Context) error {
	for {
		var changed <-chan struct{}
		caller, pending, err := s.ready(ctx, &changed)
		if err != nil || pending {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-caller.revoked:
		case <-s.renewed:
		case <-s.closed:
		case <-s.c.hub.draining:
		}
	}
}

// Ready reports whether Poll may have something. It fails as Next does.
func (s *Subscription) Ready(ctx context.Context) (bool, error) {
	_, pending, err := s.ready(ctx, nil)
	return pending, err
}

// ready is Ready, and says for whom. Where there is nothing, it gives what the next change closes to who asks for that.
func (s *Subscription) ready(ctx context.Context, changed *<-chan struct{}) (caller *Principal, pending bool, err error) {
	if err := s.over(ctx); err != nil {
		return nil, false, err
	}
	s.c.mu.Lock()
	broken, pending := s.c.broken, s.pendingLocked()
	if !pending && changed != nil {
		*changed = s.c.changedLocked()
	}
	s.c.mu.Unlock()
	caller = s.caller.Load()
	return caller, pending, s.c.stillServes(caller, broken)
}

// More reports whether the last Poll has not given all that there was then.
func (s *Subscription) More() bool { return s.behind }

// Next waits until there is something and gives at most max items, at least 1. It fails when ctx ends, the hub drains, the
// caller's token has ended (ErrUnauthenticated), or the log cannot be read.
func (s *Subscription) Next(ctx context.Context, max int) ([]Item, error) {
	for {
		if err := s.Wait(ctx); err != nil {
			return nil, err
		}
		if items, err := s.Poll(ctx, max); err != nil || len(items) > 0 {
			return items, err
		}
	}
}

// ErrFar: what comes next is no longer in memory.
var ErrFar = errors.New("hub: the next events are in the journal")

// PollNear is Poll that does not read the journal: it fails with ErrFar instead, and nothing has changed.
func (s *Subscription) PollNear(ctx context.Context, max int) ([]Item, error) {
	return s.poll(ctx, max, true)
}

// Poll is Next that does not wait: what there was to examine may all be for others, and then it gives nothing.
func (s *Subscription) Poll(ctx context.Context, max int) ([]Item, error) {
	return s.poll(ctx, max, false)
}

func (s *Subscription) poll(ctx context.Context, max int, near bool) ([]Item, error) {
	if err := s.over(ctx); err != nil {
		return nil, err
	}
	s.c.mu.Lock()
	now, broken := s.lookLocked(), s.c.broken
	s.c.mu.Unlock()
	caller := s.caller.Load()
	if err := s.c.stillServes(caller, broken); err != nil {
		return nil, err
	}
	items := s.rest
	if len(items) == 0 {
		var err error
		if items, err = s.collect(caller, now, max, near); err != nil {
			return nil, err
		}
	}
	items = s.give(items, max)
	s.behind = len(s.rest) > 0 || s.cursor < now.state.Seq || s.deltas < now.count
	return items, nil
}

// over says why the subscription has ended, or nil.
func (s *Subscription) over(ctx context.Context) error {
	select {
	case <-s.closed:
		return parley.Refuse(parley.ErrUnavailable, "the subscription was closed", "")
	case <-s.c.hub.draining:
		return errDraining
	default:
		return ctx.Err()
	}
}

// pendingLocked reports whether there is anything to examine: an event, a delta, or caught_up. Guidance changes with events only, and is looked at with the last.
func (s *Subscription) pendingLocked() bool {
	return len(s.rest) > 0 || s.cursor < s.c.durable.Seq || s.deltas < s.c.deltaCount || !s.caughtUp
}

// give cuts items to what was asked for and keeps the rest: never more than a page and the deltas between.
func (s *Subscription) give(items []Item, max int) []Item {
	if s.rest = nil; len(items) <= max {
		return items
	}
	s.rest = items[max:]
	return items[:max:max]
}

// look is what a subscription finds at one moment.
type look struct {
	*shown
	deltas []delta
	count  int64
}

// shown is a committed state that readers share. Nobody changes it.
type shown struct {
	state fold.State
	stand fold.Stand
}

// shownLocked gives the committed state, copied once however many readers look at it.
func (c *conversation) shownLocked() *shown {
	if c.shown == nil || c.shown.state.Seq != c.durable.Seq {
		c.shown = &shown{state: c.durable, stand: c.durable.Stand()}
	}
	return c.shown
}

func (s *Subscription) lookLocked() look {
	l := look{shown: s.c.shownLocked(), count: s.c.deltaCount}
	if fresh := l.count - s.deltas; fresh > 0 {
		kept := s.c.deltas
		l.deltas = slices.Clone(kept[max(0, len(kept)-int(min(fresh, keepDeltas))):])
	}
	return l
}

// collect gives the events up to the state looked at and the deltas between them; then, at the head, caught_up and guidance.
func (s *Subscription) collect(caller *Principal, now look, max int, near bool) ([]Item, error) {
	var items []Item
	viewer := caller.viewer()
	if s.cursor < now.state.Seq {
		var few [4]frame // most often it is one
		frames, err := s.c.tails(few[:0], s.cursor, max, near)
		if err != nil {
			return nil, err
		}
		items = make([]Item, 0, len(frames)+2)
		for _, f := range frames {
			if f.seq > now.state.Seq {
				break
			}
			items = s.takeDeltas(items, &now, f.seq)
			s.cursor = f.seq
			if viewer.Sees(f.meta) && (s.types == nil || slices.Contains(s.types, f.meta.Type)) {
				items = append(items, Item{Seq: f.seq, Event: f.data, Tail: f.tail})
			}
		}
		s.examined.Store(s.cursor)
	}
	if s.cursor < now.state.Seq {
		return items, nil
	}
	if !s.caughtUp || now.stand != s.stand {
		items = s.stands(items, caller.AgentID, &now.state)
		s.stand = now.stand
	}
	return s.takeDeltas(items, &now, now.state.Seq+1), nil
}

// stands tells, at the head, that the reader has caught up, and its guidance where that is another one than it was told last.
func (s *Subscription) stands(items []Item, id string, state *fold.State) []Item {
	g := s.c.hub.guide(state, id, false)
	told := g
	told.DeadlineMs = 0 // moves with every event, and is information only
	if g.Claim != nil {
		claim := *g.Claim
		claim.DeadlineMs = 0 // moves with every renewal
		told.Claim = &claim
	}
	if s.caughtUp && reflect.DeepEqual(told, s.guidance) {
		return items
	}
	if !s.caughtUp {
		items = append(items, Item{CaughtUp: true, Seq: s.cursor})
	}
	s.caughtUp, s.guidance = true, told
	return append(items, Item{Guidance: &g, Seq: s.cursor})
}

// takeDeltas gives the deltas that go out before the event with a seq. Before caught_up there are none.
func (s *Subscription) takeDeltas(items []Item, now *look, before int64) []Item {
	for len(now.deltas) > 0 && now.deltas[0].after < before {
		d := now.deltas[0].Delta
		now.deltas = now.deltas[1:]
		if s.caughtUp {
			items = append(items, Item{Delta: &d})
		}
	}
	s.deltas = now.count - int64(len(now.deltas))
	return items
}
