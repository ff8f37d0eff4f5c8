package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode/utf8"

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

// Tools are what it offers now, by the names that it has for them.
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

// list lists the tools, once more where the connection was gone.
func (s *Server) list(ctx context.Context) ([]*mcp.Tool, error) {
	l, err := s.link(ctx)
	if err != nil {
		return nil, err
	}
	all, err := l.list(ctx)
	if err == nil || ctx.Err() != nil || !forgotten(err) && !errors.Is(err, mcp.ErrConnectionClosed) {
		return all, err
	}
	if l, err = s.another(ctx, l); err != nil {
		return nil, err
	}
	return l.list(ctx)
}

// another gives a connection that is not old, whose end is known.
func (s *Server) another(ctx context.Context, old *link) (*link, error) {
	old.release()
	select {
	case <-old.gone:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return s.link(ctx)
}

// Spec is what the server says of it.
func (r *remote) Spec() llm.ToolSpec { return r.spec }

// Run calls it.
func (r *remote) Run(ctx context.Context, c *tool.Call) (*tool.Result, error) {
	l, err := r.server.link(ctx)
	if err != nil {
		return nil, err
	}
	result, err := l.call(ctx, r.spec.Name, c)
	if err != nil && ctx.Err() == nil && forgotten(err) {
		if l, err = r.server.another(ctx, l); err != nil {
			return nil, err
		}
		result, err = l.call(ctx, r.spec.Name, c)
	}
	if err != nil {
		l.lost(ctx, err)
		return nil, r.server.secrets.hide(r.explain(ctx, err))
	}
	return &tool.Result{Text: textOf(result), IsError: result.IsError}, nil
}

// explain says of an error what is known of the call.
func (r *remote) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if message, ok := refusal(err); ok {
		return fmt.Errorf("%w: the MCP server %s has refused %s: %s", llm.ErrTool, r.server.name, r.spec.Name, message)
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fmt.Errorf("%w: the MCP server %s cannot be reached, %s was not called: %w", llm.ErrTool, r.server.name,
			r.spec.Name, err)
	}
	return fmt.Errorf("%w: the MCP server %s has not answered, and %s may have been called or not: %w", llm.ErrTool,
		r.server.name, r.spec.Name, err)
}

// refusal gives what a server has answered a call of a tool with where that is an error. The SDK has codes for errors of its own, and takes those of servers for them; its words tell which
// it is.
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

// ofTransport reports whether an error with one of those codes is the SDK's.
func ofTransport(message string) bool {
	return slices.ContainsFunc([]string{"client is closing", "server is closing", "rejected by transport"},
		func(own string) bool { return strings.HasPrefix(message, own) })
}

// textOf gives what the model reads of a result: its texts, then what is structured, unless a text says the same; files are named, with their size, and not shown.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	structured := ""
	if r.StructuredContent != nil {
		if b, err := json.Marshal(r.StructuredContent); err == nil {
			structured = string(b)
		}
	}
	for _, c := range r.Content {
		text := contentText(c)
		if structured != "" && sameJSON(text, structured) {
			structured = ""
		}
		parts = append(parts, text)
	}
	if structured != "" {
		parts = append(parts, structured)
	}
	return cut(strings.Join(parts, "\n"))
}

func contentText(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[an image, %s, %d bytes, is not shown]", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes, is not shown]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[the resource %s: %s, %s]", c.URI, c.Name, c.MIMEType)
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return "[a resource that is not there]"
		}
		return fmt.Sprintf("[the resource %s, %s, %d bytes, is not shown]", c.Resource.URI, c.Resource.MIMEType,
			len(c.Resource.Text)+len(c.Resource.Blob))
	}
	return fmt.Sprintf("[something of a kind that is not known: %T]", c)
}

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, err := json.Marshal(x)
	if err != nil {
		return false
	}
	q, err := json.Marshal(y)
	return err == nil && string(p) == string(q)
}

// cut bounds a text.
func cut(text string) string {
	if len(text) <= MaxText {
		return text
	}
	end := MaxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + fmt.Sprintf("\n[cut: %d bytes more]", len(text)-end)
}
