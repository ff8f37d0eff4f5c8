package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/rpc"
)

// drainTimeout bounds the drain. With what comes after it, a hub ends within 10 s of the signal.
const drainTimeout = 9 * time.Second

type serverOptions struct {
	journal                  journal.Journal
	addr                     string
	rootToken                string
	log                      zerolog.Logger
	allowHosts, allowOrigins []string
}

// server is a hub behind its door on a TCP address. It owns the journal that it was given.
type server struct {
	addr, url string

	journal journal.Journal
	hub     *hub.Hub
	door    *rpc.Server
	http    *http.Server
	log     zerolog.Logger
	drain   time.Duration // drainTimeout, but for tests
	ended   chan error    // of http.Serve; one value
}

// startServer takes calls when it returns.
func startServer(o serverOptions) (*server, error) {
	logger := slog.New(zerolog.NewSlogHandler(o.log))
	h, err := hub.Open(o.journal, &hub.Options{
		RootToken: o.rootToken,
		Version:   version(),
		Logger:    logger,
	})
	if err != nil {
		return nil, fmt.Errorf("open the hub: %w", err)
	}
	l, err := net.Listen("tcp", o.addr)
	if err != nil {
		return nil, errors.Join(withHint(err, "another hub there? --listen :0 takes any free port"), h.Close())
	}
	s := &server{
		addr: l.Addr().String(), journal: o.journal, hub: h, log: o.log, drain: drainTimeout, ended: make(chan error, 1),
		door: rpc.NewServer(h, &rpc.Options{Logger: logger, AllowHosts: o.allowHosts, AllowOrigins: o.allowOrigins}),
	}
	s.url = "ws://" + s.addr + "/rpc"
	s.http = &http.Server{
		Handler:           s.door,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug), // broken requests are the peer's fault
	}
	go func() { s.ended <- s.http.Serve(l) }()
	return s, nil
}

// run serves until ctx ends, and then drains; or until the hub can write no more.
func (s *server) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.log.Info().Msg("draining")
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
		return errors.Join(withHint(fmt.Errorf("the log takes no more writes: %w", s.hub.Err()),
			"look after the disk and start the hub again: clients retry what was not acknowledged"), s.close())
	case err := <-s.ended:
		s.ended <- err
		return errors.Join(err, s.close())
	}
}

// close drains: no new calls, clients told, what was begun finished, in the time there is for that.
func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.drain)
	defer cancel()
	s.hub.Drain()
	doorErr := s.door.Shutdown(ctx)
	httpErr := s.http.Shutdown(ctx)
	if httpErr != nil {
		_ = s.http.Close() // connections that did not end by themselves
	}
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		httpErr = errors.Join(httpErr, err)
	}
	return errors.Join(doorErr, httpErr, s.hub.Close(), s.journal.Close())
}

// tokensConversation is where the hub keeps its tokens.
const tokensConversation = "~tokens"

// hasTokens says whether a token was ever made for this hub.
func (s *server) hasTokens() bool {
	head, err := s.journal.Head(tokensConversation)
	return err != nil || head.Seq > 0
}
