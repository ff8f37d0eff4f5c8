package tool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// server is an MCP server of the config. It has one connection, which all calls share.
type server struct {
	name    string
	config  parley.MCPServer
	connect func(ctx context.Context, name string, s parley.MCPServer) (Server, error)
	// held has the connection, which is nil at first. A goroutine that receives it owns it until it
	// sends it back. After close, held stays empty and over is closed.
	held chan Server
	over chan struct{}
}

func newServer(name string, config parley.MCPServer,
	connect func(context.Context, string, parley.MCPServer) (Server, error)) *server {
	s := &server{name: name, config: config, connect: connect, held: make(chan Server, 1), over: make(chan struct{})}
	s.held <- nil
	return s
}

// connection returns the connection. It connects if there is none.
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

// tools returns the offered tools that the config selects, by name.
func (s *server) tools(ctx context.Context) ([]Tool, error) {
	conn, err := s.connection(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server %s: %w", s.name, err)
	}
	all, err := conn.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the tools of the MCP server %s: %w", s.name, err)
	}
	if s.config.Tools != nil {
		offered := names(all)
		if err := checkKnown("mcp_servers."+s.name+".tools", s.config.Tools,
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

// close closes the connection. It waits for a connect in progress.
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
