package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/mcpentry"
)

const (
	// stuckWait is how long a canceled call may continue before its connection is closed. closeWait
	// limits the time to close a connection.
	stuckWait = 5 * time.Second
	closeWait = 5 * time.Second
)

// link is one connection to a server.
type link struct {
	session *mcp.ClientSession
	end     context.CancelCauseFunc // of the calls in progress
	ctx     context.Context         // of the connection
	gone    chan struct{}           // closed when the connection ends
	release func()                  // closes the transport
	refused refused                 // of the requests over HTTP

	mu       sync.Mutex // guards the fields below
	calls    int
	progress map[string]func(tool.Progress)
	changed  int // number of list_changed notifications
	listed   []*mcp.Tool
	listedAt int // value of changed at the time of listed
}

// dial creates a connection. A server over HTTP that refuses the current protocol may have only the
// older HTTP+SSE transport, which dial then tries.
func (s *Server) dial(ctx context.Context) (*link, error) {
	ctx, cancel := s.startBound(ctx, "no connection")
	defer cancel()
	sse := mcpentry.Transport(s.config.Type) == mcpentry.SSE
	l, old, err := s.dialOver(ctx, sse)
	if err == nil || !old || sse || ctx.Err() != nil {
		return l, err
	}
	l, _, sseErr := s.dialOver(ctx, true)
	if sseErr != nil {
		return nil, fmt.Errorf("%w; over HTTP+SSE: %w", err, sseErr)
	}
	return l, nil
}

// dialOver creates a connection over one transport. old reports whether the server may have only
// the HTTP+SSE transport.
func (s *Server) dialOver(ctx context.Context, sse bool) (l *link, old bool, err error) {
	l = &link{gone: make(chan struct{}), progress: map[string]func(tool.Progress){}}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	transport, release, err := s.transport(l, sse)
	if err != nil {
		l.end(err)
		return nil, false, err
	}
	l.release = release
	client := mcp.NewClient(&mcp.Implementation{Name: "parley", Version: parley.ProtocolVersion}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { l.markChanged() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			l.reportProgress(r.Params)
		},
	})
	if l.session, err = s.connect(ctx, client, transport, release); err != nil {
		l.end(err)
		return nil, l.refused.isOld(), l.refused.explain(err)
	}
	go func() {
		_ = l.session.Wait() // callers get the error of their calls
		close(l.gone)
	}()
	return l, false, nil
}

// startBound limits ctx to the start_timeout. The text describes a result that is late.
func (s *Server) startBound(ctx context.Context, text string) (context.Context, context.CancelFunc) {
	bound := s.config.StartBound()
	return context.WithTimeoutCause(ctx, bound, fmt.Errorf("%s within %v (start_timeout)", text, bound))
}

// connect initializes the session within the time of ctx, whatever the transport does.
func (s *Server) connect(ctx context.Context, client *mcp.Client, t mcp.Transport, release func()) (*mcp.ClientSession,
	error) {
	stop := context.AfterFunc(ctx, release)
	session, err := client.Connect(ctx, t, nil)
	if !stop() && err == nil { // the transport was closed
		_ = session.Close()
		err = context.Cause(ctx)
	}
	if err == nil {
		return session, nil
	}
	release()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("connect: %w", context.Cause(ctx))
	}
	return nil, fmt.Errorf("connect: %w", err)
}

func (l *link) isGone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// close cancels the calls in progress and closes the connection.
func (l *link) close() {
	l.end(errClosed)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.session.Close() // the connection ends in any case
	}()
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-closed:
	case <-t.C:
	}
	l.release()
}

func (l *link) markChanged() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed++
}

// watch registers a callback for the progress of a call. It returns the token of the call.
func (l *link) watch(report func(tool.Progress)) (token string, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	token = "call-" + strconv.Itoa(l.calls)
	l.progress[token] = report
	return token, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.progress, token)
	}
}

func (l *link) reportProgress(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	l.mu.Lock()
	report := l.progress[token]
	l.mu.Unlock()
	if report != nil {
		report(tool.Progress{Done: p.Progress, Total: p.Total, Text: p.Message})
	}
}

// run runs f until ctx or the connection ends. If f does not return after the end of ctx, run
// closes the connection.
func (l *link) run(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	done := make(chan struct{})
	defer close(done)
	defer context.AfterFunc(ctx, func() {
		t := time.NewTimer(stuckWait)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			l.release()
		}
	})()
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// list returns the tools. It returns the last list if the server reports changes and has not
// reported one.
func (l *link) list(ctx context.Context) ([]*mcp.Tool, error) {
	l.mu.Lock()
	listed, current, now := l.listed, l.listed != nil && l.listedAt == l.changed, l.changed
	l.mu.Unlock()
	if current {
		return listed, nil
	}
	all := []*mcp.Tool{}
	err := l.run(ctx, func(ctx context.Context) error {
		for t, err := range l.session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			if all = append(all, t); len(all) > MaxTools {
				return fmt.Errorf("the server has more than %d tools", MaxTools)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c := l.session.InitializeResult().Capabilities; c == nil || c.Tools == nil || !c.Tools.ListChanged {
		return all, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed, l.listedAt = all, now
	return all, nil
}

// traceparent is the member of _meta with the span of a call, for the spans of the server.
const traceparent = "traceparent"

// call calls a tool.
func (l *link) call(ctx context.Context, name string, c *tool.Call) (r *mcp.CallToolResult, err error) {
	token, stop := l.watch(c.Progress)
	defer stop()
	p := &mcp.CallToolParams{Name: name, Arguments: c.Arguments}
	p.SetProgressToken(token)
	if t := parley.TraceparentOf(ctx); t != "" {
		p.Meta[traceparent] = t
	}
	err = l.run(ctx, func(ctx context.Context) error {
		r, err = l.session.CallTool(ctx, p)
		return err
	})
	return r, err
}

// waitLost waits for the end of the connection if that is the cause of err, so that the next call
// does not use it. A failed HTTP request does not end the connection.
func (l *link) waitLost(ctx context.Context, err error) {
	var request *url.Error
	_, answered := refusal(err)
	lost := func(cause error) bool { return errors.Is(err, cause) }
	if answered || errors.As(err, &request) ||
		!slices.ContainsFunc([]error{mcp.ErrConnectionClosed, io.EOF, errLongMessage}, lost) {
		return
	}
	l.release()
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-l.gone:
	case <-t.C:
	case <-ctx.Done():
	}
}

// isForgotten reports whether the server does not know the session. It then did not process the
// request.
func isForgotten(err error) bool { return errors.Is(err, mcp.ErrSessionMissing) }
