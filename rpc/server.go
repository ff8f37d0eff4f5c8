package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/parleyhub/parley/rpc/internal/calls"
	"github.com/parleyhub/parley/rpc/internal/httpapi"
	"github.com/parleyhub/parley/rpc/internal/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// Server serves one hub. It is an http.Handler for any number of listeners.
type Server struct {
	hub       *hub.Hub
	opts      Options
	log       *slog.Logger
	admission *admission.Controller
	calls     *calls.Dispatcher
	api       *httpapi.API

	flushers       *workerPool[*outbox]       // write to sockets without waiting
	pumps          *workerPool[*subscription] // move subscriptions forward without waiting
	received, sent traffic

	ctx    context.Context // ends with Shutdown
	cancel context.CancelFunc
	wg     sync.WaitGroup // sockets, and the goroutines of the server

	mu      sync.Mutex // guards the fields below
	stopped bool       // no socket may be added to wg
	cutOff  bool       // Shutdown waits for no peer
	sockets map[*socket]struct{}
}

// traffic counts text frames and the bytes of their text.
type traffic struct{ frames, bytes atomic.Int64 }

func (t *traffic) count(frames, bytes int) {
	t.frames.Add(int64(frames))
	t.bytes.Add(int64(bytes))
}

func (t *traffic) total() parley.Traffic {
	return parley.Traffic{Frames: t.frames.Load(), Bytes: t.bytes.Load()}
}

// NewServer starts a server for a hub. The caller must call Shutdown.
func NewServer(h *hub.Hub, o *Options) *Server {
	s := &Server{hub: h, opts: o.withDefaults(), sockets: map[*socket]struct{}{}}
	s.log = s.opts.Logger
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.flushers = newWorkerPool((*outbox).flush)
	s.pumps = newWorkerPool((*subscription).pump)
	s.admission = admission.New(h, &admission.Options{
		Logger: s.log, Audit: s.opts.Audit, AllowHosts: s.opts.AllowHosts, AllowOrigins: s.opts.AllowOrigins,
		TrustedProxies: s.opts.TrustedProxies, MaxPending: s.opts.MaxPending, MaxPendingOfOne: s.opts.MaxPendingOfOne,
		Rates: s.opts.Rates,
	})
	s.calls = calls.NewDispatcher(calls.Options{
		Hub: h, Admission: s.admission, Log: s.log, Tracer: s.opts.Tracer, PageTimeout: s.opts.WriteTimeout,
		AddStats: s.addStats,
	})
	s.api = httpapi.New(httpapi.Options{
		Hub: h, Admission: s.admission, Calls: s.calls, Methods: handlers, Log: s.log,
		ServeSocket: s.serveSocket, Metrics: s.Gatherer(),
		KeepAlive: s.opts.KeepAlive, WriteTimeout: s.opts.WriteTimeout, BodyTimeout: s.opts.BodyTimeout,
		MaxRequests: s.opts.MaxPosts, Protocols: s.opts.Protocols, Pages: s.opts.Pages, Tracer: s.opts.Tracer,
	})
	s.wg.Go(s.sweep)
	s.wg.Go(s.watchRevocations)
	if h.Shares() {
		s.wg.Go(s.watchJournal)
	}
	return s
}

// ServeHTTP serves JSON-RPC at /rpc, the methods as plain HTTP at their routes, and the documents and
// metrics of the hub.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.api.ServeHTTP(w, r) }

// MetricsHandler serves /metrics without a token, for a separate listener. The Host must be allowed,
// or an address.
func (s *Server) MetricsHandler() http.Handler { return s.api.MetricsHandler() }

// Gatherer returns the metrics of /metrics, for a program that sends them elsewhere too.
func (s *Server) Gatherer() prometheus.Gatherer {
	return metrics.NewGatherer(func() parley.Stats {
		n := s.hub.Counted()
		s.addStats(&n)
		return n
	}, s.opts.Metrics)
}

// Listener bounds the connections of l that have not shown a good token, by Options.MaxPendingOfOne
// and MaxPending. It belongs below TLS, and needs ConnContext.
func (s *Server) Listener(l net.Listener) net.Listener { return s.admission.Listen(l) }

// ConnContext is for http.Server. It connects requests with the connections of Listener.
func (s *Server) ConnContext(ctx context.Context, c net.Conn) context.Context {
	return s.admission.WithConnection(ctx, c)
}

// Ticket returns a ticket for a link that the program of the hub shows to a person. It opens one
// socket of a page of the hub.
func (s *Server) Ticket(holder *hub.Principal, life time.Duration) (string, error) {
	return s.admission.CreateTicket(holder, "", life)
}

