package conv

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
)

// A Caller asks for commands and reads conversations. A nil Caller is the hub itself.
type Caller interface {
	// ParticipantID is the participant that the caller speaks as.
	ParticipantID() string
	// Viewer selects the events that the caller may read.
	Viewer() eventdata.Viewer
	// Has reports whether the caller has a scope.
	Has(parley.Scope) bool
	// Reads reports whether the caller may read a conversation.
	Reads(*fold.State) bool
	// Ended is closed when the caller's token is revoked; nil if that cannot happen.
	Ended() <-chan struct{}
	// Valid returns nil while the caller's token is valid, else the refusal.
	Valid(now time.Time) error
}

// An Authorizer checks requests. The conversation is locked during the calls.
type Authorizer interface {
	// Authorize adds to r.Cmd what only memory has, such as the caller's executor and claim, and
	// returns nil if r.By may ask for it on head.
	Authorize(r *Request, head *fold.State) *Refusal
}

// A Refusal is the reason why a request is not decided.
type Refusal struct {
	Err error
	// Final is set if events of other hubs cannot change the refusal.
	Final bool
}

// Freshness is implemented for hubs that share a journal.
type Freshness interface {
	// CatchUp waits until this hub has seen every event that any hub committed before the call.
	CatchUp(context.Context) error
	// Scanned returns the records after a seq of a conversation that were read from the journal
	// just now, or nil.
	Scanned(conversation string, after int64) []journal.Record
	// Yields returns how long this hub lets another hub act first on what is due in a conversation.
	// It returns 0 for the second call.
	Yields(conversation string) time.Duration
}

// Options of an Engine. All fields without a comment that allows nil are required.
type Options struct {
	Journal journal.Journal
	Logger  *slog.Logger
	// Now is the time of the hub.
	Now func() time.Time
	// MaxLoaded and MaxLoadedBytes bound the unused conversations in memory.
	MaxLoaded, MaxLoadedBytes int
	// IdleEvict is how long an unused conversation stays in memory.
	IdleEvict time.Duration
}

// Parts of the hub on which the engine calls. Authorizer and Guide are required.
type Parts struct {
	Authorizer Authorizer
	// Freshness is nil if this hub is the only one on its journal.
	Freshness Freshness
	// Observers are notified of each commit in this order.
	Observers []Observer
	// Guide returns the guidance of a participant.
	Guide func(s *fold.State, participantID string) parley.Guidance
	// AfterCommit is called after each commit of this hub, without a lock, with the state and the
	// seq of the first event that was committed; nil: no call.
	AfterCommit func(s *fold.State, first int64)
}

// Engine holds the conversations in memory and ends with the hub.
type Engine struct {
	opts    Options
	parts   Parts
	journal journal.Journal
	log     *slog.Logger
	limits  *Clock
	Lifecycle

	full    atomic.Int64  // when the last append found no room, in Unix ms of hub time; 0 when it found some
	asked   atomic.Int64  // bytes of the requests that are not answered
	crowded chan struct{} // one slot: more conversations are unused than may stay in memory

	counters      counters
	subscriptions subscriptions

	mu     sync.Mutex // guards the fields below
	loaded map[string]*Conversation
	unused unused
}

// New returns an Engine. Call Start before any other method.
func New(o Options) *Engine {
	e := &Engine{
		opts: o, journal: o.Journal, log: o.Logger, crowded: make(chan struct{}, 1),
		loaded: make(map[string]*Conversation),
		unused: unused{maxLoaded: o.MaxLoaded, maxBytes: o.MaxLoadedBytes},
	}
	e.Lifecycle.init(o.Logger)
	e.counters.appends = NewHistogram(appendBounds)
	e.limits = NewClock(e, e.tick)
	return e
}

// Connect connects the engine to the other parts of the hub, before anything is loaded.
func (e *Engine) Connect(p Parts) { e.parts = p }

// Start starts the goroutines of the engine.
func (e *Engine) Start() {
	e.wg.Go(e.sweep)
	e.wg.Go(e.limits.Run)
}

// Limits is the clock that ends what has a time limit. It is an observer.
func (e *Engine) Limits() *Clock { return e.limits }

// Now is the time of the hub.
func (e *Engine) Now() time.Time { return e.opts.Now() }

// Journal is the journal of the conversations.
func (e *Engine) Journal() journal.Journal { return e.journal }

// Log is the logger of the hub.
func (e *Engine) Log() *slog.Logger { return e.log }

// Shared reports whether other hubs write to the same journal.
func (e *Engine) Shared() bool { return e.parts.Freshness != nil }

// CatchUp waits until this hub has seen every event that any hub committed before the call. It
// returns nil at once for the only hub of a journal.
func (e *Engine) CatchUp(ctx context.Context) error {
	if e.parts.Freshness == nil {
		return nil
	}
	return e.parts.Freshness.CatchUp(ctx)
}

// FullAt returns when the last append found no room in the journal, in Unix ms; 0 if it found some.
func (e *Engine) FullAt() int64 { return e.full.Load() }

// NoteFull records that the journal had no room just now.
func (e *Engine) NoteFull() { e.full.Store(e.Now().UnixMilli()) }

// Close drains, waits for all commands and goroutines, and saves the conversations.
func (e *Engine) Close() {
	e.Drain()
	e.awaitCommands()
	e.Stop()
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.loaded))
	e.mu.Unlock()
	saveAll(all)
}

// Wait waits for a change, the timer, the end of ctx, the revocation of the caller's token, or the
// drain. With timeoutMs 0 it reports a timeout at once.
func (e *Engine) Wait(
	ctx context.Context, by Caller, changed <-chan struct{}, timer *time.Timer, timeoutMs int64,
) (timedOut bool, err error) {
	if timeoutMs == 0 {
		return true, nil
	}
	select {
	case <-changed:
		return false, nil
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-by.Ended():
		return false, by.Valid(e.Now())
	case <-e.draining:
		return false, ErrDraining
	}
}

// reservedPrefix begins the ids of the conversations in which the hub and its adapters keep data.
const reservedPrefix = "~"

// SessionPrefix begins the ids of agent sessions.
const SessionPrefix = "ses_"

// Reserved reports whether an id belongs to a conversation in which the hub or an adapter keeps data.
func Reserved(id string) bool { return strings.HasPrefix(id, reservedPrefix) }
