package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// remote is a tool of a server.
type remote struct {
	server *Server
	spec   llm.ToolSpec
}

// Tools returns the tools that the server offers now, under its own names.
func (s *Server) Tools(ctx context.Context) ([]tool.Tool, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, s.secrets.hide(err)
	}
	tools := make([]tool.Tool, len(all))
	for i, t := range all {
		parameters, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("the parameters of %s: %w", t.Name, err)
		}
		description := t.Description
		if description == "" {
			description = t.Title
		}
		tools[i] = &remote{s, llm.ToolSpec{Name: t.Name, Description: description, Parameters: parameters}}
	}
	return tools, nil
}

// list lists the tools. It repeats the request once if the connection was lost.
func (s *Server) list(ctx context.Context) ([]*mcp.Tool, error) {
	l, err := s.link(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.startBound(ctx, "no list of tools")
	defer cancel()
	all, err := l.list(ctx)
	if err == nil || ctx.Err() != nil || !isForgotten(err) && !errors.Is(err, mcp.ErrConnectionClosed) {
		return all, err
	}
	if l, err = s.reconnect(ctx, l); err != nil {
		return nil, err
	}
	return l.list(ctx)
}

// reconnect waits for the end of the old connection, and returns another one.
func (s *Server) reconnect(ctx context.Context, old *link) (*link, error) {
	old.release()
	select {
	case <-old.gone:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return s.link(ctx)
}

// Spec returns the description by the server.
func (r *remote) Spec() llm.ToolSpec { return r.spec }

// Run calls the tool.
func (r *remote) Run(ctx context.Context, c *tool.Call) (*tool.Result, error) {
	l, err := r.server.link(ctx)
	if err != nil {
		return nil, err
	}
	result, err := l.call(ctx, r.spec.Name, c)
	if err != nil && ctx.Err() == nil && isForgotten(err) {
		if l, err = r.server.reconnect(ctx, l); err != nil {
			return nil, err
		}
		result, err = l.call(ctx, r.spec.Name, c)
	}
	if err != nil {
		l.waitLost(ctx, err)
		return nil, r.server.secrets.hide(r.explain(ctx, err))
	}
	return resultOf(result), nil
}

// explain adds to an error what is known about the outcome of the call.
func (r *remote) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if message, ok := refusal(err); ok {
		return fmt.Errorf("%w: the MCP server %s refused the call of %s: %s", llm.ErrTool, r.server.name, r.spec.Name, message)
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Errorf("%w: %s was not called, because the MCP server %s cannot be reached: %w", llm.ErrTool,
			r.spec.Name, r.server.name, err)
	}
	return fmt.Errorf("%w: the MCP server %s did not answer, and the call of %s may or may not have taken effect: %w", llm.ErrTool,
		r.server.name, r.spec.Name, err)
}

// refusal returns the error that a server answered to a tool call. The SDK uses codes for its own
// errors, and maps errors of servers with the same codes to them. Only the text shows which one it
// is.
func refusal(err error) (message string, ok bool) {
	if errors.Is(err, mcp.ErrConnectionClosed) {
		_, message, ok = strings.Cut(err.Error(), mcp.ErrConnectionClosed.Error()+`: calling "tools/call": `)
		return message, ok && !ofTransport(message)
	}
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return "", false
	}
	return answer.Message, answer.Code < -32005 || answer.Code > -32003 || !ofTransport(answer.Message)
}

// ofTransport reports whether the message is one of the SDK.
func ofTransport(message string) bool {
	return slices.ContainsFunc([]string{"client is closing", "server is closing", "rejected by transport"},
		func(own string) bool { return strings.HasPrefix(message, own) })
}
