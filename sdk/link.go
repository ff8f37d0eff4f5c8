package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/sourcegraph/jsonrpc2"
)

// errBroken: the connection ended before the answer came. What was asked may have been done.
var errBroken = errors.New("the connection to the hub broke")

// link is one authenticated connection: calls, and the subscriptions made on it.
type link struct {
	c       *Client
	frames  *frames
	conn    *jsonrpc2.Conn
	agentID string
	ids     atomic.Uint64 // the last id given; never 0, which is what jsonrpc2 reads for null
	heard   atomic.Int64  // when the last frame came, in ns since born
	born    time.Time

	lost  chan struct{} // closed when the reader has ended
	drops chan struct{} // a token: there is something in drop
	wg    sync.WaitGroup

	mu       sync.Mutex       // guards the fields below
	ended    bool             // lost
	asked    map[uint64]*feed // subscribe calls under way, by id
	feeds    map[string]*feed // by subscription
	drop     []string         // subscriptions to be ended
	comeBack time.Duration    // what closing said
}

// dialLink makes one attempt to connect and authenticate.
func (c *Client) dialLink(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stream, err := wire.DialStream(ctx, c.url, &wire.DialOptions{HTTPClient: c.o.HTTPClient})
	if err != nil {
		return nil, err
	}
	l := &link{
		c: c, born: time.Now(),
		lost: make(chan struct{}), drops: make(chan struct{}, 1),
		asked: map[uint64]*feed{}, feeds: map[string]*feed{},
	}
	l.frames = &frames{stream: stream, link: l}
	l.conn = jsonrpc2.NewConn(context.Background(), l.frames, nothingToHandle{},
		jsonrpc2.OnSend(l.frames.next), jsonrpc2.OnRecv(l.bind), jsonrpc2.SetLogger(quiet{c}))
	l.wg.Go(l.keep)
	l.wg.Go(l.tidy)
	if err := l.authenticate(ctx); err != nil {
		l.close()
		l.wait()
		return nil, err
	}
	return l, nil
}

func (l *link) authenticate(ctx context.Context) error {
	body, err := encode(&parley.AuthenticateParams{Token: l.c.o.Token, AgentID: l.c.agentID, ClientName: l.c.o.ClientName})
	if err != nil {
		return err
	}
	raw, err := l.call(ctx, parley.MethodAuthenticate, body, nil, func() {})
	if errors.Is(err, errBroken) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: authenticate: %w", parley.ErrUnavailable, err)
	}
	if err != nil {
		return err
	}
	var r parley.AuthenticateResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("%w: authenticate: %w", parley.ErrInternal, err)
	}
	l.agentID = r.AgentID
	return nil
}

// call sends a request and waits for its answer. f is the feed of a subscribe, else nil. release is called once, when the call takes no
// more room in the hub: when the answer came or the connection ended, which may be after call returned.
func (l *link) call(ctx context.Context, method string, body []byte, f *feed, release func()) (json.RawMessage, error) {
	id := l.ids.Add(1)
	frame, err := requestFrame(id, method, body)
	if err != nil {
		release()
		return nil, err
	}
	if f != nil {
		l.ask(id, f)
	}
	answer, err := l.conn.DispatchCall(ctx, method, nil,
		jsonrpc2.PickID(jsonrpc2.ID{Num: id}), jsonrpc2.ExtraField(frameField, frame))
	if err != nil {
		l.close()
		release()
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	var raw json.RawMessage
	err = answer.Wait(ctx, &raw)
	if ctx.Err() != nil && err != nil && errors.Is(err, ctx.Err()) {
		l.abandon(answer, release)
		return nil, ctx.Err()
	}
	release()
	return raw, fromRPC(err)
}

// abandon waits for the answer that nobody wants any more.
func (l *link) abandon(answer jsonrpc2.Waiter, release func()) {
	ok := l.c.start(func() {
		_ = answer.Wait(context.Background(), nil) // ends with the connection at the latest
		release()
	})
	if !ok {
		release()
	}
}

// fromRPC turns an error of jsonrpc2 into one of ours.
func fromRPC(err error) error {
	var e *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		w := parley.WireError{Code: int(e.Code), Message: e.Message}
		if e.Data != nil {
			_ = json.Unmarshal(*e.Data, &w.Data) // data only adds to what the code says
		}
		return parley.FromWire(w)
	case errors.Is(err, jsonrpc2.ErrClosed):
		return errBroken
	default:
		return fmt.Errorf("%w: the hub's answer: %w", parley.ErrInternal, err)
	}
}

// keep pings a hub that has been silent, and gives the connection up when it does not answer.
func (l *link) keep() {
	tick := time.NewTicker(l.c.o.PingAfter)
	defer tick.Stop()
	for {
		select {
		case <-l.lost:
			return
		case <-tick.C:
		}
		if time.Since(l.born)-time.Duration(l.heard.Load()) < l.c.o.PingAfter {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), l.c.o.PingAfter)
		err := l.frames.stream.Ping(ctx)
		cancel()
		if err != nil {
			l.close()
			return
		}
	}
}

// close ends the connection; everything on it ends soon after.
func (l *link) close() { _ = l.conn.Close() }

// wait returns when the goroutines of the link have ended.
func (l *link) wait() {
	<-l.lost
	l.wg.Wait()
}

func (l *link) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.comeBack
}

// nothingToHandle is the handler: the hub sends no requests, and frames takes notifications out before jsonrpc2 sees them.
type nothingToHandle struct{}

func (nothingToHandle) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

// quiet gives jsonrpc2's remarks to the logger.
type quiet struct{ c *Client }

func (q quiet) Printf(format string, v ...any) {
	q.c.o.Logger.Debug("connection to the hub: " + fmt.Sprintf(format, v...))
}
