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

// link is one authenticated connection: calls, and the subscriptions made on it.
type link struct {
	c       *Client
	url     string
	peer    *wire.Peer
	agentID string
	gaveUp  atomic.Bool  // the hub was silent for too long, or took no writes
	refused atomic.Int32 // times that it could not, since it could

	lost       chan struct{} // closed when the reader has ended
	drops      chan struct{} // a token: there is something in drop
	registered chan struct{} // closed by known
	known      func()        // says that the executor was registered here, or that nobody waits for that any more
	apart      chan struct{} // closed by isApart
	isApart    func()        // says that the hub has lost its log, and another is better
	wg         sync.WaitGroup

	mu       sync.Mutex            // guards the fields below
	feeds    map[string]*feed      // by subscription
	drop     []string              // subscriptions to be ended
	comeBack time.Duration         // what closing said
	notices  *registration.Notices // what the registration brings goes there; nil while nobody loops over one
	code     int                   // the close code, when lost
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
		c: c, url: url, lost: make(chan struct{}), drops: make(chan struct{}, 1), registered: make(chan struct{}), apart: make(chan struct{}), feeds: map[string]*feed{},
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

// call sends a request and waits for its answer. f is the feed of a subscribe, else nil. release is called once, when the call takes no
// more room in the hub: when the answer came or the connection ended, which may be after call returned.
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

// abandon waits for the answer that nobody wants any more.
func (l *link) abandon(answer wire.Answer, release func()) {
	ok := l.c.start(func() {
		_, _ = answer.Wait(context.Background()) // ends with the connection at the latest
		release()
	})
	if !ok {
		release()
	}
}

// keep pings a hub that has been silent, and gives the connection up when it does not answer.
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

// close ends the connection; everything on it ends soon after.
func (l *link) close() { l.peer.Close() }

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
