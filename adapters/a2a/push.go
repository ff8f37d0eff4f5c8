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

// PushOptions say where push configurations are kept and how they are delivered. Store, As and Key must be set.
type PushOptions struct {
	// Store speaks as an admin whose token is not narrowed: it keeps the configurations in the log of the hub.
	Store parley.Client
	// As gives a client that speaks as a participant, to read its tasks, and what gives it back.
	As func(ctx context.Context, participant string) (c parley.Client, release func(), err error)
	// Key seals secrets: see [LoadKey].
	Key []byte
	// HTTP is one of package egress; nil: one is made with the next two.
	HTTP *http.Client
	// AllowHTTP takes URLs that are not https, and AllowPrivate addresses that are not public.
	AllowHTTP    bool
	AllowPrivate []netip.Prefix
	// MaxPerTask and MaxPerOwner bound the configurations that are delivered; 0: 10 and 1,000.
	MaxPerTask, MaxPerOwner int
	// AtOnce bounds the deliveries under way, of which one owner has at most a quarter; 0: 32.
	AtOnce int
	// Attempts and GiveUpAfter bound what is tried since the last delivery that went well; 0: 300 and 24 h.
	Attempts    int
	GiveUpAfter time.Duration
	// Logger hears what goes wrong, never with a secret; nil: nobody.
	Logger *slog.Logger
}

// Push keeps the configurations of push notifications in the log of the hub, and delivers them.
//
// What is delivered is what SubscribeToTask would send: the task as it stands when the configuration is made, then each update. Each configuration has a cursor of
// its own, so that updates come in order and at least once, whatever is restarted: the next is sent when the one before was answered with a status of 200 to 299. An
// update may come again after a restart; the cursor in its metadata ([CursorExtension]) tells. A configuration ends with its task, when it is deleted, or when it is given
// up; until a day later it is still told by get and list.
//
// The log has who, which task, where to (the host alone) and how far; URL, token and credentials are sealed in it, with AES-256-GCM, for their configuration alone.
// At one time one Push keeps the store of a hub.
type Push struct {
	opts   PushOptions
	log    *slog.Logger
	http   *http.Client
	url    egress.Options // by which URLs are checked
	seal   *seal
	gate   *gate
	pace   pace
	server *Server // set by New

	pen   chan struct{} // held by who writes, and by who reads or writes the field below
	store store
	wake  chan struct{} // holds something when there may be a configuration to deliver

	mu    sync.Mutex // guards the fields below, and what of each config it says
	byRef map[string]*config
	owned map[string]map[string]*config // by owner and ref
}

// pace is how fast things are done.
type pace struct {
	first, longest time.Duration // pauses between attempts
	timeout        time.Duration // of one attempt
	flush          time.Duration // between writes of cursors
	kept           time.Duration // how long what has ended is told
	notes          int64         // in one conversation
}

// NewPush reads what was kept. Deliveries begin with [Push.Run].
func NewPush(ctx context.Context, o *PushOptions) (*Push, error) {
	if o.Store == nil || o.As == nil {
		return nil, errors.New("a2a: PushOptions.Store or As is missing")
	}
	p := &Push{
		opts: *o, log: o.Logger, http: o.HTTP, url: egress.Options{HTTPSOnly: !o.AllowHTTP, AllowPrivate: o.AllowPrivate},
		pace: pace{first: time.Second, longest: 5 * time.Minute, timeout: 15 * time.Second, flush: 5 * time.Second, kept: 24 * time.Hour, notes: 10_000},
		pen:  make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
	p.opts.MaxPerTask, p.opts.MaxPerOwner = cmp.Or(o.MaxPerTask, 10), cmp.Or(o.MaxPerOwner, 1000)
	p.opts.Attempts, p.opts.GiveUpAfter = cmp.Or(o.Attempts, 300), cmp.Or(o.GiveUpAfter, 24*time.Hour)
	p.gate = newGate(cmp.Or(o.AtOnce, 32))
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.http == nil {
		client := p.url
		client.Timeout, client.MaxBody = p.pace.timeout, maxPushAnswer
		p.http = egress.NewClient(&client)
	}
	var err error
	if p.seal, err = newSeal(o.Key); err != nil {
		return nil, err
	}
	p.pen <- struct{}{}
	defer func() { <-p.pen }()
	if err := p.load(ctx); err != nil {
		return nil, fmt.Errorf("a2a: push configurations: %w", err)
	}
	return p, nil
}

// serve says whose tasks they are.
func (p *Push) serve(s *Server) { p.server = s }

// Run delivers until ctx ends, and then writes down how far it has come. It is called once, after New was given the Push.
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
		for _, c := range p.idle(ctx) {
			consumers.Go(func() { p.consume(c.ctx, c.config) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-tick.C:
			p.flush(ctx)
			p.forget()
		}
	}
}

// started is a configuration and how long it is delivered.
type started struct {
	ctx    context.Context
	config *config
}

// idle gives those that are to be delivered and are not yet.
func (p *Push) idle(ctx context.Context) (out []started) {
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

// flush writes the cursors that have moved. One that cannot be written is written later: until then its updates may come twice.
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
			p.soil(note.Cursors)
			return
		}
		note.Cursors = note.Cursors[n:]
	}
}

// soil marks cursors as not written.
func (p *Push) soil(all []progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range all {
		if c := p.byRef[at.Ref]; c != nil {
			c.dirty = true
		}
	}
}

// forget drops what has ended long ago.
func (p *Push) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.byRef {
		if c.Ended != "" && time.Since(c.EndedAt) > p.pace.kept {
			p.dropLocked(c)
		}
	}
}

func (p *Push) awake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
