package sdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/registration"
)

// DefaultURL is the default address of a hub.
const DefaultURL = "ws://127.0.0.1:7447/rpc"

// Client is a [parley.Client] over WebSockets. [Dial] creates it.
type Client struct {
	hubs    *hubs
	o       Options
	agentID string

	executor atomic.Pointer[executor] // whose loop runs, or nil
	claiming registration.Claiming    // the claims that the next registration adds to those of its caller

	life context.Context // ends with Close, or when the hub refuses the token; its cause is the reason
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	closed  bool       // no goroutine is started any more
	sockets []*socket  // the first has the calls that do not wait
}

var _ parley.Client = (*Client)(nil)

// Dial connects to a hub and authenticates. url is ws://host:port/rpc, or with the scheme wss, http
// or https. /rpc may be omitted. Several hubs that share a log are separated by commas.
//
// Dial makes one attempt, which is bounded by ctx and 10 s. With several hubs it tries each of
// them, in random order, until one accepts the client. It returns ErrUnavailable if the hub is not
// reachable, ErrUnauthenticated for an invalid token, and ErrForbidden if the token may not speak
// as o.AgentID.
//
// After that, the client reconnects by itself until Close. The end of ctx has no effect on it.
func Dial(ctx context.Context, url string, o *Options) (*Client, error) {
	given := strings.Split(url, ",")
	if o != nil {
		given = append(given, o.URLs...)
	}
	all, err := hubURLs(given)
	if err != nil {
		return nil, err
	}
	c := &Client{hubs: newHubs(all), o: o.withDefaults(len(all))}
	c.agentID = c.o.AgentID
	c.life, c.end = context.WithCancelCause(context.Background())
	l, err := c.dialFirst(ctx)
	if err != nil {
		c.end(err)
		return nil, fmt.Errorf("dial hub: %w", err)
	}
	c.agentID = l.agentID
	c.addSocket(l)
	return c, nil
}

// dialFirst makes the attempt of Dial. Slow hubs get the time that is left after a short first
// round.
func (c *Client) dialFirst(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	l, err := c.dialHub(ctx, c.newPace().patience)
	if c.hubs.several() && errors.Is(err, context.DeadlineExceeded) && !isRefusal(err) && ctx.Err() == nil {
		return c.dialHub(ctx, dialTimeout)
	}
	return l, err
}

// DialEnv is Dial with the address PARLEY_URL or DefaultURL, the token PARLEY_TOKEN and the agent
// id PARLEY_AGENT of the environment.
func DialEnv(ctx context.Context) (*Client, error) {
	return Dial(ctx, cmp.Or(os.Getenv("PARLEY_URL"), DefaultURL), &Options{
		Token: os.Getenv("PARLEY_TOKEN"), AgentID: os.Getenv("PARLEY_AGENT"),
	})
}

// URL returns the address of the current hub. With several hubs, it is the last good one, or the
// next one to try.
func (c *Client) URL() string { return c.hubs.current() }

// AgentID returns the id of the participant that the client speaks as.
func (c *Client) AgentID() string { return c.agentID }

// Close ends all calls with ErrUnavailable and waits for all goroutines to end.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(parley.Refuse(parley.ErrUnavailable, "this client is closed", ""))
	c.wg.Wait()
	return nil
}

// start runs f on a goroutine that Close waits for. It returns false if the client is closed.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

func (c *Client) newBackoff() *backoff.ExponentialBackOff { return c.o.newBackoff() }

// pause sleeps for d. It returns the error of ctx or of the client if one of them ends first.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return context.Cause(c.life)
	}
}
