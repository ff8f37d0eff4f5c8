package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/vector"
	"github.com/parleyhub/parley/internal/telemetry"
	"github.com/parleyhub/parley/rpc"
)

const (
	// drainTimeout bounds the drain. With what comes after it, a hub ends within 10 s of the signal.
	drainTimeout = 9 * time.Second
	// lastWords is the time that there is in any case to tell OpenTelemetry of the last spans.
	lastWords = 500 * time.Millisecond
)

type serverOptions struct {
	journal journal.Journal
	addr    string
	// metricsAddr is where /metrics is served besides, without a token; empty: nowhere.
	metricsAddr string
	rootToken   string
	log         zerolog.Logger
	// door is without its logger.
	door rpc.Options
	// embedder finds what is alike, and vectorFile is where its vectors are kept; nil and empty: as hub.Options has them.
	embedder   vector.Embedder
	vectorFile string
	// verifier takes tokens that the hub has not made; nil: there are none.
	verifier hub.Verifier
	// tls is nil for a hub that speaks in clear.
	tls *tls.Config
	// doors let clients of other protocols in.
	doors []newProtocolDoor
	// telemetry tells OpenTelemetry; nil: nobody is told.
	telemetry *telemetry.Telemetry
}

// server is a hub behind its doors on TCP addresses. It owns the journal that it was given, and the telemetry.
type server struct {
	addr, url  string
	metricsURL string // empty: there is no such door

	journal journal.Journal
	hub     *hub.Hub
	door    *rpc.Server
	agents  *localAgents // nil: there are none
	annex   *annex
	told    *telemetry.Telemetry // nil: nobody is
	http    []*http.Server
	log     zerolog.Logger
	drain   time.Duration // drainTimeout, but for tests
	ended   chan error    // of http.Serve; one value for each of http
}

// startServer takes calls when it returns.
func startServer(o serverOptions) (*server, error) {
	logger := slog.New(zerolog.NewSlogHandler(o.log))
	built := thisBuild()
	h, err := hub.Open(o.journal, &hub.Options{
		RootToken: o.rootToken,
		Verifier:  o.verifier,
		Embedder:  o.embedder, VectorFile: o.vectorFile,
		Version: built.Version, Commit: built.Commit, Date: built.Date,
		Logger: logger,
		Tracer: o.telemetry.Tracer(),
		Peers:  peersOf(o.journal),
	})
	if err != nil {
		return nil, fmt.Errorf("open the hub: %w", err)
	}
	listeners, err := listen(o.addr, o.metricsAddr)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	o.door.Logger, o.door.Tracer = logger, o.telemetry.Tracer()
	s := &server{journal: o.journal, hub: h, told: o.telemetry, log: o.log, drain: drainTimeout, ended: make(chan error, len(listeners))}
	if s.annex, err = newAnnex(o.doors, h, &o.door, logger); err != nil {
		for _, l := range listeners {
			_ = l.Close() // nothing has come to it
		}
		return nil, errors.Join(err, h.Close())
	}
	s.door = rpc.NewServer(h, &o.door)
	s.told.Gather(s.door.Gatherer())
	s.annex.open(s.door, logger)
	s.open(listeners[0], o.tls, logger)
	if len(listeners) > 1 {
		s.metricsURL = "http://" + listeners[1].Addr().String() + "/metrics"
		s.serve(listeners[1], newHTTPServer(s.door.MetricsHandler(), logger))
	}
	return s, nil
}

// listen gives a listener for each address that is not empty, or none.
func listen(addresses ...string) (listeners []net.Listener, err error) {
	for _, addr := range addresses {
		if addr == "" {
			continue
		}
		l, err := listenTCP(addr)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close() // nothing has come to it
			}
			if isInUse(err) {
				err = withHint(err, "another hub there? --listen :0 takes any free port")
			}
			return nil, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// isInUse says whether an address has a listener already.
func isInUse(err error) bool {
	const windowsInUse = syscall.Errno(10048) // WSAEADDRINUSE; of no meaning elsewhere
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsInUse)
}

// open serves the hub's door. Connections are counted below TLS, so that one counts before its handshake.
func (s *server) open(l net.Listener, config *tls.Config, logger *slog.Logger) {
	s.addr = l.Addr().String()
	l = s.door.Listener(l)
	s.url = "ws://" + s.addr + "/rpc"
	if config != nil {
		s.url = "wss://" + s.addr + "/rpc"
		l = tls.NewListener(l, config)
	}
	h := newHTTPServer(s.door, logger)
	h.ConnContext = s.door.ConnContext
	s.serve(l, h)
}

// newHTTPServer bounds what a peer may cost before a handler sees it. What a handler writes has deadlines of its own: streams have no end.
// HTTP/2 is not spoken: a WebSocket begins as HTTP/1.1.
func newHTTPServer(handler http.Handler, logger *slog.Logger) *http.Server {
	h := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug), // broken requests are the peer's fault
		Protocols:         new(http.Protocols),
		// OPTIONS * is for the handler: it looks at Host first.
		DisableGeneralOptionsHandler: true,
	}
	h.Protocols.SetHTTP1(true)
	closeUnused(h)
	return h
}

func (s *server) serve(l net.Listener, h *http.Server) {
	s.http = append(s.http, h)
	go func() { s.ended <- h.Serve(l) }()
}

// run serves until ctx ends, and then drains; or until the hub can write no more.
func (s *server) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.log.Info().Msg("draining")
		tellManager(s.log, daemon.SdNotifyStopping)
		err := s.close()
		switch {
		case err == nil:
			s.log.Info().Msg("stopped")
		case errors.Is(err, context.DeadlineExceeded):
			err = withHint(fmt.Errorf("the drain took longer than %s, so connections were cut: %w", s.drain, err),
				"what was acknowledged is in the log; clients retry the rest when the hub is started again")
		}
		return err
	case <-s.hub.Failed():
		tellManager(s.log, daemon.SdNotifyStopping)
		hint := "look after the disk and start the hub again: clients retry what was not acknowledged"
		if errors.Is(s.hub.Err(), journal.ErrFormat) {
			hint = "another hub of this log runs a newer version: start that one here too"
		}
		return errors.Join(withHint(fmt.Errorf("the log takes no more writes: %w", s.hub.Err()), hint), s.close())
	case err := <-s.ended:
		s.ended <- err
		return errors.Join(err, s.close())
	}
}

// close drains: commands ended, no new calls, clients told, what was begun finished, in the time there is for that.
func (s *server) close() error {
	until := time.Now().Add(s.drain)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	s.agents.close()
	s.hub.Drain()
	err := errors.Join(s.door.Shutdown(ctx), s.annex.stop(), s.annex.close())
	for _, h := range s.http {
		if late := h.Shutdown(ctx); late != nil {
			_ = h.Close() // connections that did not end by themselves
			err = errors.Join(err, late)
		}
	}
	for range s.http {
		if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
	}
	err = errors.Join(err, s.hub.Close(), s.journal.Close())
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), max(lastWords, time.Until(until)))
	defer end()
	return errors.Join(err, s.told.Shutdown(ctx)) // now that the last turns have ended
}

// tokensConversation is where the hub keeps its tokens.
const tokensConversation = "~tokens"

// hasTokens says whether a token was ever made for this hub.
func (s *server) hasTokens() bool {
	head, err := s.journal.Head(tokensConversation)
	return err != nil || head.Seq > 0
}
