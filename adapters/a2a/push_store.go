package a2a

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/parleyhub/parley"
)

// The conversations in which configurations are kept, one after the other: a new one begins with what is live and the note begunSchema, and counts from then on. So the
// truth is the last one that has begun; those behind it are of attempts that were cut off.
const storePrefix = "~a2a."

// The reasons with which they are closed.
const (
	storeFull    = "continued"
	storeAborted = "cut off"
)

// store is where notes are written now.
type store struct {
	number int64
	notes  int64
}

func (s store) id() string { return storeID(s.number) }

func storeID(n int64) string { return storePrefix + strconv.FormatInt(n, 10) }

// load reads what is kept. The pen is held.
func (p *Push) load(ctx context.Context) error {
	top, err := p.top(ctx)
	if err != nil {
		return err
	}
	truth, seat, err := p.truth(ctx, top)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.byRef, p.owned = map[string]*config{}, map[string]map[string]*config{}
	p.mu.Unlock()
	if truth == 0 {
		p.store = store{number: top}
		return p.roll(ctx)
	}
	p.store = store{number: truth}
	if err := p.read(ctx); err != nil {
		return err
	}
	for _, c := range p.byRef {
		if c.secret == nil {
			p.log.Error("a push configuration does not open with this key: it is kept, and not delivered", "task", c.Task, "config", c.ID, "owner", c.Owner)
		}
	}
	if !seat {
		return p.roll(ctx)
	}
	return nil
}

