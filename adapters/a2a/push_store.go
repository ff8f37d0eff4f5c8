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

// The prefix of the conversations that store configurations, in sequence. A new one begins with
// copies of all configurations and the note completeSchema, and is valid after that note. The last
// valid one is current; later ones are interrupted attempts.
const storePrefix = "~a2a."

// The reasons for closing them.
const (
	storeFull    = "continued"
	storeAborted = "cut off"
)

// store is the current conversation of the store.
type store struct {
	number int64
	notes  int64
}

func (s store) id() string { return storeID(s.number) }

func storeID(n int64) string { return storePrefix + strconv.FormatInt(n, 10) }

// load reads the stored configurations. The caller must hold writeLock.
func (p *Push) load(ctx context.Context) error {
	top, err := p.lastStore(ctx)
	if err != nil {
		return err
	}
	truth, seat, err := p.currentStore(ctx, top)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.byRef, p.owned = map[string]*config{}, map[string]map[string]*config{}
	p.mu.Unlock()
	if truth == 0 {
		p.store = store{number: top}
		return p.startStore(ctx)
	}
	p.store = store{number: truth}
	if err := p.read(ctx); err != nil {
		return err
	}
	for _, c := range p.byRef {
		if c.secret == nil {
			p.log.Error("a push configuration cannot be decrypted with this key, so it is kept but not delivered", "task",
				c.Task, "config", c.ID, "owner", c.Owner)
		}
	}
	if !seat {
		return p.startStore(ctx)
	}
	return nil
}

// read folds a conversation.
func (p *Push) read(ctx context.Context) error {
	for since := int64(0); ; {
		page, err := p.opts.Store.Tail(ctx, &parley.TailParams{ConversationID: p.store.id(), SinceSeq: since,
			Limit: parley.MaxPage})
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
	return p.applyNote(&parley.Note{Schema: s.Schema, Data: s.Data})
}

// lastStore returns the number of the last conversation of the store; 0 if none exists. The
// numbers have no gaps.
func (p *Push) lastStore(ctx context.Context) (int64, error) {
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

// currentStore returns the number of the current conversation, or 0, and whether it accepts notes.
// It closes the conversations around it.
func (p *Push) currentStore(ctx context.Context, top int64) (truth int64, seat bool, err error) {
	for n := top; n > 0; n-- {
		s, err := p.look(ctx, n)
		if err != nil {
			return 0, false, err
		}
		if s.Outcome != nil && s.Outcome.Reason == storeAborted {
			continue
		}
		begun, err := p.isComplete(ctx, n)
		if err != nil {
			return 0, false, err
		}
		if begun {
			seat = s.Status == parley.StatusActive && slices.ContainsFunc(s.Participants,
				func(x parley.Participant) bool { return x.ID == p.opts.Store.AgentID() })
			return n, seat, p.close(ctx, n-1, storeFull)
		}
		if err := p.close(ctx, n, storeAborted); err != nil {
			return 0, false, err
		}
	}
	return 0, false, nil
}

// isComplete reports whether a conversation has all copies of configurations.
func (p *Push) isComplete(ctx context.Context, n int64) (bool, error) {
	for since := int64(0); ; {
		page, err := p.opts.Store.Tail(ctx, &parley.TailParams{ConversationID: storeID(n), SinceSeq: since,
			Limit: parley.MaxPage})
		if err != nil {
			return false, err
		}
		for i := range page.Events {
			if s, err := page.Events[i].System(); err == nil && s.Kind == parley.KindNote && s.Schema == completeSchema {
				return true, nil
			}
		}
		since = page.NextSeq
		if since >= page.LatestSeq {
			return false, nil
		}
	}
}

// close closes a conversation of the store, unless it is closed already. Number 0 does nothing.
func (p *Push) close(ctx context.Context, n int64, reason string) error {
	if n == 0 {
		return nil
	}
	outcome := &parley.Outcome{Status: parley.OutcomeCompleted, Reason: reason}
	if reason == storeAborted {
		outcome.Status = parley.OutcomeCanceled
	}
	return retry(ctx, func() error {
		_, err := p.opts.Store.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: storeID(n),
			Outcome: outcome})
		if errors.Is(err, parley.ErrConversationClosed) {
			return nil
		}
		return err
	})
}

// startStore continues in a new conversation. The caller must hold writeLock.
func (p *Push) startStore(ctx context.Context) error {
	next := store{number: p.store.number}
	key := rand.Text()
	for {
		next.number++
		err := retry(ctx, func() error {
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
	for _, n := range p.copyConfigs() {
		if err := p.append(ctx, next.id(), configSchema, n); err != nil {
			return err
		}
		next.notes++
	}
	if err := p.append(ctx, next.id(), completeSchema, struct{}{}); err != nil {
		return err // if the note was written nevertheless, the next attempt closes this conversation
	}
	old := p.store.number
	next.notes++
	p.store = next
	if err := p.close(ctx, old, storeFull); err != nil {
		p.log.Warn("cannot close the previous conversation of push notifications", "conversation", storeID(old), "error", err)
	}
	return nil
}

// copyConfigs returns all configurations, oldest first.
func (p *Push) copyConfigs() (out []*configNote) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.byRef {
		out = append(out, &configNote{c.configIdentity, c.progress})
	}
	slices.SortFunc(out, func(a, b *configNote) int { return a.At.Compare(b.At) })
	return out
}

// write appends a note and folds it.
func (p *Push) write(ctx context.Context, schema string, data any) error {
	select {
	case p.writeLock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.writeLock }()
	return p.writeHeld(ctx, schema, data)
}

// writeHeld is write for callers that hold writeLock.
func (p *Push) writeHeld(ctx context.Context, schema string, data any) error {
	// the copies are not counted, otherwise there would be no room for other notes
	if p.store.notes >= p.pace.notes+p.configCount() {
		if err := p.startStore(ctx); err != nil {
			return err
		}
	}
	err := p.append(ctx, p.store.id(), schema, data)
	if errors.Is(err, parley.ErrConversationClosed) { // by an admin or a limit
		if err = p.startStore(ctx); err == nil {
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
	return p.applyNote(&parley.Note{Schema: schema, Data: raw})
}

func (p *Push) configCount() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(len(p.byRef))
}

// append appends a note once.
func (p *Push) append(ctx context.Context, conversation, schema string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	q := &parley.SendNoteParams{ConversationID: conversation, Payload: parley.Note{Schema: schema, Data: raw},
		ClientRequestID: rand.Text()}
	return retry(ctx, func() error {
		_, err := p.opts.Store.SendNote(ctx, q)
		return err
	})
}

// retry calls f until it succeeds or is refused, for about the time of a restart of a hub. f may be
// called again after it had an effect.
func retry(ctx context.Context, f func() error) error {
	pause := 50 * time.Millisecond
	for {
		err := f()
		if err == nil || pause > 4*time.Second || !parley.ErrorRowOf(err).Retryable || ctx.Err() != nil {
			return err
		}
		if sleep(ctx, pause) != nil {
			return err
		}
		pause *= 2
	}
}

// sleep waits. It returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
