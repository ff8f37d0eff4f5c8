// Package mcptool connects to servers of the Model Context Protocol, whose tools an LLM agent may use.
//
//	parley.MCPServer -> Connect -> Server.Tools -> tool.Tool -> the server
//
// # Guarantees
//
//   - A call is sent at most once. One of which the connection has told nothing is an error that says so. Only where the server has answered that it knows the session no longer, and so
//     has not looked at the call, is it sent again, once.
//   - A connection that is gone is made again for the next call or list.
//   - A command is run by package process: nothing of it is left when the connection is closed, nor when this process has ended. It has the few variables that programs need to find their
//     tools, and those of the config.
//   - What a server gives is bounded: MaxText for the model, MaxMessage for one message, MaxTools for the list.
//   - The values of ${NAME} stand in no error and no log.
//
// # Goroutines
//
// A connection has one that waits for its end, and those of the SDK and of package process. All have ended when Close returns, but for one of the SDK whose server does not answer.
package mcptool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/executors/process"
)

// Bounds of what a server gives.
const (
	MaxText    = 1 << 20  // bytes of the text of one result
	MaxMessage = 16 << 20 // bytes of one message of the protocol
	MaxTools   = 1000
	// ConnectTimeout bounds how long it takes to connect, as long as Options do not say otherwise.
	ConnectTimeout = 30 * time.Second
)

// Options are for Connect. Nil and the zero value are useful.
type Options struct {
	// Getenv gives the variables that ${NAME} stands for; nil, os.Getenv. One that is empty is as good as none.
	Getenv func(name string) string
	// Processes runs commands; nil, a pool that all share.
	Processes *process.Pool
	// HTTP makes the requests to addresses; nil, one of its own. Redirects are never followed.
	HTTP *http.Client
	// ConnectTimeout is the constant where it is 0.
	ConnectTimeout time.Duration
	// Logger hears what commands write to stderr, bounded; nil, nobody.
	Logger *slog.Logger
}

// ErrUnknownVariable is a ${NAME} that stands for nothing.
var ErrUnknownVariable = errors.New("unknown_variable")

var errClosed = errors.New("the connection is closed")

// Server is an MCP server of a config.
type Server struct {
	name    string
	config  parley.MCPServer // without ${NAME}
	secrets secrets
	o       Options
	// held has the link, nil at first; who has taken it out of there works on it. It stays empty when over is closed.
	held chan *link
	over chan struct{}
}

var _ tool.Server = (*Server)(nil)

// Connect connects to a server: a command that is run, or an address.
func Connect(ctx context.Context, name string, s parley.MCPServer, o *Options) (tool.Server, error) {
	server := &Server{name: name, held: make(chan *link, 1), over: make(chan struct{})}
	if o != nil {
		server.o = *o
	}
	if server.o.Getenv == nil {
		server.o.Getenv = os.Getenv
	}
	if server.o.ConnectTimeout == 0 {
		server.o.ConnectTimeout = ConnectTimeout
	}
	if server.o.Logger == nil {
		server.o.Logger = slog.New(slog.DiscardHandler)
	}
	server.o.Logger = server.o.Logger.With("mcp_server", name)
	var err error
	if server.config, server.secrets, err = expand(s, server.o.Getenv); err != nil {
		return nil, fmt.Errorf("mcp server %s: %w", name, err)
	}
	server.held <- nil
	if _, err := server.link(ctx); err != nil {
		return nil, err
	}
	return server, nil
}

// link gives a connection that is not known to be gone, and makes one where there is none.
func (s *Server) link(ctx context.Context) (*link, error) {
	var l *link
	select {
	case l = <-s.held:
	case <-s.over:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { s.held <- l }()
	if l != nil && !l.isGone() {
		return l, nil
	}
	if l != nil {
		l.close()
		l = nil
	}
	made, err := s.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcp server %s: %w", s.name, s.secrets.hide(err))
	}
	l = made
	return l, nil
}

// Close ends the connection, and the command with all that it has started.
func (s *Server) Close() error {
	select {
	case l := <-s.held:
		close(s.over)
		if l != nil {
			l.close()
		}
	case <-s.over:
	}
	return nil
}
