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

// What is kept of logs, in all.
const (
	maxBooks     = 1024
	maxBookBytes = 64 << 20
	maxPlaces    = 16 << 10
	// kindAge is how long it is believed what kind of agent one is.
	kindAge = 10 * time.Second
)

// service is what the methods keep besides the log: what can be read there again. It says nothing about who may read: that is asked of the hub each time.
// The zero value is good.
type service struct {
	mu     sync.Mutex                // guards the fields below
	books  map[bookKey]*list.Element // of *book
	recent list.List                 // the same, the last that was used first
	bytes  int                       // of all books
	places map[string]*place         // by conversation
	kinds  map[string]kind           // of agents of the hub, by name
	halls  map[hallKey]*hall         // those with streams in them
}

type kind struct {
	deterministic bool
	at            time.Time
}

type bookKey struct{ conversation, caller string }

// book is the tape of one conversation and one of its callers, brought forward from the log when it is asked for.
type book struct {
	key   bookKey
	facts facts
	gate  chan struct{} // held by who uses the fields below
	tape  *tape
	size  int // as it is counted in service.bytes: guarded by the service
	lent  int // to how many: guarded by the service
}

// facts are whether the caller had the floor after events of the past: that never changes.
type facts struct {
	mu    sync.Mutex // guards the field below
	floor map[int64]bool
}

func (f *facts) get(seq int64) (floor, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	floor, known = f.floor[seq]
	return floor, known
}

func (f *facts) put(seq int64, floor bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.floor == nil {
		f.floor = map[int64]bool{}
	}
	f.floor[seq] = floor
}

func (f *facts) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.floor)
}

// ask tells whether the caller may speak after e. next are events that follow it, none: not known; anyone says that the policy is open. The hub folds the whole
// log to answer for the past, so it is asked only where what follows does not tell who had the floor.
func (f *facts) ask(ctx context.Context, client parley.Client, key bookKey, e *parley.Event, anyone bool, next []parley.Event) (bool, error) {
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
	// After a message one participant has the floor, unless the policy is open. After a turn without one it may be all of them.
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

// tookNext reports whether it was the caller who took the next turn, if some events tell: the first of them that has to do with turns.
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

// lend gives the book of a conversation and a caller; giveBack returns it.
func (s *service) lend(key bookKey) *book {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.books[key]; at != nil {
		s.recent.MoveToFront(at)
		b := at.Value.(*book)
		b.lent++
		return b
	}
	if s.books == nil {
		s.books = map[bookKey]*list.Element{}
	}
	b := &book{key: key, gate: make(chan struct{}, 1), lent: 1}
	s.books[key] = s.recent.PushFront(b)
	return b
}

// giveBack returns a book. size is what it holds; negative: as before.
func (s *service) giveBack(b *book, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.lent--
	if size >= 0 {
		s.bytes += size - b.size
		b.size = size
	}
	for at := s.recent.Back(); at != nil && (s.recent.Len() > maxBooks || s.bytes > maxBookBytes); {
		before := at.Prev()
		if old := at.Value.(*book); old.lent == 0 {
			s.bytes -= old.size
			s.recent.Remove(at)
			delete(s.books, old.key)
		}
		at = before
	}
}

// read brings the tape of the caller up to the head of the log, as the hub shows it to this caller now, and has f look at it. f keeps nothing of it.
func (s *Server) read(ctx context.Context, c *caller, p *place, f func(*tape)) error {
	b := s.lend(bookKey{p.conversation, c.client.AgentID()})
	size := -1
	defer func() { s.giveBack(b, size) }()
	select {
	case b.gate <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.gate }()
	if b.tape == nil {
		b.tape = newTape(b.key.caller, p)
	}
	err := b.forward(ctx, c.client)
	if errors.Is(err, parley.ErrCursorAhead) { // the log is another one
		b.tape = newTape(b.key.caller, p)
		b.facts.forget()
		err = b.forward(ctx, c.client)
	}
	size = b.tape.bytes
	if err != nil {
		return hidden(err)
	}
	f(b.tape)
	return nil
}

// forward takes what is new in the log.
func (b *book) forward(ctx context.Context, client parley.Client) error {
	for {
		page, err := client.Tail(ctx, &parley.TailParams{ConversationID: b.key.conversation, SinceSeq: b.tape.seen, Limit: parley.MaxPage})
		if err != nil {
			return err
		}
		for i := range page.Events {
			if err := b.take(ctx, client, page.Events[i:]); err != nil {
				return err
			}
		}
		b.tape.seen = max(b.tape.seen, page.NextSeq)
		if page.NextSeq >= page.LatestSeq {
			return nil
		}
	}
}

// take takes the first of some events. Traces change no task and are passed over: not every client of this caller need see them.
func (b *book) take(ctx context.Context, client parley.Client, events []parley.Event) error {
	e := &events[0]
	if e.Type == parley.TypeTrace {
		b.tape.seen = e.Seq
		return nil
	}
	floor := false
	if b.tape.ledger.asks(e) {
		var err error
		if floor, err = b.facts.ask(ctx, client, b.key, e, b.tape.ledger.anyone, events[1:]); err != nil {
			return err
		}
	}
	b.tape.take(e, floor)
	return nil
}
