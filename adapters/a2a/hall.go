package a2a

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
)

// What a hall keeps of the last events, for streams that are a little behind.
const (
	maxHallEvents = 512
	maxHallBytes  = 512 << 10
)

// hallKey is a conversation as a client sees it. Who shares a client shows the same token.
type hallKey struct {
	client       parley.Client
	conversation string
}

// hall is the subscription that all streams of a client to one conversation share: however many they are, the hub sends each event once. It keeps the last events, and
// each stream takes from there what is behind its own cursor, as fast as its own reader does. It waits for none of them.
type hall struct {
	key  hallKey
	in   int // streams: guarded by the service
	stop context.CancelFunc
	gone chan struct{} // closed when the subscription has ended

	mu     sync.Mutex      // guards the fields below
	since  int64           // all that is behind it has been kept
	events []*parley.Event // in order
	bytes  int             // of all of them
	err    error           // why nothing more comes
	news   chan struct{}   // closed, and another made, when there is more
}

// errHallEnded is a subscription that has ended without an error.
var errHallEnded = parley.Refuse(parley.ErrUnavailable, "the log is followed no longer", "")

// listen tells of a conversation what a subscription does: what is in its log, how far that is, and each event that comes. A stream reads what it has not seen by a
// subscription of its own, and then goes on in the hall. One that is so far behind that the hall has dropped what comes next reads by its own again.
func (s *service) listen(ctx context.Context, client parley.Client, conversation string) iter.Seq2[parley.Notification, error] {
	return func(yield func(parley.Notification, error) bool) {
		key := hallKey{client, conversation}
		at, told := int64(0), false
		for goes := true; goes; {
			if at, goes = catchUp(ctx, key, at, told, yield); !goes {
				return
			}
			told = true
			at, goes = s.attend(ctx, key, at, yield)
		}
	}
}

// catchUp yields what is behind a cursor up to the head, and reports how far that is, and whether the stream goes on. That it has caught up is told once.
func catchUp(ctx context.Context, key hallKey, at int64, told bool, yield func(parley.Notification, error) bool) (int64, bool) {
	for n, err := range key.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: key.conversation, SinceSeq: at}) {
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

// attend yields what comes behind a cursor, and reports how far it has come. The stream goes on by its own where it is too far behind.
func (s *service) attend(ctx context.Context, key hallKey, at int64, yield func(parley.Notification, error) bool) (int64, bool) {
	h := s.hall(key, at)
	defer s.leave(h)
	for {
		events, more, err := h.after(at)
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

// hall gives the hall of a conversation, which leave takes back. Where there is none, one is opened whose events begin behind a cursor.
func (s *service) hall(key hallKey, since int64) *hall {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.halls[key]
	if h == nil || h.over() {
		ctx, stop := context.WithCancel(context.Background()) // of no stream: each of them may go
		h = &hall{key: key, stop: stop, gone: make(chan struct{}), since: since, news: make(chan struct{})}
		if s.halls == nil {
			s.halls = map[hallKey]*hall{}
		}
		s.halls[key] = h
		go h.run(ctx, since)
	}
	h.in++
	return h
}

// leave ends the subscription with its last stream, and waits until it has ended.
func (s *service) leave(h *hall) {
	s.mu.Lock()
	h.in--
	last := h.in == 0
	if last && s.halls[h.key] == h {
		delete(s.halls, h.key)
	}
	s.mu.Unlock()
	if last {
		h.stop()
		<-h.gone
	}
}

// run keeps what comes until ctx ends, or the subscription does.
func (h *hall) run(ctx context.Context, since int64) {
	defer close(h.gone)
	for n, err := range h.key.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: h.key.conversation, SinceSeq: since}) {
		if err != nil {
			h.end(err)
			return
		}
		if n.Event != nil {
			h.keep(n.Event)
		}
	}
	h.end(errHallEnded)
}

// keep takes the next event, and drops the oldest where there are too many.
func (h *hall) keep(e *parley.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	h.bytes += len(e.Raw())
	for len(h.events) > maxHallEvents || len(h.events) > 1 && h.bytes > maxHallBytes {
		h.since = h.events[0].Seq
		h.bytes -= len(h.events[0].Raw())
		h.events[0] = nil
		h.events = h.events[1:]
	}
	h.tellLocked()
}

func (h *hall) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	h.tellLocked()
}

func (h *hall) tellLocked() {
	close(h.news)
	h.news = make(chan struct{})
}

func (h *hall) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil
}

// errBehind is a cursor behind which something was dropped.
var errBehind = errors.New("a2a: the hall has dropped what comes next")

// after gives the events behind a cursor. Where there are none, more is closed when there are.
func (h *hall) after(at int64) (events []*parley.Event, more <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at < h.since {
		return nil, nil, errBehind
	}
	i, _ := slices.BinarySearchFunc(h.events, at+1, func(e *parley.Event, seq int64) int { return int(e.Seq - seq) })
	if i < len(h.events) {
		return slices.Clone(h.events[i:]), nil, nil
	}
	return nil, h.news, h.err
}
