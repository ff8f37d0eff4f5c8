package tool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// server is an MCP server of the config, to which is connected once.
type server struct {
	name    string
	config  parley.MCPServer
	connect func(ctx context.Context, name string, s parley.MCPServer) (Server, error)
	// held has the connection, nil at first; who has taken it out of there works on it. It is closed for good when it is empty and closed.
	held chan Server
	over chan struct{}
}

func newServer(name string, config parley.MCPServer,
	connect func(context.Context, string, parley.MCPServer) (Server, error)) *server {
	s := &server{name: name, config: config, connect: connect, held: make(chan Server, 1), over: make(chan struct{})}
	s.held <- nil
	return s
}

// connection gives the connection, which is made where there is none.
func (s *server) connection(ctx context.Context) (Server, error) {
	var conn Server
	select {
	case conn = <-s.held:
	case <-s.over:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var err error
	if conn == nil {
		conn, err = s.connect(ctx, s.name, s.config)
	}
	s.held <- conn
	return conn, err
}

// tools are those that it offers now and that the config takes, by name.
func (s *server) tools(ctx context.Context) ([]Tool, error) {
	conn, err := s.connection(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server %s: %w", s.name, err)
	}
	all, err := conn.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the MCP server %s for its tools: %w", s.name, err)
	}
	if s.config.Tools != nil {
		offered := names(all)
		if err := unknownIn("mcp_servers."+s.name+".tools", s.config.Tools,
			func(n string) bool { return slices.Contains(offered, n) }, offered); err != nil {
			return nil, err
		}
	}
	all = slices.DeleteFunc(slices.Clone(all),
		func(t Tool) bool { return s.config.Tools != nil && !slices.Contains(s.config.Tools, t.Spec().Name) })
	slices.SortStableFunc(all, func(a, b Tool) int { return cmp.Compare(a.Spec().Name, b.Spec().Name) })
	return all, nil
}

func names(all []Tool) []string {
	list := make([]string, len(all))
	for i, t := range all {
		list[i] = t.Spec().Name
	}
	return list
}

// close ends the connection. It waits for who makes one.
func (s *server) close() error {
	select {
	case conn := <-s.held:
		close(s.over)
		if conn != nil {
			return conn.Close()
		}
	case <-s.over:
	}
	return nil
}
