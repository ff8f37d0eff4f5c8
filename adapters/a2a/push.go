package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/egress"
)

// PushOptions configures the storage and delivery of push configurations. Store, As and Key are
// required.
type PushOptions struct {
	// Store is a client of an unrestricted admin. It stores the configurations in the log of the hub.
	Store parley.Client
	// As returns a client that acts as a participant, to read its tasks, and a function that releases
	// it.
	As func(ctx context.Context, participant string) (c parley.Client, release func(), err error)
	// Key encrypts secrets: see [LoadKey].
	Key []byte
	// HTTP is a client of package egress. If nil, one is created with the next two options.
	HTTP *http.Client
	// AllowHTTP accepts URLs without https, and AllowPrivate accepts addresses that are not public.
	AllowHTTP    bool
	AllowPrivate []netip.Prefix
	// MaxPerTask and MaxPerOwner limit the configurations that are delivered. 0 means 10 and 1,000.
	MaxPerTask, MaxPerOwner int
	// AtOnce limits the concurrent deliveries; one owner has at most a quarter of them. 0 means 32.
	AtOnce int
	// Attempts and GiveUpAfter limit the attempts since the last successful delivery. 0 means 300 and
	// 24 h.
	Attempts    int
	GiveUpAfter time.Duration
	// Logger receives errors, never with a secret; nil discards them.
	Logger *slog.Logger
}

// Push stores the configurations of push notifications in the log of the hub, and delivers them.
//
// It delivers what SubscribeToTask would send: the task when the configuration is created, then
// each update. Each configuration has a separate cursor. So updates arrive in order and at least
// once, even after restarts: the next one is sent after the previous one was answered with a status
// from 200 to 299. An update may be repeated after a restart; the cursor in its metadata
// ([CursorExtension]) identifies it. A configuration ends with its task, when it is deleted, or
// when its delivery is given up. Get and list return it for one more day.
//
// The log has the owner, the task, the host and the cursor in plain text. URL, token and
// credentials are encrypted with AES-256-GCM, bound to their configuration. Only one Push may use
// the store of a hub at a time.
type Push struct {
	opts    PushOptions
	log     *slog.Logger
	http    *http.Client
	url     egress.Options // by which URLs are checked
	sealer  *sealer
	limiter *limiter
	pace    pace
	server  *Server // set by New

	writeLock chan struct{} // a lock for writers of the log, which also guards store
	store     store
	wake      chan struct{} // has a value if there may be a configuration to deliver

	mu    sync.Mutex // guards the fields below, and the fields of each config that name it
	byRef map[string]*config
	owned map[string]map[string]*config // by owner and ref
}

// pace has the intervals and limits of deliveries.
type pace struct {
	first, longest time.Duration // pauses between attempts
	timeout        time.Duration // of one attempt
	flush          time.Duration // between writes of cursors
	kept           time.Duration // how long ended configurations are kept
	notes          int64         // limit of notes in one conversation
}

// NewPush reads the stored configurations. [Push.Run] delivers them.
func NewPush(ctx context.Context, o *PushOptions) (*Push, error) {
	if o.Store == nil || o.As == nil {
		return nil, errors.New("a2a: PushOptions.Store or As is missing")
	}
	p := &Push{
		opts: *o, log: o.Logger, http: o.HTTP, url: egress.Options{HTTPSOnly: !o.AllowHTTP, AllowPrivate: o.AllowPrivate},
		pace: pace{first: time.Second, longest: 5 * time.Minute, timeout: 15 * time.Second, flush: 5 * time.Second,
			kept: 24 * time.Hour, notes: 10_000},
		writeLock: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
	p.opts.MaxPerTask, p.opts.MaxPerOwner = cmp.Or(o.MaxPerTask, 10), cmp.Or(o.MaxPerOwner, 1000)
	p.opts.Attempts, p.opts.GiveUpAfter = cmp.Or(o.Attempts, 300), cmp.Or(o.GiveUpAfter, 24*time.Hour)
	p.limiter = newLimiter(cmp.Or(o.AtOnce, 32))
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.http == nil {
		client := p.url
		client.Timeout, client.MaxBody = p.pace.timeout, maxPushAnswer
		p.http = egress.NewClient(&client)
	}
	var err error
	if p.sealer, err = newSealer(o.Key); err != nil {
		return nil, err
	}
	p.writeLock <- struct{}{}
	defer func() { <-p.writeLock }()
	if err := p.load(ctx); err != nil {
		return nil, fmt.Errorf("a2a: push configurations: %w", err)
	}
	return p, nil
}

// serve sets the server with the tasks.
func (p *Push) serve(s *Server) { p.server = s }

// Run delivers until ctx ends, and then writes the cursors. It must be called once, after New.
func (p *Push) Run(ctx context.Context) error {
	if p.server == nil {
		return errors.New("a2a: Push.Run before New")
	}
	var consumers sync.WaitGroup
	defer func() {
		consumers.Wait()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.pace.timeout)
		defer cancel()
		p.flush(last)
	}()
	tick := time.NewTicker(p.pace.flush)
	defer tick.Stop()
	for {
		for _, c := range p.startDeliveries(ctx) {
			consumers.Go(func() { p.deliverConfig(c.ctx, c.config) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-tick.C:
			p.flush(ctx)
			p.dropEnded()
		}
	}
}

// started is a configuration with the context of its delivery.
type started struct {
	ctx    context.Context
	config *config
}

// startDeliveries returns the configurations whose delivery must start, and marks them as started.
func (p *Push) startDeliveries(ctx context.Context) (out []started) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.byRef {
		if c.secret == nil || c.Ended != "" || c.stop != nil {
			continue
		}
		var s started
		s.ctx, c.stop = context.WithCancel(ctx)
		s.config = c
		out = append(out, s)
	}
	return out
}

// flush writes the changed cursors. After a failure, a later call writes them; until then, their
// updates may be repeated after a restart.
func (p *Push) flush(ctx context.Context) {
	p.mu.Lock()
	var note cursorNote
	for _, c := range p.byRef {
		if c.dirty && c.Ended == "" {
			note.Cursors = append(note.Cursors, c.progress)
			c.dirty = false
		}
	}
	p.mu.Unlock()
	for len(note.Cursors) > 0 {
		n := min(len(note.Cursors), 1000)
		err := p.write(ctx, cursorSchema, &cursorNote{note.Cursors[:n]})
		if err != nil {
			p.log.Warn("cannot write the cursors of push notifications", "error", err)
			p.markUnwritten(note.Cursors)
			return
		}
		note.Cursors = note.Cursors[n:]
	}
}

// markUnwritten marks cursors as not written.
func (p *Push) markUnwritten(all []progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range all {
		if c := p.byRef[at.Ref]; c != nil {
			c.dirty = true
		}
	}
}

// dropEnded drops configurations that ended long ago.
func (p *Push) dropEnded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.byRef {
		if c.Ended != "" && time.Since(c.EndedAt) > p.pace.kept {
			p.dropLocked(c)
		}
	}
}

func (p *Push) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