// read folds a conversation.
func (p *Push) read(ctx context.Context) error {
	for since := int64(0); ; {
		page, err := p.opts.Store.Tail(ctx, &parley.TailParams{ConversationID: p.store.id(), SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return err
		}
		for i := range page.Events {
			if err := p.takeEvent(&page.Events[i]); err != nil {
				return fmt.Errorf("%s, seq %d: %w", p.store.id(), page.Events[i].Seq, err)
			}
		}
		since = page.NextSeq
		if since >= page.LatestSeq {
			p.store.notes = page.LatestSeq
			return nil
		}
	}
}

func (p *Push) takeEvent(e *parley.Event) error {
	if e.Type != parley.TypeSystem {
		return nil
	}
	s, err := e.System()
	if err != nil || s.Kind != parley.KindNote {
		return err
	}
	return p.take(&parley.Note{Schema: s.Schema, Data: s.Data})
}

// top finds the last conversation that there is; 0: none. They have no gap.
func (p *Push) top(ctx context.Context) (int64, error) {
	there := func(n int64) (bool, error) {
		_, err := p.look(ctx, n)
		if errors.Is(err, parley.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	low, high := int64(0), int64(1)
	for {
		ok, err := there(high)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		low, high = high, 2*high
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		ok, err := there(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return low, nil
}

func (p *Push) look(ctx context.Context, n int64) (*parley.Snapshot, error) {
	return p.opts.Store.GetConversation(ctx, &parley.GetConversationParams{ConversationID: storeID(n), Limit: 1})
}

// truth finds the conversation that counts, 0 for none, and whether notes can be written there. Those beside it are closed.
func (p *Push) truth(ctx context.Context, top int64) (truth int64, seat bool, err error) {
	for n := top; n > 0; n-- {
		s, err := p.look(ctx, n)
		if err != nil {
			return 0, false, err
		}
		if s.Outcome != nil && s.Outcome.Reason == storeAborted {
			continue
		}
		begun, err := p.begun(ctx, n)
		if err != nil {
			return 0, false, err
		}
		if begun {
			seat = s.Status == parley.StatusActive && slices.ContainsFunc(s.Participants, func(x parley.Participant) bool { return x.ID == p.opts.Store.AgentID() })
			return n, seat, p.close(ctx, n-1, storeFull)
		}
		if err := p.close(ctx, n, storeAborted); err != nil {
			return 0, false, err
		}
	}
	return 0, false, nil
}

// begun reports whether all that was live has come into a conversation.
func (p *Push) begun(ctx context.Context, n int64) (bool, error) {
	for since := int64(0); ; {
		page, err := p.opts.Store.Tail(ctx, &parley.TailParams{ConversationID: storeID(n), SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return false, err
		}
		for i := range page.Events {
			if s, err := page.Events[i].System(); err == nil && s.Kind == parley.KindNote && s.Schema == begunSchema {
				return true, nil
			}
		}
		since = page.NextSeq
		if since >= page.LatestSeq {
			return false, nil
		}
	}
}

// close closes a conversation of the store; one that is closed stays as it is, and before the first there is none.
func (p *Push) close(ctx context.Context, n int64, reason string) error {
	if n == 0 {
		return nil
	}
	outcome := &parley.Outcome{Status: parley.OutcomeCompleted, Reason: reason}
	if reason == storeAborted {
		outcome.Status = parley.OutcomeCanceled
	}
	return again(ctx, func() error {
		_, err := p.opts.Store.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: storeID(n), Outcome: outcome})
		if errors.Is(err, parley.ErrConversationClosed) {
			return nil
		}
		return err
	})
}

// roll goes on in a new conversation. The pen is held.
func (p *Push) roll(ctx context.Context) error {
	next := store{number: p.store.number}
	key := rand.Text()
	for {
		next.number++
		err := again(ctx, func() error {
			_, err := p.opts.Store.CreateConversation(ctx, &parley.CreateConversationParams{
				ConversationID: next.id(), Title: "A2A push notifications", ClientRequestID: key,
				Participants: []parley.Participant{{ID: p.opts.Store.AgentID(), Kind: parley.KindTool}},
			})
			return err
		})
		if err == nil {
			break
		}
		if !errors.Is(err, parley.ErrAlreadyExists) && !errors.Is(err, parley.ErrIdempotencyConflict) {
			return err
		}
		if err := p.close(ctx, next.number, storeAborted); err != nil {
			return err
		}
	}
	next.notes = 1
	for _, n := range p.all() {
		if err := p.append(ctx, next.id(), configSchema, n); err != nil {
			return err
		}
		next.notes++
	}
	if err := p.append(ctx, next.id(), begunSchema, struct{}{}); err != nil {
		return err // if it is there nevertheless: nothing is written before the next attempt, which closes this one
	}
	old := p.store.number
	next.notes++
	p.store = next
	if err := p.close(ctx, old, storeFull); err != nil {
		p.log.Warn("cannot close what push notifications were kept in", "conversation", storeID(old), "error", err)
	}
	return nil
}

// all are the configurations as they stand, the oldest first.
func (p *Push) all() (out []*configNote) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.byRef {
		out = append(out, &configNote{c.about, c.progress})
	}
	slices.SortFunc(out, func(a, b *configNote) int { return a.At.Compare(b.At) })
	return out
}

// write adds a note and folds it.
func (p *Push) write(ctx context.Context, schema string, data any) error {
	select {
	case p.pen <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.pen }()
	return p.writeHeld(ctx, schema, data)
}

// writeHeld is write with the pen held.
func (p *Push) writeHeld(ctx context.Context, schema string, data any) error {
	if p.store.notes >= p.pace.notes+p.count() { // what is live is not counted, or there would be no room for anything else
		if err := p.roll(ctx); err != nil {
			return err
		}
	}
	err := p.append(ctx, p.store.id(), schema, data)
	if errors.Is(err, parley.ErrConversationClosed) { // by an admin, or a limit
		if err = p.roll(ctx); err == nil {
			err = p.append(ctx, p.store.id(), schema, data)
		}
	}
	if err != nil {
		return err
	}
	p.store.notes++
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return p.take(&parley.Note{Schema: schema, Data: raw})
}

func (p *Push) count() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(len(p.byRef))
}

// append writes a note once.
func (p *Push) append(ctx context.Context, conversation, schema string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	q := &parley.SendNoteParams{ConversationID: conversation, Payload: parley.Note{Schema: schema, Data: raw}, ClientRequestID: rand.Text()}
	return again(ctx, func() error {
		_, err := p.opts.Store.SendNote(ctx, q)
		return err
	})
}

// again calls f until it is done or refused, for as long as a hub takes to be restarted. f may be called twice for one effect.
func again(ctx context.Context, f func() error) error {
	pause := 50 * time.Millisecond
	for {
		err := f()
		if err == nil || pause > 4*time.Second || !parley.ErrorRowOf(err).Retryable || ctx.Err() != nil {
			return err
		}
		if rest(ctx, pause) != nil {
			return err
		}
		pause *= 2
	}
}

// rest waits, and gives ctx's error if that ends first.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