// addStats adds the counters of the server to those of the hub.
func (s *Server) addStats(n *parley.Stats) {
	for reason, count := range s.calls.Refusals() {
		n.Refusals[reason] = count
	}
	n.LoginsRefused, n.ConnectionsRefused = s.admission.Refused()
	open := s.api.Counts()
	n.Requests, n.Streams = open.Requests, open.Streams
	n.Received, n.Sent = s.received.total(), s.sent.total()
	s.mu.Lock()
	defer s.mu.Unlock()
	n.Sockets = int64(len(s.sockets))
	for k := range s.sockets {
		if k.principal.Load() == nil {
			n.PendingSockets++
		}
	}
}

// isStopping reports whether the hub is about to stop.
func (s *Server) isStopping() bool {
	select {
	case <-s.hub.Done():
		return true
	default:
		return false
	}
}

// serveSocket upgrades a request to a socket, which has its own goroutine.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if !s.reserveSocket() {
		s.api.WriteFailure(w, admission.ErrStopping)
		return
	}
	p, err := s.admit(r)
	if err != nil {
		s.wg.Done()
		s.api.WriteFailure(w, err)
		return
	}
	client := s.admission.ClientOf(r)
	conn, err := wire.Accept(w, r, s.opts.WriteTimeout)
	if err != nil {
		if p == nil {
			s.admission.Sockets.Remove(client.From)
		}
		s.wg.Done()
		s.log.Debug("no handshake", "remote", client.From, "error", err)
		return
	}
	k := newSocket(s, conn, client)
	k.traceparent = httpapi.Traceparent(r)
	k.pending.Store(p == nil)
	go func() {
		defer s.wg.Done()
		k.serve(s.ctx, p)
	}()
}

// admit returns the caller of an upgrade. It returns nil, and counts the socket, if there is no token.
func (s *Server) admit(r *http.Request) (*hub.Principal, error) {
	p, err := s.admission.AuthenticateWithTicket(r)
	if err != nil {
		return nil, err
	}
	// A hub without storage for writes still serves reads.
	if err := s.hub.Ready(); err != nil && !errors.Is(err, parley.ErrStorageFull) {
		return nil, err
	}
	if p == nil {
		return nil, s.admission.Sockets.Add(s.admission.Address(r))
	}
	return p, nil
}

// reserveSocket adds to wg unless the server has stopped. The caller must call wg.Done.
func (s *Server) reserveSocket() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.wg.Add(1)
	return true
}

// addSocket adds a socket. It returns false if the server has stopped and the socket must be closed.
func (s *Server) addSocket(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[k] = struct{}{}
	if s.cutOff {
		k.conn.Cut()
	}
	return !s.stopped
}

func (s *Server) removeSocket(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, k)
}

func (s *Server) listSockets() []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*socket, 0, len(s.sockets))
	for k := range s.sockets {
		all = append(all, k)
	}
	return all
}

// Shutdown notifies all sockets that the hub is closing, drains the hub, waits until the calls
// under way are answered, and closes the sockets with code 1001. It refuses HTTP requests whose
// body has not arrived. It returns after the end of every goroutine of the server. If ctx ends
// first, it cuts sockets and requests and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.api.Stop()

	sockets := s.listSockets()
	for _, k := range sockets {
		k.notifyClosing()
	}
	s.hub.Drain()
	stop := context.AfterFunc(ctx, s.cut)
	defer stop()
	var closing sync.WaitGroup
	for _, k := range sockets {
		closing.Go(func() { k.closeWhenSettled(ctx) })
	}
	closing.Wait()
	s.cancel()
	s.api.Wait()
	s.wg.Wait()
	s.pumps.stop()
	s.flushers.stop()
	return ctx.Err()
}

// cut ends all sockets and requests without an answer.
func (s *Server) cut() {
	s.mu.Lock()
	s.cutOff = true
	s.mu.Unlock()
	s.api.Cut()
	for _, k := range s.listSockets() {
		k.conn.Cut()
	}
}

// watchRevocations closes the sockets whose token was revoked.
func (s *Server) watchRevocations() {
	for {
		next := s.hub.Revocations()
		for _, k := range s.listSockets() {
			k.checkRevoked()
		}
		s.api.EndRevoked()
		select {
		case <-next:
		case <-s.ctx.Done():
			return
		}
	}
}

// sweep pings silent sockets, and reports the refusals that the audit left out.
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
		s.admission.Audit.ReportLeftOut()
		for _, k := range s.listSockets() {
			k.sweep(int64(s.opts.PingAfter / period))
		}
	}
}
