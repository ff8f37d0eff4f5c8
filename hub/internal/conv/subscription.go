package conv

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

// Item is one item of a subscription. Exactly one of Event, CaughtUp, Guidance and Delta is set.
type Item struct {
	// Seq is that of the event, or the seq at which CaughtUp and Guidance hold.
	Seq int64
	// Event is a stored event, and Tail the end of its notification:
	// `"conversationId":"...","event":{...}}}`. All readers share both.
	Event, Tail []byte
	CaughtUp    bool
	Guidance    *parley.Guidance
	Delta       *parley.Delta
}

// Subscription is a cursor and a wake-up. Only one goroutine at a time may use it, except for Close.
type Subscription struct {
	c      *Conversation
	caller atomic.Pointer[Caller]
	index  int    // in c.readers.subscriptions; guarded by c.mu, as is the next
	wake   func() // set by OnChange, or nil
	number int    // in engine.subscriptions.open; guarded by its mutex
	types  []parley.EventType
	latest int64

	examined atomic.Int64 // cursor, for the statistics

	cursor   int64
	deltas   int64  // deltas of the conversation that were examined
	rest     []Item // found, but more than Next was asked for
	behind   bool   // the last Poll has left something
	caughtUp bool
	stand    fold.GuidanceInputs
	guidance parley.Guidance // of the last Guidance item

	renewed   chan struct{} // one slot: there is another caller
	closeOnce sync.Once
	closed    chan struct{}
}

// Subscribe returns a subscription that begins after a seq, with events of some types; nil: all. It
// takes over the caller's pin of the conversation until Close.
func (c *Conversation) Subscribe(by Caller, since int64, types []parley.EventType) (*Subscription, error) {
	if err := checkTypes(types); err != nil {
		return nil, err
	}
	s := &Subscription{
		c: c, types: slices.Clone(types), cursor: since, renewed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	s.caller.Store(&by)
	s.examined.Store(s.cursor)
	c.mu.Lock()
	s.latest = c.durable.Seq
	c.readers.add(s)
	c.mu.Unlock()
	c.engine.subscriptions.add(s)
	return s, nil
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

// OnChange makes the conversation call wake after each later change, until Close, instead of Wait. The
// conversation is locked during the call: wake must not block or use the subscription.
func (s *Subscription) OnChange(wake func()) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.wake = wake
}

// Allows returns nil if by may hold the subscription, else the refusal. by must be the same
// participant, with the scope, the conversation and the view of the current caller.
func (s *Subscription) Allows(by Caller) error {
	s.c.mu.Lock()
	reads := by.Reads(&s.c.durable)
	s.c.mu.Unlock()
	now := *s.caller.Load()
	if !reads || by.ParticipantID() != now.ParticipantID() || !by.Has(parley.ScopeRead) || by.Viewer() != now.Viewer() {
		return parley.Refuse(parley.ErrForbidden,
			"a subscription of this socket needs more than the token allows",
			"a token that allows as much, or unsubscribe")
	}
	return nil
}

// Renew replaces the caller by one that Allows has accepted. The subscription ends with its token.
func (s *Subscription) Renew(by Caller) {
	s.caller.Store(&by)
	select {
	case s.renewed <- struct{}{}:
	default: // a wake-up is pending
	}
}

// Revoked reports whether the token of its caller was revoked.
func (s *Subscription) Revoked() bool {
	select {
	case <-(*s.caller.Load()).Ended():
		return true
	default:
		return false
	}
}

// LatestSeq is the head when the subscription was made.
func (s *Subscription) LatestSeq() int64 { return s.latest }

// Close ends the subscription: Next fails with ErrUnavailable. It may be called from any goroutine and
// more than once.
func (s *Subscription) Close() {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.c.engine.subscriptions.remove(s)
		s.c.mu.Lock()
		s.c.readers.remove(s)
		s.c.mu.Unlock()
		s.c.engine.Unpin(s.c)
	})
}

