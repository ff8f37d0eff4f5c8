package hub

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/approvals"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/changes"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/files"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/hub/internal/triggers"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/vector"
	"github.com/parleyhub/parley/internal/methods"
)

// Options of a hub. Nil and the zero value are valid.
type Options struct {
	// RootToken, if not empty, is a token with scope admin that may act as any id.
	RootToken string
	// Version is the semantic version that clients see; empty means 0.0.0.
	Version string
	// Commit and Date are the commit that the program was built from and the time of that commit.
	// Clients see them too. Empty and zero mean that they are unknown.
	Commit string
	Date   time.Time
	// Logger receives errors that no caller receives; nil discards them.
	Logger *slog.Logger
	// MaxLoaded bounds the number of unused conversations in memory; 0 means 4096.
	MaxLoaded int
	// MaxLoadedBytes approximately bounds their bytes. 0 means a quarter of the memory that the process
	// may use, but at least 16 MiB and at most 256 MiB.
	MaxLoadedBytes int
	// IdleEvict is how long an unused conversation stays in memory; 0 means 5 minutes.
	IdleEvict time.Duration
	// Verifier verifies the tokens that the hub did not make, except the root token. With nil there are no
	// such tokens.
	Verifier Verifier
	// Tracer receives a span for each turn that ended; it may be nil.
	Tracer parley.Tracer
	// Embedder computes the vectors for selectors that fetch by similarity; nil means vector.Lexical.
	Embedder vector.Embedder
	// VectorFile is a file that caches the vectors of texts across restarts. It may be deleted while the
	// hub is stopped. With an empty name the cache is in memory.
	VectorFile string
	// NewID returns a new id that begins with prefix, on any goroutine; nil means random ids.
	NewID func(prefix string) string
	// NewSecret returns the secret of a new token; nil means 256 random bits.
	NewSecret func() string

	// Peers connects the hubs of a shared journal. Each hub needs a separate value. It is nil if no other
	// hub serves the journal.
	Peers Peers

	skew time.Duration // added to the clock, for tests
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Version, d.Logger = cmp.Or(d.Version, "0.0.0"), cmp.Or(d.Logger, slog.New(slog.DiscardHandler))
	d.MaxLoaded, d.IdleEvict = cmp.Or(d.MaxLoaded, 4096), cmp.Or(d.IdleEvict, 5*time.Minute)
	if d.MaxLoadedBytes == 0 {
		d.MaxLoadedBytes = roomIn(memoryLimit())
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

// Hub serves the conversations of a journal. Its methods may be called on any goroutine.
type Hub struct {
	conv     *conv.Engine
	journal  journal.Journal
	opts     Options
	shared   bool // other hubs serve the same journal
	log      *slog.Logger
	started  time.Time
	auth     *auth.Service
	turns    *turns.Dispatcher
	presence *cluster.Presence

	forks chan struct{} // a slot for each running fork

	registry  *registry.Registry
	sessions  *sessions.Service
	triggers  *triggers.Service
	contexts  *agentcontext.Service
	approvals *approvals.Service
	changes   *changes.Feed
	backup    sync.Mutex // held by the running backup
	files     *files.Service
}

// Open starts a hub on j. The hub does not close j; do so after Close.
func Open(j journal.Journal, o *Options) (*Hub, error) {
	h := &Hub{
		journal: j, opts: o.withDefaults(), started: time.Now(),
		forks: make(chan struct{}, maxForking),
	}
	h.log, h.shared = h.opts.Logger, h.opts.Peers != nil
	h.conv = conv.New(conv.Options{
		Journal: j, Logger: h.log, Now: h.Now,
		MaxLoaded: h.opts.MaxLoaded, MaxLoadedBytes: h.opts.MaxLoadedBytes, IdleEvict: h.opts.IdleEvict,
	})
	h.auth = auth.New(h.conv, auth.Options{
		RootToken: h.opts.RootToken, Verifier: h.opts.Verifier, NewID: h.opts.NewID, NewSecret: h.opts.NewSecret,
	})
	h.changes = changes.New(h.conv, h.auth, h.opts.NewID, h.summarizeListed)
	h.turns = turns.New(turns.Options{
		Engine: h.conv, Auth: h.auth, Tracer: h.opts.Tracer, NewID: h.opts.NewID, StartedAt: h.started.Add(h.opts.skew),
	})
	h.registry = registry.New(h.conv, h.auth, h.turns)
	h.sessions = sessions.New(sessions.Options{
		Engine: h.conv, Auth: h.auth, Registry: h.registry, Turns: h.turns, NewID: h.opts.NewID,
	})
	h.contexts = agentcontext.New(agentcontext.Options{
		Engine: h.conv, Auth: h.auth, Registry: h.registry, PinConversation: h.turns.Pin,
		FindSeated: func(name string) *registry.Blueprint { return h.triggers.FindSeated(name) },
		Embedder:   h.opts.Embedder, VectorFile: h.opts.VectorFile,
	})
	h.triggers = triggers.New(triggers.Options{
		Engine: h.conv, Auth: h.auth, Registry: h.registry, Sessions: h.sessions, Contexts: h.contexts,
		NewID: h.opts.NewID, AwaitRecovery: h.turns.AwaitRecovery,
	})
	h.sessions.Connect(h.triggers)
	h.files, h.approvals = files.New(h.conv, h.auth, h.sessions.SeatOf), approvals.New(h.conv, h.auth, h.turns)
	parts := conv.Parts{
		Authorizer: authorizer{h}, Observers: h.newObservers(), AfterCommit: h.turns.ReportTurn,
		Guide: func(s *fold.State, id string) parley.Guidance { return h.guidance(s, id, false) },
	}
	h.presence = cluster.NewPresence(h.conv, h.opts.Peers, localExecutors{h.turns, h.registry})
	var follower *cluster.Follower
	if h.shared {
		follower = cluster.NewFollower(h.conv, h.presence.ID(), map[string]func() error{
			auth.TokensConversation: h.auth.FollowTokens,
			registry.Conversation:   h.registry.Follow,
		})
		parts.Freshness = freshness{follower, h.presence}
	}
	h.turns.Connect(h.presence, h.sessions, h.registry)
	h.registry.Connect(h.presence, h.triggers)
	h.conv.Connect(parts)
	if err := h.load(); err != nil {
		h.conv.Stop()
		return nil, err
	}
	if h.shared {
		h.conv.Go(follower.Run)
	}
	h.conv.Start()
	h.conv.Go(h.files.Run)
	h.conv.Go(h.registry.Run)
	h.conv.Go(h.sessions.Run)
	h.conv.Go(h.triggers.Run)
	h.conv.Go(h.turns.Run)
	h.conv.Go(h.turns.Recover)
	return h, nil
}

// load reads what the hub needs before it serves, and starts to listen to the other hubs.
func (h *Hub) load() (err error) {
	if err = h.auth.Load(h.turns); err != nil {
		return fmt.Errorf("load tokens: %w", err)
	}
	if err = h.registry.Load(); err != nil {
		return fmt.Errorf("load runners: %w", err)
	}
	if h.shared {
		if err = h.presence.Start(); err != nil {
			return fmt.Errorf("listen to the other hubs: %w", err)
		}
	}
	return nil
}

// newObservers returns all observers in the order in which each commit notifies them:
//
//  1. triggers queue the sessions that the events of the state start.
//  2. sessions record what runs, before turns offer it to executors.
//  3. turns update the offers and claims.
//  4. approvals update the list of pending ones.
//  5. the clock of the engine sets the time of the next limit.
//  6. changes wake watchConversations last: a reader that it wakes finds everything else updated.
func (h *Hub) newObservers() []conv.Observer {
	return []conv.Observer{h.triggers, h.sessions, h.turns, h.approvals, h.conv.Limits(), h.changes}
}

// Now returns the time of the hub: the wall clock at the start plus the monotonic time since. So a jump of
// the wall clock closes nothing.
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
func (h *Hub) Done() <-chan struct{} { return h.conv.Draining() }

// Failed is closed when the outcome of a commit is unknown and the journal takes no more writes. The
// process should exit. The next start reads what is in the log.
func (h *Hub) Failed() <-chan struct{} { return h.conv.Failed() }

// Err returns why the hub failed, or nil.
func (h *Hub) Err() error { return h.conv.Err() }

// fullMs is how long a hub whose storage was full is not ready. Then the next append shows whether
// there is room.
const fullMs = 10_000

// Ready returns why the hub does not serve reads and writes, or nil. With a full storage it serves
// reads, and accepts writes to see whether there is room again, but is not ready. It is not ready
// either while its journal reports that it cannot be reached, by a method Ready.
func (h *Hub) Ready() error {
	if err := h.conv.Serving(); err != nil {
		return err
	}
	if j, ok := h.journal.(interface{ Ready() error }); ok {
		if err := j.Ready(); err != nil {
			return unavailable(err)
		}
	}
	if at := h.conv.FullAt(); at > 0 && h.Now().UnixMilli() < at+fullMs {
		return conv.RefusalOf(journal.ErrStorageFull)
	}
	return nil
}

// Shares reports whether other hubs serve the same journal.
func (h *Hub) Shares() bool { return h.shared }

// Apart returns why the hub can neither write nor read what others wrote, as its journal reports by a
// method Reached, or nil. A hub that is only behind returns nil.
func (h *Hub) Apart() error {
	if j, ok := h.journal.(interface{ Reached() error }); ok {
		return unavailable(j.Reached())
	}
	return nil
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return conv.RefusalOf(fmt.Errorf("%w: %w", journal.ErrUnavailable, err))
}

// Stats returns the state and the counters of the hub. It requires scope admin.
func (h *Hub) Stats(_ context.Context, p *auth.Principal, _ *parley.StatsParams) (parley.Stats, error) {
	if err := h.auth.Allow(p, methods.Stats); err != nil {
		return parley.Stats{}, err
	}
	return h.Counted(), nil
}

// Counted returns the state and the counters of the hub without a check of rights, also after Drain or a
// failure. The counters of connections are zero. The counters are read one after the other.
func (h *Hub) Counted() parley.Stats {
	s := parley.Stats{
		Version: h.opts.Version, State: h.state(), UptimeMs: time.Since(h.started).Milliseconds(),
		Refusals: map[string]int64{},
	}
	h.conv.AddStats(&s)
	h.turns.AddStats(&s)
	return s
}

func (h *Hub) state() parley.HubState {
	err := h.Ready()
	switch {
	case err == nil:
		return parley.HubReady
	case errors.Is(err, parley.ErrStorageFull):
		return parley.HubStorageFull
	case h.Err() != nil:
		return parley.HubFailed
	}
	return parley.HubDraining
}

// Drain makes the hub refuse new calls, and everything that waits, with ErrUnavailable. Appends that
// were decided are still answered.
func (h *Hub) Drain() { h.conv.Drain() }

// Close drains the hub, waits for its goroutines, and stops it. The journal stays open.
func (h *Hub) Close() error {
	h.Drain()
	h.conv.Close()
	h.contexts.Close()
	return nil
}

// The types of reads and subscriptions; see package conv.
type (
	Item         = conv.Item
	Subscription = conv.Subscription
)

// ErrFar means that the next events are not in memory.
var ErrFar = conv.ErrFar

// Peers transport messages between the hubs of one journal. See [cluster.Peers].
type Peers = cluster.Peers

type freshness struct {
	*cluster.Follower
	*cluster.Presence
}

// localExecutors reports the executors and agents of this hub to the other hubs.
type localExecutors struct {
	*turns.Dispatcher
	*registry.Registry
}

var errBackupRunning = &parley.Error{
	Err: parley.ErrRateLimited, Message: "a backup is under way", Expected: "one at a time", RetryAfterMs: 1000,
}

// Backup writes all conversations that the hub has at the start of the call, with the attachments, in the
// format of package archive. It returns ErrForbidden without writing, unless p is an admin that is not
// restricted to conversations. It returns ErrRateLimited while another backup runs. It returns an error when
// the hub drains or the token ends; then the last line of the backup is missing. A missing or damaged
// attachment is logged and marked in the backup.
func (h *Hub) Backup(ctx context.Context, p *auth.Principal, w io.Writer) (archive.Trailer, error) {
	if err := h.checkBackup(p); err != nil {
		return archive.Trailer{}, err
	}
	if err := h.conv.Begin(); err != nil { // Close waits for it
		return archive.Trailer{}, err
	}
	defer h.conv.End()
	if !h.backup.TryLock() {
		return archive.Trailer{}, errBackupRunning
	}
	defer h.backup.Unlock()
	logLost := func(hash journal.Hash, err error) {
		h.log.Error("an attachment is gone or damaged: the backup continues without it",
			"attachment", hex.EncodeToString(hash[:]), "error", err)
	}
	return archive.WriteBackup(ctx, &allowedWriter{h, p, w}, h.journal, h.opts.Version, logLost)
}

// checkBackup returns an error unless the hub serves and p may read everything.
func (h *Hub) checkBackup(p *auth.Principal) error {
	if err := h.conv.Serving(); err != nil {
		return err
	}
	if err := h.Valid(p); err != nil {
		return err
	}
	if !p.Admin() || p.IsRestricted() {
		return parley.Refuse(parley.ErrForbidden,
			"a backup has everything in it", "a token with scope admin that is not narrowed to conversations")
	}
	return nil
}

// allowedWriter fails once the hub drains or the token of the principal ends.
type allowedWriter struct {
	hub *Hub
	p   *auth.Principal
	w   io.Writer
}

func (a *allowedWriter) Write(b []byte) (int, error) {
	if err := a.hub.checkBackup(a.p); err != nil {
		return 0, err
	}
	return a.w.Write(b)
}
