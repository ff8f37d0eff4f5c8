package hub

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/vector"
)

// Options of a hub. Nil and the zero value are valid.
type Options struct {
	// RootToken, if not empty, is a token with scope admin that speaks as any id.
	RootToken string
	// Version is the semantic version that clients see; empty means 0.0.0.
	Version string
	// Commit and Date are the commit that the program was built from and the time of that commit.
	// Clients see them too. Empty and zero mean that they are unknown.
	Commit string
	Date   time.Time
	// Logger gets what nobody can be told otherwise; nil discards it.
	Logger *slog.Logger
	// MaxLoaded bounds the conversations in memory that nobody uses at the moment; 0 means 4096.
	MaxLoaded int
	// MaxLoadedBytes bounds about the bytes of the same; 0 means 256 MiB, or a quarter of what the process may have, where that is less.
	MaxLoadedBytes int
	// IdleEvict is how long a conversation that nobody uses stays in memory; 0 means 5 minutes.
	IdleEvict time.Duration
	// Verifier is asked for tokens that are neither the root token nor begin as the hub's own do; nil: there are no others.
	Verifier Verifier
	// Tracer is told of turns, when they end; nil: nobody is.
	Tracer parley.Tracer
	// Embedder finds what is alike for selectors that fetch by vector; nil means vector.Lexical.
	Embedder vector.Embedder
	// VectorFile is where the vectors of texts are kept, so that a restart does not pay for them again; empty, in memory. It may be deleted while the hub is stopped.
	VectorFile string
	// NewID makes ids that begin with prefix, on any goroutine; nil means random ones.
	NewID func(prefix string) string
	// NewSecret makes the secret of a token; nil means 256 random bits.
	NewSecret func() string

	// Peers, if not nil, says that other hubs serve the same journal, and reaches them; nil: this hub is the only one. Each hub needs one of its own.
	Peers Peers

	skew time.Duration // of the clock, for tests
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Version == "" {
		d.Version = "0.0.0"
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.MaxLoaded == 0 {
		d.MaxLoaded = 4096
	}
	if d.MaxLoadedBytes == 0 {
		d.MaxLoadedBytes = roomIn(memoryLimit())
	}
	if d.IdleEvict == 0 {
		d.IdleEvict = 5 * time.Minute
	}
	if d.Embedder == nil {
		d.Embedder = vector.Lexical{}
	}
	if d.NewID == nil {
		d.NewID = randomID
	}
	if d.NewSecret == nil {
		d.NewSecret = randomSecret
	}
	return d
}

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func randomID(prefix string) string {
	b := make([]byte, 15)
	rand.Read(b) // never fails (crypto/rand)
	return prefix + base32Lower.EncodeToString(b)
}

func randomSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Hub is a hub on a journal.
type Hub struct {
	journal  journal.Journal
	opts     Options
	shared   bool // other hubs serve the same journal
	log      *slog.Logger
	started  time.Time
	root     *[sha256.Size]byte
	tokens   *tokens
	clock    *clock
	turns    *turns
	follower follower
	catching catching
	presence *presence

	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	draining chan struct{}
	failed   chan struct{}
	full     atomic.Int64  // when the last append found no room, in Unix ms of hub time; 0 when it found some
	crowded  chan struct{} // one slot: more conversations are unused than are kept

	verifying chan struct{} // a slot for each token that Options.Verifier looks at
	forks     chan struct{} // a slot for each fork that is made

	counters    counters
	subscribers subscribers
	agents      agents
	runners     *runners
	sessions    *sessions
	triggers    *triggers
	contexts    *contexts
	approvals   *approvals
	changes     *changes
	observers   []observer // notified of each commit in this order
	backup      sync.Mutex // held by the one backup that is under way
	uploads     *uploads
	files       *files

	mu      sync.Mutex // guards the fields below
	loaded  map[string]*conversation
	unused  unused
	drained bool
	failure error
	ops     int       // commands that are not answered
	quiet   sync.Cond // on mu: ops has become 0
}

// Open starts a hub on j. The hub does not close j; do so after Close.
func Open(j journal.Journal, o *Options) (*Hub, error) {
	h := &Hub{
		journal: j, opts: o.withDefaults(), started: time.Now(),
		draining: make(chan struct{}), failed: make(chan struct{}), verifying: make(chan struct{}, maxVerifying), forks: make(chan struct{}, maxForking),
		uploads: newUploads(), files: newFiles(j),
		loaded: make(map[string]*conversation), crowded: make(chan struct{}, 1),
	}
	h.log, h.shared = h.opts.Logger, h.opts.Peers != nil
	h.quiet.L = &h.mu
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if h.opts.RootToken != "" {
		sum := sha256.Sum256([]byte(h.opts.RootToken))
		h.root = &sum
	}
	h.clock = newClock(h, h.tick)
	h.changes = newChanges(h.opts.NewID)
	h.turns = newTurns(h)
	h.runners, h.sessions, h.approvals = newRunners(h), newSessions(h), newApprovals()
	h.triggers, h.contexts = newTriggers(h), newContexts(h)
	h.observers = h.newObservers()
	if h.shared {
		h.presence = newPresence(h)
		h.agents.presence = h.presence
		h.catching.id = "~sure." + h.presence.id
		h.follower.at = j.Last() // before anything is loaded
	}
	var err error
	if h.tokens, err = loadTokens(h); err != nil {
		h.cancel()
		return nil, fmt.Errorf("load tokens: %w", err)
	}
	if err = h.runners.load(); err != nil {
		h.cancel()
		return nil, fmt.Errorf("load runners: %w", err)
	}
	if h.shared {
		if err = h.presence.begin(); err != nil {
			h.cancel()
			return nil, fmt.Errorf("listen to the other hubs: %w", err)
		}
		h.wg.Go(h.follow)
	}
	h.wg.Go(h.sweep)
	h.wg.Go(h.runners.alarm.run)
	h.wg.Go(h.sessions.errands.run)
	h.wg.Go(h.sessions.errands.alarm.run)
	h.wg.Go(h.triggers.run)
	h.wg.Go(h.triggers.errands.alarm.run)
	h.wg.Go(h.clock.run)
	h.wg.Go(h.turns.alarm.run)
	h.wg.Go(h.turns.recover)
	return h, nil
}

// Now is hub time: the wall clock of the start, moved on by the monotonic clock, so that a jump of the wall
// clock closes nothing.
func (h *Hub) Now() time.Time { return h.started.Add(time.Since(h.started) + h.opts.skew) }

// Info describes the hub.
func (h *Hub) Info() parley.HubInfo {
	i := parley.HubInfo{Version: h.opts.Version, Commit: h.opts.Commit, NowMs: h.Now().UnixMilli()}
	if !h.opts.Date.IsZero() {
		i.Date = parley.TimestampOf(h.opts.Date)
	}
	return i
}

// Done is closed when the hub drains.
func (h *Hub) Done() <-chan struct{} { return h.draining }

// Failed is closed when the journal can take no more writes because the outcome of a commit is unknown. The process should exit; what is in
// the log is known when it is opened again.
func (h *Hub) Failed() <-chan struct{} { return h.failed }

// Err says why the hub failed, or nil.
func (h *Hub) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure
}

