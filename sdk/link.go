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
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/registration"
	"github.com/parleyhub/parley/internal/wire"
)

// link is one authenticated connection with its calls and subscriptions.
type link struct {
	c       *Client
	url     string
	peer    *wire.Peer
	agentID string
	gaveUp  atomic.Bool  // the hub was silent for too long, or accepted no writes
	refused atomic.Int32 // consecutive writes that the hub refused as unavailable

	lost       chan struct{} // closed at the end of the reader
	drops      chan struct{} // a token: there is something in drop
	registered chan struct{} // closed by known
	known      func()        // the executor is registered here, or no call waits for that any more
	apart      chan struct{} // closed by isApart
	isApart    func()        // the hub lost its log, and another hub is better
	wg         sync.WaitGroup

	mu       sync.Mutex            // guards the fields below
	feeds    map[string]*feed      // by subscription
	drop     []string              // subscriptions to end
	comeBack time.Duration         // the retryAfterMs of closing
	notices  *registration.Notices // the receiver of the registration; nil if there is no loop
	code     int                   // the close code, after the end
}

// dialLink makes one attempt to connect to a hub and authenticate.
func (c *Client) dialLink(ctx context.Context, url string, patience time.Duration) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := wire.DialStream(ctx, url, &wire.DialOptions{HTTPClient: c.o.HTTPClient})
	if err != nil {
		return nil, err
	}
	l := &link{
		c: c, url: url, lost: make(chan struct{}), drops: make(chan struct{}, 1), registered: make(chan struct{}),
		apart: make(chan struct{}), feeds: map[string]*feed{},
	}
	l.known = sync.OnceFunc(func() { close(l.registered) })
	l.isApart = sync.OnceFunc(func() { close(l.apart) })
	l.peer = wire.NewPeer(stream, wire.PeerOptions{Notify: l.notify, Ended: l.end, Logger: c.o.Logger})
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
	raw, err := l.call(ctx, methods.Authenticate, body, nil, func() {})
	if errors.Is(err, wire.ErrBroken) || errors.Is(err, context.DeadlineExceeded) {
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

// call sends a request and waits for its answer. f is the feed of a subscribe, or nil. It calls
// release once, when the request no longer uses a slot in the hub: after the answer or at the end
// of the connection. That can be after call returned.
func (l *link) call(ctx context.Context, method string, body []byte, f *feed, release func()) (json.RawMessage, error) {
	var answered func(json.RawMessage)
	if f != nil {
		answered = func(result json.RawMessage) { l.bind(f, result) }
	}
	answer, err := l.peer.Start(ctx, method, body, answered)
	if err != nil {
		release()
		return nil, err
	}
	raw, err := answer.Wait(ctx)
	if ctx.Err() != nil && err != nil && errors.Is(err, ctx.Err()) {
		l.abandon(answer, release)
		return nil, ctx.Err()
	}
	release()
	return raw, err
}

// abandon waits for an answer that its caller no longer needs.
func (l *link) abandon(answer wire.Answer, release func()) {
	ok := l.c.start(func() {
		_, _ = answer.Wait(context.Background()) // ends with the connection at the latest
		release()
	})
	if !ok {
		release()
	}
}

// keep pings a silent hub, and closes the connection if there is no answer. It runs on its own
// goroutine.
func (l *link) keep() {
	timer := time.NewTimer(l.c.o.PingAfter)
	defer timer.Stop()
	for {
		select {
		case <-l.lost:
			return
		case <-timer.C:
		}
		if left := l.c.o.PingAfter - l.peer.Silence(); left > 0 {
			timer.Reset(left)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), l.c.o.PingAfter)
		err := l.peer.Ping(ctx)
		cancel()
		if err != nil {
			l.gaveUp.Store(true)
			l.close()
			return
		}
		timer.Reset(l.c.o.PingAfter)
	}
}

// close ends the connection. Its goroutines end soon after.
func (l *link) close() { l.peer.Close() }

// wait waits for the end of the link's goroutines.
func (l *link) wait() {
	<-l.lost
	l.wg.Wait()
}

func (l *link) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.comeBack
}
