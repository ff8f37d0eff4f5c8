package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// servers are the connections to MCP servers. The agent shares them with its children.
type servers struct {
	dial func(ctx context.Context, name string, s parley.MCPServer) (tool.Server, error)

	mu     sync.Mutex // guards the fields below, but not the entries
	open   map[string]*server
	closed bool
}

type server struct {
	mu sync.Mutex // held while connecting; guards the field below
	tool.Server
}

func newServers(dial func(ctx context.Context, name string, s parley.MCPServer) (tool.Server, error)) *servers {
	return &servers{dial: dial, open: map[string]*server{}}
}

var errClosed = errors.New("the agent is closed")

// connect returns the connection to a server. It connects if there is none.
func (all *servers) connect(ctx context.Context, name string, s parley.MCPServer) (tool.Server, error) {
	all.mu.Lock()
	one := all.open[name]
	if one == nil {
		one = &server{}
		all.open[name] = one
	}
	all.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if all.isClosed() { // close saw this entry, and does not run again
		return nil, errClosed
	}
	if one.Server == nil {
		var err error
		if one.Server, err = all.dial(ctx, name, s); err != nil {
			one.Server = nil
			return nil, err
		}
	}
	return shared{one.Server}, nil
}

func (all *servers) isClosed() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.closed
}

// close closes the connections. It waits for connects in progress, and prevents new ones.
func (all *servers) close() error {
	all.mu.Lock()
	all.closed = true
	open := all.open
	all.open = map[string]*server{}
	all.mu.Unlock()
	var errs []error
	for _, one := range open {
		one.mu.Lock()
		if one.Server != nil {
			errs = append(errs, one.Server.Close())
		}
		one.mu.Unlock()
	}
	return errors.Join(errs...)
}

// shared is a server with other users, so its Close does nothing.
type shared struct{ tool.Server }

func (shared) Close() error { return nil }