// Wait returns when Poll may have something, without reading it, so that a server reads only what its
// peer takes. It fails as Next does.
func (s *Subscription) Wait(ctx context.Context) error {
	for {
		var changed <-chan struct{}
		caller, pending, err := s.check(ctx, &changed)
		if err != nil || pending {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-caller.Ended():
		case <-s.renewed:
		case <-s.closed:
		case <-s.c.engine.draining:
		}
	}
}

// Ready reports whether Poll may have something. It fails as Next does.
func (s *Subscription) Ready(ctx context.Context) (bool, error) {
	_, pending, err := s.check(ctx, nil)
	return pending, err
}

// check returns the caller and whether something is pending. If not, it sets changed, unless that is
// nil, to a channel that the next change closes.
func (s *Subscription) check(ctx context.Context, changed *<-chan struct{}) (by Caller, pending bool, err error) {
	if err := s.endErr(ctx); err != nil {
		return nil, false, err
	}
	s.c.mu.Lock()
	broken, pending := s.c.broken, s.pendingLocked()
	if !pending && changed != nil {
		*changed = s.c.readers.awaitChange()
	}
	s.c.mu.Unlock()
	by = *s.caller.Load()
	return by, pending, s.serveErr(by, broken)
}

// serveErr returns why the conversation no longer serves a caller, or nil.
func (s *Subscription) serveErr(by Caller, broken bool) error {
	if broken {
		return errBroken
	}
	return by.Valid(s.c.engine.Now())
}

// More reports whether the last Poll left something.
func (s *Subscription) More() bool { return s.behind }

// Next waits until there is something and returns at most max items, at least 1. It fails when ctx
// ends, the hub drains, the caller's token ends (ErrUnauthenticated), or the log cannot be read.
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

// ErrFar means that the next events are not in memory.
var ErrFar = errors.New("hub: the next events are in the journal")

// PollNear is Poll without a read of the journal: then it fails with ErrFar, and nothing changes.
func (s *Subscription) PollNear(ctx context.Context, max int) ([]Item, error) {
	return s.poll(ctx, max, true)
}

// Poll is Next without a wait. It returns no items if the caller may read none of the examined events.
func (s *Subscription) Poll(ctx context.Context, max int) ([]Item, error) {
	return s.poll(ctx, max, false)
}

func (s *Subscription) poll(ctx context.Context, max int, near bool) ([]Item, error) {
	if err := s.endErr(ctx); err != nil {
		return nil, err
	}
	s.c.mu.Lock()
	now, broken := s.lookLocked(), s.c.broken
	s.c.mu.Unlock()
	by := *s.caller.Load()
	if err := s.serveErr(by, broken); err != nil {
		return nil, err
	}
	items := s.rest
	if len(items) == 0 {
		var err error
		if items, err = s.collect(by, now, max, near); err != nil {
			return nil, err
		}
	}
	items = s.takeFirst(items, max)
	s.behind = len(s.rest) > 0 || s.cursor < now.state.Seq || s.deltas < now.count
	return items, nil
}

// endErr returns why the subscription is over, or nil while it is open.
func (s *Subscription) endErr(ctx context.Context) error {
	select {
	case <-s.closed:
		return parley.Refuse(parley.ErrUnavailable, "the subscription was closed", "")
	case <-s.c.engine.draining:
		return ErrDraining
	default:
		return ctx.Err()
	}
}

// pendingLocked reports whether there is anything to examine: an event, a delta, or caught_up. Guidance
// changes with events only, and is examined after the last one.
func (s *Subscription) pendingLocked() bool {
	return len(s.rest) > 0 || s.cursor < s.c.durable.Seq || s.deltas < s.c.readers.deltaCount || !s.caughtUp
}

// takeFirst returns the first max items and keeps the rest, which is never more than a page and the
// deltas between its events.
func (s *Subscription) takeFirst(items []Item, max int) []Item {
	if s.rest = nil; len(items) <= max {
		return items
	}
	s.rest = items[max:]
	return items[:max:max]
}

// look is what a subscription finds at one moment.
type look struct {
	*sharedState
	deltas []delta
	count  int64
}

// sharedState is a committed state that readers share. It is never changed.
type sharedState struct {
	state fold.State
	stand fold.GuidanceInputs
}

