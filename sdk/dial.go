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

// DefaultURL is where a hub listens unless told otherwise.
const DefaultURL = "ws://127.0.0.1:7447/rpc"

// Client is a parley.Client over WebSockets. Make one with [Dial].
type Client struct {
	hubs    *hubs
	o       Options
	agentID string

	executor atomic.Pointer[executor] // whose loop is under way; nil while there is none
	claiming registration.Claiming    // what the next registration holds besides what its caller says

	life context.Context // ends by Close, or when the hub refuses the token; its cause says which
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	closed  bool       // no goroutine is started any more
	sockets []*socket  // the first carries the calls that do not wait
}

var _ parley.Client = (*Client)(nil)

// Dial connects to a hub and authenticates. The url is ws://host:port/rpc (wss, http and https too; /rpc may be left out), or several such of hubs of one log
// with commas between. It makes one attempt, bounded by ctx and 10 s: a hub that is not there is ErrUnavailable, a bad token ErrUnauthenticated, an id that is not
// the token's ErrForbidden. Of several hubs each is tried, beginning anywhere, until one is there. The client reconnects by itself from then on. ctx is for Dial alone.
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

// dialFirst gives slow hubs the time that the first attempts leave.
func (c *Client) dialFirst(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	l, err := c.dialHub(ctx, c.newPace().patience)
	if c.hubs.several() && errors.Is(err, context.DeadlineExceeded) && !isRefusal(err) && ctx.Err() == nil {
		return c.dialHub(ctx, dialTimeout)
	}
	return l, err
}

// DialEnv is Dial with what the environment says: PARLEY_URL (absent, DefaultURL), PARLEY_TOKEN and PARLEY_AGENT.
func DialEnv(ctx context.Context) (*Client, error) {
	return Dial(ctx, cmp.Or(os.Getenv("PARLEY_URL"), DefaultURL), &Options{
		Token: os.Getenv("PARLEY_TOKEN"), AgentID: os.Getenv("PARLEY_AGENT"),
	})
}

// URL is the hub that this client calls at present: of several, the one that was good last, or that is tried next.
func (c *Client) URL() string { return c.hubs.current() }

// AgentID is the participant that this client speaks as.
func (c *Client) AgentID() string { return c.agentID }

// Close ends everything under way with ErrUnavailable and waits until all goroutines have ended.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(parley.Refuse(parley.ErrUnavailable, "this client is closed", ""))
	c.wg.Wait()
	return nil
}

// start runs f on a goroutine that Close waits for; false when the client is closed already.
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

// pause sleeps for d, less when ctx or the client ends, and then gives the error.
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