// fullMs is how long a hub whose storage was full is not ready; then the next append shall find out.
const fullMs = 10_000

// Ready says why the hub does not serve reads and writes, or nil. With a full storage it serves reads, and takes writes to find out whether
// there is room again, but is not ready; so it is while its journal says, by a method Ready of its own, that it cannot be reached.
func (h *Hub) Ready() error {
	if err := h.serving(); err != nil {
		return err
	}
	if j, ok := h.journal.(interface{ Ready() error }); ok {
		if err := j.Ready(); err != nil {
			return unavailable(err)
		}
	}
	if at := h.full.Load(); at > 0 && h.Now().UnixMilli() < at+fullMs {
		return refusalOf(journal.ErrStorageFull)
	}
	return nil
}

// Shares reports whether other hubs serve the same journal.
func (h *Hub) Shares() bool { return h.shared }

// Apart says why the hub can neither write nor know what others have written, because its journal says so by a method Reached of its own; nil while it can. A hub that is only behind is not apart.
func (h *Hub) Apart() error {
	if j, ok := h.journal.(interface{ Reached() error }); ok {
		return unavailable(j.Reached())
	}
	return nil
}

// unavailable gives what a journal says of itself to callers.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return refusalOf(fmt.Errorf("%w: %w", journal.ErrUnavailable, err))
}

// serving says why the hub takes no calls, or nil.
func (h *Hub) serving() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case errors.Is(h.failure, journal.ErrFormat):
		return errNewer
	case h.failure != nil:
		return parley.Refuse(parley.ErrUnavailable, "the log takes no more writes until the hub is started again", "")
	case h.drained:
		return errDraining
	}
	return nil
}

var errDraining = parley.Refuse(parley.ErrUnavailable, "the hub is about to stop", "")

func (h *Hub) fail(err error) {
	h.mu.Lock()
	first := h.failure == nil
	if first {
		h.failure = err
		close(h.failed)
	}
	h.mu.Unlock()
	if first {
		h.log.Error("the outcome of a commit is unknown: no more writes", "error", err)
	}
}

// Drain takes no new calls: every one, and everything that waits, gets ErrUnavailable. Appends that were decided are still
// answered.
func (h *Hub) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.drained {
		h.drained = true
		close(h.draining)
		h.uploads.end()
	}
}

// begin counts a command that is going to be answered, unless the hub takes none.
func (h *Hub) begin() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.drained {
		return errDraining
	}
	h.ops++
	return nil
}

func (h *Hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ops--; h.ops == 0 {
		h.quiet.Broadcast()
	}
}

// Close drains, waits for what is under way, and stops. The journal stays open.
func (h *Hub) Close() error {
	h.Drain()
	h.mu.Lock()
	for h.ops > 0 {
		h.quiet.Wait()
	}
	h.mu.Unlock()
	h.cancel()
	h.wg.Wait()
	h.saveAll()
	h.contexts.close()
	return nil
}