// lookLocked copies the committed state once for all readers.
func (s *Subscription) lookLocked() look {
	c := s.c
	if c.shared == nil || c.shared.state.Seq != c.durable.Seq {
		c.shared = &sharedState{state: c.durable, stand: c.durable.GuidanceInputs()}
	}
	return look{sharedState: c.shared, count: c.readers.deltaCount, deltas: c.readers.deltasAfter(s.deltas)}
}

// collect returns the events up to the state of now and the deltas between them. At the head it adds
// caught_up and guidance.
func (s *Subscription) collect(by Caller, now look, max int, near bool) ([]Item, error) {
	var items []Item
	viewer := by.Viewer()
	if s.cursor < now.state.Seq {
		var few [4]Frame // usually it is one
		frames, err := s.readTails(few[:0], max, near)
		if err != nil {
			return nil, err
		}
		items = make([]Item, 0, len(frames)+2)
		for _, f := range frames {
			if f.Seq > now.state.Seq {
				break
			}
			items = s.takeDeltas(items, &now, f.Seq)
			s.cursor = f.Seq
			if viewer.Sees(f.Meta) && (s.types == nil || slices.Contains(s.types, f.Meta.Type)) {
				items = append(items, Item{Seq: f.Seq, Event: f.Data, Tail: f.Tail})
			}
		}
		s.examined.Store(s.cursor)
	}
	if s.cursor < now.state.Seq {
		return items, nil
	}
	if !s.caughtUp || now.stand != s.stand {
		items = s.appendGuidance(items, by.ParticipantID(), &now.state)
		s.stand = now.stand
	}
	return s.takeDeltas(items, &now, now.state.Seq+1), nil
}

// maxTailBytes is about how much a subscription reads at once, which the hub holds for a slow peer.
const maxTailBytes = 64 << 10

// readTails appends the frames after the cursor with their tails: at most n, and at most maxTailBytes
// of them, or one. If near is set, it fails with ErrFar instead of reading the journal.
func (s *Subscription) readTails(out []Frame, n int, near bool) ([]Frame, error) {
	out, latest, far := s.c.recent(out, s.cursor, n, maxTailBytes)
	switch {
	case !far:
		return out, nil
	case near:
		return nil, ErrFar
	}
	n = int(min(int64(n), latest-s.cursor))
	out, err := readFrames(s.c.engine.journal, s.c.id, out, s.cursor, n, maxTailBytes)
	for i, f := range out {
		out[i] = newFrame(s.c.id, f.Data, f.Seq, f.Meta)
	}
	return out, err
}

// appendGuidance appends, at the head, caught_up once, and the guidance if it differs from the last one.
func (s *Subscription) appendGuidance(items []Item, id string, state *fold.State) []Item {
	g := s.c.engine.parts.Guide(state, id)
	compared := g
	compared.DeadlineMs = 0 // moves with each event, and is information only
	if g.Claim != nil {
		claim := *g.Claim
		claim.DeadlineMs = 0 // moves with each renewal
		compared.Claim = &claim
	}
	if s.caughtUp && reflect.DeepEqual(compared, s.guidance) {
		return items
	}
	if !s.caughtUp {
		items = append(items, Item{CaughtUp: true, Seq: s.cursor})
	}
	s.caughtUp, s.guidance = true, compared
	return append(items, Item{Guidance: &g, Seq: s.cursor})
}

// takeDeltas appends the deltas that precede the event with a seq. Before caught_up it drops them.
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

// subscriptions has all open subscriptions, for the statistics.
type subscriptions struct {
	mu   sync.Mutex // guards the field below, and number of each
	open []*Subscription
}

func (s *subscriptions) add(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.number = len(s.open)
	s.open = append(s.open, one)
}

func (s *subscriptions) remove(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = removeUnordered(s.open, one, func(one *Subscription) *int { return &one.number })
}

// lag counts the subscriptions and the committed events that they have not examined: the most of one,
// and the sum. It reads two numbers of each and waits for no conversation.
func (s *subscriptions) lag() (count, most, sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.open {
		behind := max(0, one.c.committedSeq.Load()-one.examined.Load())
		most = max(most, behind)
		sum += behind
	}
	return int64(len(s.open)), most, sum
}
