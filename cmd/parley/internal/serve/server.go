package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/cmd/parley/internal/listen"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/vector"
	"github.com/parleyhub/parley/internal/telemetry"
	"github.com/parleyhub/parley/rpc"
)

const (
	// DrainTimeout bounds the drain. Together with the steps after it, a hub ends within 10 s of
	// the signal.
	DrainTimeout = 9 * time.Second
	// telemetryTimeout is the minimum time for the export of the last spans.
	telemetryTimeout = 500 * time.Millisecond
)

// Options configure Start.
type Options struct {
	Journal journal.Journal
	Address string
	// metricsAddr is where /metrics is served besides, without a token; empty: nowhere.
	metricsAddr string
	rootToken   string
	Log         zerolog.Logger
	// door is without its logger.
	door rpc.Options
	// embedder finds what is alike, and vectorFile is where its vectors are kept; nil and empty: as
	// hub.Options has them.
	embedder   vector.Embedder
	vectorFile string
	// verifier accepts tokens of others. It may be nil.
	verifier hub.Verifier
	// Tls is nil for a hub that speaks in clear.
	Tls *tls.Config
	// adapters let clients of other protocols in.
	adapters []newAdapter
	// Telemetry exports spans and metrics. It may be nil.
	Telemetry *telemetry.Telemetry
}

// Server is a hub behind its doors on TCP addresses. It owns the journal that it was given, and the
// telemetry.
type Server struct {
	Addr, URL  string
	metricsURL string // empty: there is no such door

	journal   journal.Journal
	Hub       *hub.Hub
	door      *rpc.Server
	agents    *localAgents // nil without blueprints
	adapters  *adapterSet
	Telemetry *telemetry.Telemetry // nil without telemetry
	http      []*http.Server
	log       zerolog.Logger
	drain     time.Duration // DrainTimeout, except in tests
	ended     chan error    // of http.Serve; one value for each of http
}

// Start takes calls when it returns.
func Start(o Options) (*Server, error) {
	logger := slog.New(zerolog.NewSlogHandler(o.Log))
	built := cli.ThisBuild()
	h, err := hub.Open(o.Journal, &hub.Options{
		RootToken: o.rootToken,
		Verifier:  o.verifier,
		Embedder:  o.embedder, VectorFile: o.vectorFile,
		Version: built.Version, Commit: built.Commit, Date: built.Date,
		Logger: logger,
		Tracer: o.Telemetry.Tracer(),
		Peers:  journals.PeersOf(o.Journal),
	})
	if err != nil {
		return nil, fmt.Errorf("open the hub: %w", err)
	}
	listeners, err := listen.Open(o.Address, o.metricsAddr)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	o.door.Logger, o.door.Tracer = logger, o.Telemetry.Tracer()
	s := &Server{journal: o.Journal, Hub: h, Telemetry: o.Telemetry, log: o.Log, drain: DrainTimeout,
		ended: make(chan error, len(listeners))}
	if s.adapters, err = newAdapterSet(o.adapters, h, &o.door, logger); err != nil {
		for _, l := range listeners {
			_ = l.Close() // no connection was accepted
		}
		return nil, errors.Join(err, h.Close())
	}
	s.door = rpc.NewServer(h, &o.door)
	s.Telemetry.Gather(s.door.Gatherer())
	s.adapters.open(s.door, logger)
	s.open(listeners[0], o.Tls, logger)
	if len(listeners) > 1 {
		s.metricsURL = "http://" + listeners[1].Addr().String() + "/metrics"
		s.serve(listeners[1], listen.NewHTTPServer(s.door.MetricsHandler(), logger))
	}
	return s, nil
}

// open serves the hub's door. Connections are counted below TLS, so that one counts before its
// handshake.
func (s *Server) open(l net.Listener, config *tls.Config, logger *slog.Logger) {
	s.Addr = l.Addr().String()
	l = s.door.Listener(l)
	s.URL = "ws://" + s.Addr + "/rpc"
	if config != nil {
		s.URL = "wss://" + s.Addr + "/rpc"
		l = tls.NewListener(l, config)
	}
	h := listen.NewHTTPServer(s.door, logger)
	h.ConnContext = s.door.ConnContext
	s.serve(l, h)
}

func (s *Server) serve(l net.Listener, h *http.Server) {
	s.http = append(s.http, h)
	go func() { s.ended <- h.Serve(l) }()
}

// run serves until ctx ends, and then drains; or until the hub can write no more.
func (s *Server) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.log.Info().Msg("draining")
		notifyManager(s.log, daemon.SdNotifyStopping)
		err := s.Close()
		switch {
		case err == nil:
			s.log.Info().Msg("stopped")
		case errors.Is(err, context.DeadlineExceeded):
			err = exit.WithHint(fmt.Errorf("the drain took longer than %s, so connections were cut: %w", s.drain, err),
				"everything acknowledged is in the log; clients retry the rest when the hub is started again")
		}
		return err
	case <-s.Hub.Failed():
		notifyManager(s.log, daemon.SdNotifyStopping)
		hint := "look after the disk and start the hub again: clients retry what was not acknowledged"
		if errors.Is(s.Hub.Err(), journal.ErrFormat) {
			hint = "another hub of this log runs a newer version: start that one here too"
		}
		return errors.Join(exit.WithHint(fmt.Errorf("the log takes no more writes: %w", s.Hub.Err()), hint), s.Close())
	case err := <-s.ended:
		s.ended <- err
		return errors.Join(err, s.Close())
	}
}

// Close drains: it stops commands, refuses new calls, notifies clients and finishes calls, within
// the drain time.
func (s *Server) Close() error {
	until := time.Now().Add(s.drain)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	s.agents.close()
	s.Hub.Drain()
	err := errors.Join(s.door.Shutdown(ctx), s.adapters.stop(), s.adapters.close())
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
	err = errors.Join(err, s.Hub.Close(), s.journal.Close())
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), max(telemetryTimeout, time.Until(until)))
	defer end()
	return errors.Join(err, s.Telemetry.Shutdown(ctx)) // after the end of the last turns
}

// tokensConversation is where the hub keeps its tokens.
const tokensConversation = "~tokens"

// hasTokens says whether a token was ever made for this hub.
func (s *Server) hasTokens() bool {
	head, err := s.journal.Head(tokensConversation)
	return err != nil || head.Seq > 0
}
