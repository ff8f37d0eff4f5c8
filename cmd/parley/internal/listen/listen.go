// Package listen listens for connections and serves HTTP with bounds for peers that are gone or
// slow.
//
//	listeners, err := listen.Open(address)
//	err = listen.NewHTTPServer(handler, logger).Serve(listeners[0])
package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// A peer whose machine or network is gone sends nothing, and writes to it fill the buffers of the
// system. Package rpc pings sockets. A stream of server-sent events, whose comments have no answer,
// and a wait over HTTP depend on TCP. So a connection ends if nothing that was sent is acknowledged
// for deadAfter, or if keep-alives, which start after aliveAfter of silence, have no answer. With
// 15 s between two comments that is within the 30 s of the protocol. A peer that is there but reads
// nothing stops acknowledging once its buffers are full. Its writes end after 10 s.
const (
	deadAfter  = 12 * time.Second
	aliveAfter = 8 * time.Second
	aliveEvery = 4 * time.Second
	aliveCount = 3
)

// listenTCP listens for connections that end when their peer is gone.
func listenTCP(addr string) (net.Listener, error) {
	c := net.ListenConfig{
		Control:         setUserTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveAfter, Interval: aliveEvery, Count: aliveCount},
	}
	return c.Listen(context.Background(), "tcp", addr)
}

// Open returns a listener for each address that is not empty, or none at all.
func Open(addresses ...string) (listeners []net.Listener, err error) {
	for _, addr := range addresses {
		if addr == "" {
			continue
		}
		l, err := listenTCP(addr)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close() // no connection was accepted
			}
			if isInUse(err) {
				err = exit.WithHint(err, "another hub there? --listen :0 takes any free port")
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

// NewHTTPServer bounds the cost of a peer before a handler runs. The writes of handlers have their
// deadlines, since streams have no end. There is no HTTP/2, because a WebSocket begins as HTTP/1.1.
func NewHTTPServer(handler http.Handler, logger *slog.Logger) *http.Server {
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
