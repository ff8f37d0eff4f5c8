package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
)

const (
	// stuckWait is how long a call may go on after its ctx has ended, until the connection is given up; closeWait is how long one may take to be closed.
	stuckWait = 5 * time.Second
	closeWait = 5 * time.Second
)

// link is one connection to a server.
type link struct {
	session *mcp.ClientSession
	end     context.CancelCauseFunc // of what is under way
	ctx     context.Context         // of the connection
	gone    chan struct{}           // closed when the connection has ended
	release func()                  // what is below it

	mu       sync.Mutex // guards the fields below
	calls    int
	progress map[string]func(tool.Progress)
	changed  int // how often the server has said that its tools are others
	listed   []*mcp.Tool
	listedAt int // changed, when listed was
}

// dial makes a connection.
func (s *Server) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.ConnectTimeout,
		fmt.Errorf("no connection within %v", s.o.ConnectTimeout))
	defer cancel()
	l := &link{gone: make(chan struct{}), progress: map[string]func(tool.Progress){}}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	transport, release, err := s.transport(l)
	if err != nil {
		l.end(err)
		return nil, err
	}
	l.release = release
	client := mcp.NewClient(&mcp.Implementation{Name: "parley", Version: parley.ProtocolVersion}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { l.change() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.tell(r.Params) },
	})
	if l.session, err = s.connect(ctx, client, transport, release); err != nil {
		l.end(err)
		return nil, err
	}
	go func() {
		_ = l.session.Wait() // who calls is told why
		close(l.gone)
	}()
	return l, nil
}

// connect waits for the server's first answers, and no longer than ctx lasts, whatever the transport does.
func (s *Server) connect(ctx context.Context, client *mcp.Client, t mcp.Transport, release func()) (*mcp.ClientSession,
	error) {
	stop := context.AfterFunc(ctx, release)
	session, err := client.Connect(ctx, t, nil)
	if !stop() && err == nil { // it was released
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

// close ends the connection and what is under way.
func (l *link) close() {
	l.end(errClosed)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = l.session.Close() // it is gone in any case
	}()
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-closed:
	case <-t.C:
	}
	l.release()
}

func (l *link) change() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed++
}

// watch has the progress of a call told, which it gives a token.
func (l *link) watch(told func(tool.Progress)) (token string, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	token = "call-" + strconv.Itoa(l.calls)
	l.progress[token] = told
	return token, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.progress, token)
	}
}

func (l *link) tell(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	l.mu.Lock()
	told := l.progress[token]
	l.mu.Unlock()
	if told != nil {
		told(tool.Progress{Done: p.Progress, Total: p.Total, Text: p.Message})
	}
}

// within runs f under ctx and the connection. If it does not return though ctx has ended, the connection is given up.
func (l *link) within(ctx context.Context, f func(context.Context) error) error {
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

// list gives the tools; those of before where the server tells of changes, and has told of none.
func (l *link) list(ctx context.Context) ([]*mcp.Tool, error) {
	l.mu.Lock()
	listed, current, now := l.listed, l.listed != nil && l.listedAt == l.changed, l.changed
	l.mu.Unlock()
	if current {
		return listed, nil
	}
	all := []*mcp.Tool{}
	err := l.within(ctx, func(ctx context.Context) error {
		for t, err := range l.session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			if all = append(all, t); len(all) > MaxTools {
				return fmt.Errorf("it has more than %d tools", MaxTools)
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

// traceparent is the member of _meta that names the span of a call, for the spans of the server.
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
	err = l.within(ctx, func(ctx context.Context) error {
		r, err = l.session.CallTool(ctx, p)
		return err
	})
	return r, err
}

// lost waits until the connection is known to have ended, where that is what a call has failed by: the next call shall not be made over it. An HTTP request that has failed is no end of it.
func (l *link) lost(ctx context.Context, err error) {
	var request *url.Error
	_, answered := refusal(err)
	if answered || errors.As(err, &request) || !errors.Is(err, mcp.ErrConnectionClosed) && !errors.Is(err, io.EOF) {
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

// forgotten reports whether the server knows the session no longer, and so has not looked at what was sent.
func forgotten(err error) bool { return errors.Is(err, mcp.ErrSessionMissing) }
