package a2a

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// Limits of all cached data.
const (
	maxFolds     = 1024
	maxFoldBytes = 64 << 20
	maxPlaces    = 16 << 10
	// kindAge is how long the type of an agent is cached.
	kindAge = 10 * time.Second
)

// service caches data of the log that can be read again. It does not decide on access: every call
// asks the hub. The zero value is ready to use.
type service struct {
	mu     sync.Mutex                        // guards the fields below
	folds  map[foldKey]*list.Element         // of *cachedFold
	recent list.List                         // the same, most recently used first
	bytes  int                               // of all cached folds
	places map[string]*conversationInfo      // by conversation
	kinds  map[string]kind                   // by agent name
	shared map[sharedKey]*sharedSubscription // those with streams
}

type kind struct {
	deterministic bool
	at            time.Time
}

type foldKey struct{ conversation, caller string }

// cachedFold is the fold of one conversation for one of its callers. It is updated from the log on
// each use.
type cachedFold struct {
	key        foldKey
	floorFacts floorFacts
	lock       chan struct{} // a lock for the fields below
	state      *foldState
	size       int // its part of service.bytes, guarded by the service
	users      int // number of users, guarded by the service
}

// floorFacts records whether the caller had the floor after past events, which never changes.
type floorFacts struct {
	mu    sync.Mutex // guards the field below
	floor map[int64]bool
}

func (f *floorFacts) get(seq int64) (floor, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	floor, known = f.floor[seq]
	return floor, known
}

func (f *floorFacts) put(seq int64, floor bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.floor == nil {
		f.floor = map[int64]bool{}
	}
	f.floor[seq] = floor
}

func (f *floorFacts) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.floor)
}

// callerHasFloor reports whether the caller may speak after e. next has the events after it, if
// they are known. anyone means that the policy is open. The hub must fold the whole log to explain
// the past, so it is asked only if the next events do not show who had the floor.
func (f *floorFacts) callerHasFloor(ctx context.Context, client parley.Client, key foldKey, e *parley.Event,
	anyone bool, next []parley.Event) (bool, error) {
	if floor, known := f.get(e.Seq); known {
		return floor, nil
	}
	if len(next) == 0 {
		page, err := client.Tail(ctx, &parley.TailParams{ConversationID: key.conversation, SinceSeq: e.Seq, Limit: 8})
		if err != nil {
			return false, err
		}
		next = page.Events
	}
	// After a message, one participant has the floor, unless the policy is open. After a turn without
	// a message, it may be all of them.
	floor, known := tookNext(key.caller, next)
	if known && (floor || !anyone && e.Type == parley.TypeMessage) {
		f.put(e.Seq, floor)
		return floor, nil
	}
	r, err := client.Explain(ctx, &parley.ExplainParams{ConversationID: key.conversation, Seq: e.Seq})
	if err != nil {
		return false, err
	}
	floor = slices.ContainsFunc(r.Guidance, func(g parley.ParticipantGuidance) bool {
		return g.ParticipantID == key.caller && g.Guidance.Kind == parley.MaySpeak
	})
	f.put(e.Seq, floor)
	return floor, nil
}

// tookNext reports whether the caller took the next turn. It decides by the first event that
// concerns turns, and known is false if none exists.
func tookNext(caller string, next []parley.Event) (own, known bool) {
	for i := range next {
		e := &next[i]
		if e.Type != parley.TypeSystem {
			return e.From == caller, e.From != parley.HubID && (e.Type == parley.TypeMessage || e.Type == parley.TypeTrace)
		}
		s, err := e.System()
		if err != nil {
			return false, false
		}
		switch s.Kind {
		case parley.KindTurnClaimed:
			return s.AgentID == caller, true
		case parley.KindAttachmentAdded, parley.KindNote:
		default:
			return false, false
		}
	}
	return false, false
}

// acquire returns the cached fold of a conversation and a caller. release must be called after use.
func (s *service) acquire(key foldKey) *cachedFold {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.folds[key]; at != nil {
		s.recent.MoveToFront(at)
		b := at.Value.(*cachedFold)
		b.users++
		return b
	}
	if s.folds == nil {
		s.folds = map[foldKey]*list.Element{}
	}
	b := &cachedFold{key: key, lock: make(chan struct{}, 1), users: 1}
	s.folds[key] = s.recent.PushFront(b)
	return b
}

// release ends the use of a cached fold. size is its new size; a negative size means unchanged.
func (s *service) release(b *cachedFold, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.users--
	if size >= 0 {
		s.bytes += size - b.size
		b.size = size
	}
	for at := s.recent.Back(); at != nil && (s.recent.Len() > maxFolds || s.bytes > maxFoldBytes); {
		before := at.Prev()
		if old := at.Value.(*cachedFold); old.users == 0 {
			s.bytes -= old.size
			s.recent.Remove(at)
			delete(s.folds, old.key)
		}
		at = before
	}
}

// read updates the fold of the caller to the head of the log, as the hub shows it to this caller,
// and calls f with it. f must not keep it.
func (s *Server) read(ctx context.Context, c *caller, p *conversationInfo, f func(*foldState)) error {
	b := s.acquire(foldKey{p.conversation, c.client.AgentID()})
	size := -1
	defer func() { s.release(b, size) }()
	select {
	case b.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.lock }()
	if b.state == nil {
		b.state = newFoldState(b.key.caller, p)
	}
	err := b.forward(ctx, c.client)
	if errors.Is(err, parley.ErrCursorAhead) { // the log was replaced
		b.state = newFoldState(b.key.caller, p)
		b.floorFacts.forget()
		err = b.forward(ctx, c.client)
	}
	size = b.state.bytes
	if err != nil {
		return hideNotFound(err)
	}
	f(b.state)
	return nil
}

// forward folds the new events of the log.
func (b *cachedFold) forward(ctx context.Context, client parley.Client) error {
	for {
		page, err := client.Tail(ctx, &parley.TailParams{ConversationID: b.key.conversation, SinceSeq: b.state.seen,
			Limit: parley.MaxPage})
		if err != nil {
			return err
		}
		for i := range page.Events {
			if err := b.foldFirst(ctx, client, page.Events[i:]); err != nil {
				return err
			}
		}
		b.state.seen = max(b.state.seen, page.NextSeq)
		if page.NextSeq >= page.LatestSeq {
			return nil
		}
	}
}

// foldFirst folds the first of events. It skips traces, because they change no task and not every
// client of this caller can see them.
func (b *cachedFold) foldFirst(ctx context.Context, client parley.Client, events []parley.Event) error {
	e := &events[0]
	if e.Type == parley.TypeTrace {
		b.state.seen = e.Seq
		return nil
	}
	floor := false
	if b.state.tasks.needsFloor(e) {
		var err error
		if floor, err = b.floorFacts.callerHasFloor(ctx, client, b.key, e, b.state.tasks.anyone, events[1:]); err != nil {
			return err
		}
	}
	b.state.fold(e, floor)
	return nil
}
