package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/quota"
	"github.com/parleyhub/parley/internal/wire"
)

// closingRetryMs is what the hub says of when to come back after it has stopped.
const closingRetryMs = 1000

// What reads over HTTP may hold in memory at once, in answers of at most [parley.MaxPageBytes]: all of them, and those of one account. Over a
// socket there is one, whatever is asked for.
const (
	maxPages      = 512
	maxPagesOfOne = 16
)

// Server serves one hub. It is an http.Handler for any number of listeners.
type Server struct {
	hub   *hub.Hub
	opts  Options
	log   *slog.Logger
	guard guard
	mux   *http.ServeMux

	flushers *crew[*outbox]       // write, as long as nothing has to wait for a peer
	pumpers  *crew[*subscription] // move subscriptions on, as long as nothing has to be waited for
	counters counters
	metrics  func() http.Handler // writes them and what the hub has counted

	ctx    context.Context // ends with Shutdown
	cancel context.CancelFunc
	wg     sync.WaitGroup // sockets, posts, feeds, visits, the sweeper, the watchers of revocations and of the journal

	silent  *silent  // sockets without a token
	unknown *pending // connections without one
	logins  *logins  // nil: bad ones are not slowed
	rates   *rates   // nil: nothing is bounded
	tickets *tickets
	audit   *audit
	pages   *quota.Quota // of answers over HTTP that are on their way, by account

	mu      sync.Mutex // guards the fields below
	stopped bool       // nothing is added to wg
	cutOff  bool       // Shutdown waits for nobody any more
	sockets map[*socket]struct{}
	posts   map[*post]struct{}
	feeds   map[*feed]struct{}
	visits  map[*visit]struct{}
}

var _ http.Handler = (*Server)(nil)

// NewServer makes a server. End it with Shutdown.
func NewServer(h *hub.Hub, o *Options) *Server {
	s := &Server{hub: h, opts: o.withDefaults(), sockets: map[*socket]struct{}{}, posts: map[*post]struct{}{}, feeds: map[*feed]struct{}{}, visits: map[*visit]struct{}{}, counters: newCounters()}
	s.log = s.opts.Logger
	s.guard = newGuard(s.opts.AllowHosts, s.opts.AllowOrigins)
	s.metrics = sync.OnceValue(func() http.Handler { return newMetrics(s) })
	s.pages = quota.New(maxPages, maxPagesOfOne)
	s.silent, s.unknown, s.rates, s.tickets, s.audit = newSilent(s), newPending(s), newRates(s.opts.Rates), newTickets(), newAudit(&s.opts)
	if s.opts.Rates != nil {
		s.logins = newLogins()
	}
	s.flushers, s.pumpers = newCrew((*outbox).flush), newCrew((*subscription).pump)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mux = s.newMux()
	s.wg.Go(s.sweep)
	s.wg.Go(s.watchRevocations)
	if h.Shares() {
		s.wg.Go(s.watchJournal)
	}
	return s
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a peer that is gone needs no answer
}

func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	if err := s.hub.Ready(); err != nil {
		writeText(w, http.StatusServiceUnavailable, parley.ToWire(err).Message+"\n")
		return
	}
	writeText(w, http.StatusOK, "ok\n")
}

// draining reports whether the hub is about to stop.
func (s *Server) draining() bool {
	select {
	case <-s.hub.Done():
		return true
	default:
		return false
	}
}

// serveSocket turns the request into a socket. The handler returns at once; the socket lives on a goroutine of its own.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		s.writeRefusal(w, errStopping)
		return
	}
	p, err := s.admit(r)
	if err != nil {
		s.wg.Done()
		s.writeRefusal(w, err)
		return
	}
	conn, err := wire.Accept(w, r, s.opts.WriteTimeout)
	if err != nil {
		s.leave(p, s.address(r))
		s.log.Debug("no handshake", "remote", s.address(r), "error", err)
		return
	}
	k := newSocket(s, conn, s.visitor(r))
	k.traceparent = traceparentOf(r)
	k.pending.Store(p == nil)
	go func() {
		defer s.wg.Done()
		k.serve(s.ctx, p)
	}()
}

// admit decides on an upgrade, and counts it if it shows no token.
func (s *Server) admit(r *http.Request) (*hub.Principal, error) {
	p, err := s.bearerOrTicket(r)
	if err != nil {
		return nil, err
	}
	if err := s.hub.Ready(); err != nil && !errors.Is(err, parley.ErrStorageFull) { // then it still serves reads
		return nil, err
	}
	if p == nil {
		return nil, s.silent.enter(s.address(r))
	}
	return p, nil
}

// leave takes back what enter and admit have counted, for an upgrade that became no socket.
func (s *Server) leave(p *hub.Principal, from netip.Addr) {
	if p == nil {
		s.silent.leave(from)
	}
	s.wg.Done()
}

// tooMany refuses what would pass a bound of the server.
func tooMany(what string) error {
	return &parley.Error{Err: parley.ErrUnavailable, Message: "the hub has too many " + what, RetryAfterMs: closingRetryMs}
}

var errStopping = &parley.Error{Err: parley.ErrUnavailable, Message: "the hub is about to stop", RetryAfterMs: closingRetryMs}

// enter adds to wg unless the server has stopped. The caller owes a wg.Done.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.wg.Add(1)
	return true
}

// add makes a socket known; it reports false when the server has stopped and the socket is to be closed.
func (s *Server) add(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[k] = struct{}{}
	if s.cutOff {
		k.conn.Cut()
	}
	return !s.stopped
}

func (s *Server) remove(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, k)
}

func (s *Server) all() []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*socket, 0, len(s.sockets))
	for k := range s.sockets {
		all = append(all, k)
	}
	return all
}

// Shutdown tells every socket that the hub is closing, drains the hub, waits until what is under way is answered, and closes
// the sockets with code 1001. POSTs whose body is still to come are refused. It returns when every goroutine of the server has
// ended; when ctx ends first, sockets and POSTs are cut and ctx's error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	for p := range s.posts {
		p.hurry()
	}
	s.mu.Unlock()
	s.endVisits((*visit).stopping)

	sockets := s.all()
	for _, k := range sockets {
		k.notifyClosing()
	}
	s.hub.Drain()
	stop := context.AfterFunc(ctx, s.cut)
	defer stop()
	var closing sync.WaitGroup
	for _, k := range sockets {
		closing.Go(func() { k.retire(ctx) })
	}
	closing.Wait()
	s.cancel()
	s.wg.Wait()
	s.pumpers.stop()
	s.flushers.stop()
	return ctx.Err()
}

// cut ends all sockets, POSTs and streams without a word.
func (s *Server) cut() {
	s.mu.Lock()
	s.cutOff = true
	for p := range s.posts {
		p.cut()
	}
	for f := range s.feeds {
		f.cut()
	}
	for v := range s.visits {
		v.cut()
	}
	s.mu.Unlock()
	for _, k := range s.all() {
		k.conn.Cut()
	}
}

// watchRevocations closes sockets whose token was revoked.
func (s *Server) watchRevocations() {
	for {
		next := s.hub.Revocations()
		for _, k := range s.all() {
			k.checkRevoked()
		}
		s.endVisits((*visit).revoked)
		select {
		case <-next:
		case <-s.ctx.Done():
			return
		}
	}
}

// sweep pings sockets that are silent, and tells the audit what was left out.
func (s *Server) sweep() {
	period := max(s.opts.PingAfter/8, time.Millisecond)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		s.audit.report()
		for _, k := range s.all() {
			k.sweep(int64(s.opts.PingAfter / period))
		}
	}
}
