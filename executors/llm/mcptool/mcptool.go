// Package mcptool connects LLM agents to the tools of MCP servers.
//
//	parley.MCPServer -> Connect -> Server.Tools -> tool.Tool -> the server
//
// # Guarantees
//
//   - A call is sent at most once. If the connection fails before the answer, the error states that
//     the outcome is unknown. A call is sent again once if the server answers that it does not know
//     the session, because it then did not process the call.
//   - A lost connection is replaced at the next call or list.
//   - A command runs in package process, so no process of it is left after the connection is closed
//     or this process ends. Its environment has the few variables that programs need to find their
//     tools, and those of the config.
//   - A line on the stdout of a command that is not a JSON-RPC message is logged and skipped.
//   - Data of a server is limited: MaxMessage for one message, MaxTools for the list. Package tool
//     limits the part of a result that a model reads.
//   - The values of variables of the config are in no error and no log.
//
// # Goroutines
//
// Each connection has a goroutine that waits for its end, and those of the SDK and of package
// process. All end before Close returns, except one of the SDK if the server does not answer.
package mcptool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/executors/process"
)

// Limits of the data of a server.
const (
	MaxMessage = 16 << 20 // bytes of one message of the protocol
	MaxTools   = 1000
)

// Options are the options of Connect. Nil and the zero value are ready to use.
type Options struct {
	// Getenv returns the value of a variable. The default is os.Getenv. An empty variable is not set.
	Getenv func(name string) string
	// Processes runs commands. The default is a shared pool.
	Processes *process.Pool
	// HTTP makes the requests. It may be nil. Redirects are never followed.
	HTTP *http.Client
	// Dir is the directory of the agent file. Cwd and EnvFile of an entry are relative to it.
	Dir string
	// Logger logs the stderr of commands up to a limit. It may be nil.
	Logger *slog.Logger
}

// ErrUnknownVariable reports a ${NAME} that is not set.
var ErrUnknownVariable = errors.New("unknown_variable")

var errClosed = errors.New("the connection is closed")

// Server is an MCP server of a config.
type Server struct {
	name    string
	config  parley.MCPServer // with the values of variables
	secrets secrets
	o       Options
	// held has the link, which is nil at first. A goroutine that receives it owns it until it sends
	// it back. After close, held stays empty and over is closed.
	held chan *link
	over chan struct{}
}

var _ tool.Server = (*Server)(nil)

// Connect connects to a server, which is a command or an address.
func Connect(ctx context.Context, name string, s parley.MCPServer, o *Options) (tool.Server, error) {
	server := &Server{name: name, held: make(chan *link, 1), over: make(chan struct{})}
	if o != nil {
		server.o = *o
	}
	if server.o.Getenv == nil {
		server.o.Getenv = os.Getenv
	}
	if server.o.Logger == nil {
		server.o.Logger = slog.New(slog.DiscardHandler)
	}
	server.o.Logger = server.o.Logger.With("mcp_server", name)
	var err error
	if server.config, server.secrets, err = expand(s, &server.o); err != nil {
		return nil, fmt.Errorf("mcp server %s: %w", name, err)
	}
	server.held <- nil
	if _, err := server.link(ctx); err != nil {
		return nil, err
	}
	return server, nil
}

// link returns a live connection. It connects if there is none.
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

// Close closes the connection, and stops the command with all its processes.
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
