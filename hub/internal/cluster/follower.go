// Package cluster connects hubs that share a journal. A [Follower] reads what other hubs append, so
// that readers wake up and observers see each state. A [Presence] exchanges messages with the other
// hubs: which executors and agents are connected where, and deltas.
//
// No decision depends on either. A hub decides on the head of its journal: an append on an old head
// fails and is decided again. A refusal that may be due to an old state is returned after
// [Follower.CatchUp] only.
//
// Goroutines: [Follower.Run] and [Presence.Run], both started by the hub. Received messages come on a
// goroutine of [Peers]. Locks: Presence.mu is taken after all other mutexes of the hub, and neither
// mutex of this package is held during a call to another package.
package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/journal"
)

// Follower reads a shared journal in commit order.
type Follower struct {
	engine  *conv.Engine
	journal journal.Journal
	readers map[string]func() error // by conversation: called after each of its commits
	checkID string                  // of a conversation that never exists; checks are for it

	mu      sync.Mutex // guards the fields below
	at      journal.Position
	changed chan struct{}               // closed when at changes; nil when no one waits
	scanned []journal.Record            // by the last Scan
	page    map[string][]journal.Record // the same by conversation, made on demand

	checks checks
}

// checks are batches without events by which a hub catches up. One is under way at a time. Callers
// that come later share the next one, so that the cost does not depend on the number of refusals.
type checks struct {
	mu       sync.Mutex // guards the fields below
	underWay bool
	next     *check // for callers that came after the current one was sent; nil if no caller waits
}

type check struct {
	done chan struct{} // closed when it is answered
	err  error
}

// NewFollower returns a follower that begins at the end of the journal. Nothing may be loaded before.
// After each commit to a conversation in readers, by any hub, it calls the function.
func NewFollower(e *conv.Engine, hubID string, readers map[string]func() error) *Follower {
	return &Follower{
		engine: e, journal: e.Journal(), at: e.Journal().Last(), readers: readers, checkID: "~sure." + hubID,
	}
}

// retryScan is when the journal is read again after an error.
const retryScan = time.Second

// Run follows the journal until the hub ends.
func (f *Follower) Run() {
	at := f.at
	for {
		changed := f.journal.Watch()
		records, err := f.journal.Scan(at, 1000, 4<<20)
		if err != nil {
			if errors.Is(err, journal.ErrClosed) {
				return
			}
			f.engine.Log().Error("cannot follow the journal", "error", err)
			changed = nil
		}
		f.keepScanned(records)
		for i, r := range records {
			if i+1 == len(records) || records[i+1].Conversation != r.Conversation { // else a later record follows
				f.refresh(r.Conversation, r.Seq)
			}
			at = r.Position
		}
		if len(records) > 0 {
			f.move(at)
			continue
		}
		if !f.wait(changed, err != nil) {
			return
		}
	}
}

// wait waits for a change, or for the time of a retry. It returns false when the hub ends.
func (f *Follower) wait(changed <-chan struct{}, failed bool) bool {
	var retry <-chan time.Time
	if failed {
		timer := time.NewTimer(retryScan)
		defer timer.Stop()
		retry = timer.C
	}
	select {
	case <-changed:
	case <-retry:
	case <-f.engine.Context().Done():
		return false
	}
	return true
}

func (f *Follower) refresh(id string, seq int64) {
	if read := f.readers[id]; read != nil {
		if err := read(); err != nil {
			f.engine.Log().Error("cannot follow a conversation of the hub", "conversation", id, "error", err)
		}
	}
	f.engine.Refresh(id, seq)
}

// keepScanned keeps records for the conversations that read them next, until the next call.
func (f *Follower) keepScanned(records []journal.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scanned, f.page = records, nil
}

// Scanned returns the records after a seq of a conversation, if the last scan has them without a gap.
func (f *Follower) Scanned(conversation string, after int64) []journal.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.page == nil {
		f.page = make(map[string][]journal.Record, len(f.scanned))
		for _, r := range f.scanned {
			f.page[r.Conversation] = append(f.page[r.Conversation], r)
		}
	}
	records := f.page[conversation]
	if len(records) == 0 || after+1 < records[0].Seq {
		return nil
	}
	return records[min(after+1-records[0].Seq, int64(len(records))):]
}

func (f *Follower) move(at journal.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// position returns how far the follower has read, and a channel that the next move closes.
func (f *Follower) position() (journal.Position, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.at, f.changed
}

// catchUpTime bounds how long a refusal waits for the journal.
const catchUpTime = 5 * time.Second

// errBehind is returned when a refusal may be due to an old state and the journal does not answer.
var errBehind = &parley.Error{
	Err:     parley.ErrUnavailable,
	Message: "the hub cannot check at the moment whether it is behind the other hubs", RetryAfterMs: 500,
}

// CatchUp waits until this hub has seen every event that any hub committed before the call. It fails
// with ErrUnavailable after 5 s. The goroutines of the journal and of Run must not call it.
func (f *Follower) CatchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	c := f.joinCheck()
	select {
	case <-c.done:
	case <-f.engine.Draining():
		return conv.ErrDraining
	case <-ctx.Done():
		return errBehind
	}
	switch {
	case errors.Is(c.err, journal.ErrClosed):
		return conv.ErrDraining
	case c.err != nil:
		return errBehind
	}
	return f.waitFor(ctx, f.journal.Last())
}

// waitFor waits until the follower has read up to a position.
func (f *Follower) waitFor(ctx context.Context, want journal.Position) error {
	for {
		at, changed := f.position()
		if at >= want {
			return nil
		}
		select {
		case <-changed:
		case <-f.engine.Draining():
			return conv.ErrDraining
		case <-ctx.Done():
			return errBehind
		}
	}
}

func (f *Follower) joinCheck() *check {
	f.checks.mu.Lock()
	if f.checks.next == nil {
		f.checks.next = &check{done: make(chan struct{})}
	}
	c, first := f.checks.next, !f.checks.underWay
	if first {
		f.checks.underWay, f.checks.next = true, nil
	}
	f.checks.mu.Unlock()
	if first {
		f.sendCheck(c)
	}
	return c
}

// sendCheck submits a batch without events for a conversation that never exists. Its condition always
// holds. The answer comes when reads show everything that was committed before.
func (f *Follower) sendCheck(c *check) {
	f.journal.Submit(journal.Batch{Conversation: f.checkID, Done: func(_ journal.Head, err error) {
		c.err = err
		close(c.done)
		f.checks.mu.Lock()
		next := f.checks.next
		f.checks.next, f.checks.underWay = nil, next != nil
		f.checks.mu.Unlock()
		if next != nil {
			f.sendCheck(next)
		}
	}})
}
