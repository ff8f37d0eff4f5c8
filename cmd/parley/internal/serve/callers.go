package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/listen"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/sdk"
)

// callerPoolOptions say how callers reach the hub.
type callerPoolOptions struct {
	// ClientName is the name that the hub sees.
	ClientName string
	// Log receives lost and regained connections. It may be nil.
	Log *slog.Logger
	// URL is the address of the hub; empty: the hub is in this process, and its door is given to open.
	URL string
}

// callerPool returns a client of the hub for each caller of another protocol, which speaks with the
// caller's own token. Calls with one token, as one participant and from one address share a client,
// which stays for a while without users.
//
// A hub in this process is called through its own handler, over connections in memory, and sees the
// address of the request.
type callerPool struct {
	o    callerPoolOptions
	life context.Context // ends with stop, and with it what is being dialed
	end  context.CancelFunc

	listener *memoryListener
	http     *http.Server // nil until open
	served   chan error
	remote   func() (*http.Client, error) // of a hub elsewhere

	mu      sync.Mutex // guards the fields below
	clients map[clientID]*pooledClient
	calls   map[laneID]int // under way, of all clients of one
	closed  bool
}

// personID is a token and the participant that it is to speak as.
type personID [sha256.Size]byte

// clientID is a person and where it calls from.
type clientID struct {
	person personID
	from   netip.Addr
	stays  lane // long calls have a separate connection
}

// lane separates long calls from short ones, so that long calls leave capacity and a connection for
// the others.
type lane bool

const (
	passing lane = false
	staying lane = true
)

// laneID is what is counted together.
type laneID struct {
	person personID
	lane   lane
}

func (id clientID) lane() laneID { return laneID{id.person, id.stays} }

// pooledClient is a client of the hub that calls share.
type pooledClient struct {
	client parley.Client
	err    error
	ready  chan struct{} // closed when client or err is set
	users  int
	idle   *time.Timer // ends it; nil while it is used
	over   bool        // it is in the table no more, to make room for another
}

// The time that a client stays without users, and the largest number of clients.
const (
	pooledClientIdle = time.Minute
	maxPooledClients = 1000
	// maxPooledCalls bounds the calls that are under way with one token as one participant, over all
	// its clients, and as many that stay.
	maxPooledCalls = 256
	// callerDialTimeout bounds the making of a client.
	callerDialTimeout = 10 * time.Second
)

func newCallerPool(o *callerPoolOptions) *callerPool {
	c := &callerPool{
		o: *o, listener: newMemoryListener(), served: make(chan error, 1), remote: sync.OnceValues(cli.NewHTTPClient),
		clients: map[clientID]*pooledClient{}, calls: map[laneID]int{},
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// open serves the connections in memory with the hub's own door. It is not for a hub elsewhere.
func (c *callerPool) open(door http.Handler, log *slog.Logger) {
	c.http = listen.NewHTTPServer(door, log)
	go func() { c.served <- c.http.Serve(c.listener) }()
}

// stop ends all clients, and with them the waiting calls. No new client is made. Calls to the hub
// in this process are answered first: stop waits, for a limited time, until the hub has closed the
// connections at its shutdown. It may be called again.
func (c *callerPool) stop() error {
	c.mu.Lock()
	c.closed = true
	all := c.clients
	c.clients = map[clientID]*pooledClient{}
	c.mu.Unlock()
	c.end()
	c.listener.settle()
	var errs []error
	for _, held := range all {
		<-held.ready
		if held.client != nil {
			errs = append(errs, held.client.Close())
		}
	}
	return errors.Join(errs...)
}

// close ends the connections. The door has shut down.
func (c *callerPool) close() error {
	if c.http == nil {
		return nil
	}
	err := c.http.Close()
	if ended := <-c.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// connect returns the client of a token, as the named agent or as the token's first one. The caller
// must call the returned function. If ctx belongs to a request of this process, the hub sees its
// address.
func (c *callerPool) connect(ctx context.Context, token, agent string) (parley.Client, func(), error) {
	return c.connectIn(ctx, passing, token, agent)
}

// credentialsOf returns the token of a request and the participant that it names, or "".
func credentialsOf(h http.Header) (token, agent string) {
	_, token, _ = strings.Cut(h.Get("Authorization"), " ")
	return strings.TrimSpace(token), h.Get("Parley-Agent")
}

// connectIn is connect for calls of a lane.
func (c *callerPool) connectIn(ctx context.Context, l lane, token, agent string) (parley.Client, func(), error) {
	if token == "" {
		return nil, nil, parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	from, _ := rpc.CallerOf(ctx)
	id := clientID{personID(sha256.Sum256([]byte(agent + "\x00" + token))), from.From, l}
	held, mine, err := c.acquire(id)
	if err != nil {
		return nil, nil, err
	}
	if mine {
		go func() { // for all waiting callers, also if this one leaves
			defer close(held.ready)
			if held.client, held.err = c.dial(token, agent, id.from); held.err != nil {
				c.forget(id, held)
			}
		}()
	}
	select {
	case <-held.ready:
	case <-ctx.Done():
		c.release(id, held)
		return nil, nil, ctx.Err()
	}
	if held.err != nil {
		c.release(id, held)
		return nil, nil, held.err
	}
	return held.client, sync.OnceFunc(func() { c.release(id, held) }), nil
}

func (c *callerPool) dial(token, agent string, from netip.Addr) (parley.Client, error) {
	ctx, cancel := context.WithTimeout(c.life, callerDialTimeout)
	defer cancel()
	o := &sdk.Options{Token: token, AgentID: agent, ClientName: c.o.ClientName, Logger: c.o.Log}
	url := c.o.URL
	if url == "" {
		url = cli.DefaultURL
		o.HTTPClient = &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true, // a dial that a hub refuses while it drains leaves no connection: settle would wait for it
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.listener.dial(ctx, from) },
		}}
	} else {
		var err error
		if o.HTTPClient, err = c.remote(); err != nil {
			return nil, err
		}
	}
	client, err := sdk.Dial(ctx, url, o)
	if err != nil {
		return nil, err // not client, which would be no nil
	}
	return client, nil
}
