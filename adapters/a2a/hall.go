package a2a

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
)

// Limits of the last events that a sharedSubscription keeps for streams that are slightly behind.
const (
	maxSharedEvents = 512
	maxSharedBytes  = 512 << 10
)

// sharedKey is a conversation as one client sees it. Callers with the same client have the same
// token.
type sharedKey struct {
	client       parley.Client
	conversation string
}

// sharedSubscription is the subscription that all streams of a client to one conversation share, so
// that the hub sends each event once. It keeps the last events. Each stream reads those after its
// own cursor at the speed of its reader, and the subscription waits for none of them.
type sharedSubscription struct {
	key     sharedKey
	streams int // number of streams, guarded by the service
	stop    context.CancelFunc
	done    chan struct{} // closed when the subscription ended

	mu      sync.Mutex      // guards the fields below
	since   int64           // all events after this seq are kept
	events  []*parley.Event // in order
	bytes   int             // total size of the events
	err     error           // why the subscription ended
	changed chan struct{}   // closed and replaced when there are more events
}

// errSubscriptionEnded is the error of a subscription that ended without an error.
var errSubscriptionEnded = parley.Refuse(parley.ErrUnavailable, "the subscription to the log ended", "")

// listen yields what a subscription yields: the events in the log, the head, and each new event. A
// stream reads older events with a separate subscription, and then continues with the shared one.
// If the shared subscription has dropped its next event, the stream uses a separate one again.
func (s *service) listen(ctx context.Context, client parley.Client, conversation string) iter.Seq2[parley.Notification,
	error] {
	return func(yield func(parley.Notification, error) bool) {
		key := sharedKey{client, conversation}
		at, told := int64(0), false
		for goes := true; goes; {
			if at, goes = catchUp(ctx, key, at, told, yield); !goes {
				return
			}
			told = true
			at, goes = s.followShared(ctx, key, at, yield)
		}
	}
}

// catchUp yields the events after a cursor up to the head. It returns the new cursor, and whether
// the stream continues. It yields CaughtUp once.
func catchUp(ctx context.Context, key sharedKey, at int64, told bool, yield func(parley.Notification,
	error) bool) (int64, bool) {
	for n, err := range key.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: key.conversation,
		SinceSeq: at}) {
		switch {
		case err != nil:
			yield(parley.Notification{}, err)
			return at, false
		case n.CaughtUp != nil:
			return max(at, n.CaughtUp.Seq), told || yield(n, nil)
		case n.Event == nil:
			continue
		}
		at = n.Event.Seq
		if !yield(n, nil) {
			return at, false
		}
	}
	return at, false
}

// followShared yields the events after a cursor from the shared subscription. It returns true if
// the stream is too far behind and must catch up.
func (s *service) followShared(ctx context.Context, key sharedKey, at int64, yield func(parley.Notification,
	error) bool) (int64, bool) {
	h := s.joinShared(key, at)
	defer s.leaveShared(h)
	for {
		events, more, err := h.eventsAfter(at)
		switch {
		case errors.Is(err, errBehind):
			return at, true
		case err != nil:
			yield(parley.Notification{}, err)
			return at, false
		}
		for _, e := range events {
			if at = e.Seq; ctx.Err() != nil || !yield(parley.Notification{Event: e}, nil) {
				return at, false
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			yield(parley.Notification{}, ctx.Err())
			return at, false
		}
	}
}

// joinShared returns the shared subscription of a conversation, for leaveShared to release. It
// opens a missing one, whose events begin after seq since.
func (s *service) joinShared(key sharedKey, since int64) *sharedSubscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.shared[key]
	if h == nil || h.hasEnded() {
		ctx, stop := context.WithCancel(context.Background()) // independent of any single stream
		h = &sharedSubscription{key: key, stop: stop, done: make(chan struct{}), since: since, changed: make(chan struct{})}
		if s.shared == nil {
			s.shared = map[sharedKey]*sharedSubscription{}
		}
		s.shared[key] = h
		go h.run(ctx, since)
	}
	h.streams++
	return h
}

// leaveShared ends the subscription with its last stream, and waits for its end.
func (s *service) leaveShared(h *sharedSubscription) {
	s.mu.Lock()
	h.streams--
	last := h.streams == 0
	if last && s.shared[h.key] == h {
		delete(s.shared, h.key)
	}
	s.mu.Unlock()
	if last {
		h.stop()
		<-h.done
	}
}

// run keeps events until ctx or the subscription ends.
func (h *sharedSubscription) run(ctx context.Context, since int64) {
	defer close(h.done)
	for n, err := range h.key.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: h.key.conversation,
		SinceSeq: since}) {
		if err != nil {
			h.end(err)
			return
		}
		if n.Event != nil {
			h.addEvent(n.Event)
		}
	}
	h.end(errSubscriptionEnded)
}

// addEvent adds the next event, and drops the oldest ones over the limits.
func (h *sharedSubscription) addEvent(e *parley.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	h.bytes += len(e.Raw())
	for len(h.events) > maxSharedEvents || len(h.events) > 1 && h.bytes > maxSharedBytes {
		h.since = h.events[0].Seq
		h.bytes -= len(h.events[0].Raw())
		h.events[0] = nil
		h.events = h.events[1:]
	}
	h.wakeLocked()
}

func (h *sharedSubscription) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	h.wakeLocked()
}

func (h *sharedSubscription) wakeLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *sharedSubscription) hasEnded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil
}

// errBehind means that events after the cursor were dropped.
var errBehind = errors.New("a2a: the shared subscription has dropped the next event")

// eventsAfter returns the events after a cursor. If none exist, more is closed when there are.
func (h *sharedSubscription) eventsAfter(at int64) (events []*parley.Event, more <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at < h.since {
		return nil, nil, errBehind
	}
	i, _ := slices.BinarySearchFunc(h.events, at+1, func(e *parley.Event, seq int64) int { return int(e.Seq - seq) })
	if i < len(h.events) {
		return slices.Clone(h.events[i:]), nil, nil
	}
	return nil, h.changed, h.err
}
