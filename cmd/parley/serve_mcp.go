package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/internal/memnet"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/sdk"
)

// Where a hub with --mcp serves the Model Context Protocol, and says by whose tokens (RFC 9728).
const (
	mcpPath     = "/mcp"
	mcpMetadata = "/.well-known/oauth-protected-resource/mcp"
)

// mcpDoor lets clients of the Model Context Protocol call the hub of this process: each with its own token, through the hub's own door, over connections in memory.
type mcpDoor struct {
	log    *slog.Logger
	issuer string

	server *mcp.Server
	life   context.Context // ends with close, and with it what is being dialed
	end    context.CancelFunc

	listener *memnet.Listener
	http     *http.Server
	served   chan error

	mu      sync.Mutex // guards the fields below
	clients map[clientID]*mcpClient
	closed  bool
}

// clientID is a token and the participant that it is to speak as.
type clientID [sha256.Size]byte

// mcpClient is a client of the hub that calls share.
type mcpClient struct {
	client parley.Client
	err    error
	ready  chan struct{} // closed when client or err is set
	users  int
	idle   *time.Timer // ends it; nil while somebody uses it
	over   bool        // it is in the table no more, to make room for another
}

// How long a client stays that nobody uses, and how many there are at most.
const (
	mcpClientIdle = time.Minute
	maxMCPClients = 1000
	// maxMCPCalls bounds the calls and subscriptions of one client that are under way: those of sessions go on when their requests have gone.
	maxMCPCalls = 256
)

func newMCPDoor(log *slog.Logger, issuer string) *mcpDoor {
	d := &mcpDoor{log: log, issuer: issuer, listener: memnet.Listen(), served: make(chan error, 1), clients: map[clientID]*mcpClient{}}
	d.life, d.end = context.WithCancel(context.Background())
	d.server = mcp.NewServer(&mcp.Options{Connect: d.connect, Version: version(), Logger: log})
	return d
}

// guests are what the door of the hub serves for it.
func (d *mcpDoor) guests() (map[string]*rpc.Guest, map[string]http.Handler) {
	guest := &rpc.Guest{
		Handler: mcp.NewHandler(d.server, callerName), Verbs: mcp.Verbs, MaxBody: mcp.MaxBodyBytes,
		Challenge: func(r *http.Request) string { return fmt.Sprintf("resource_metadata=%q", origin(r)+mcpMetadata) },
	}
	return map[string]*rpc.Guest{mcpPath: guest}, map[string]http.Handler{mcpMetadata: http.HandlerFunc(d.serveMetadata)}
}

// callerName names who calls, so that nobody goes on with another's session.
func callerName(r *http.Request) string {
	c, _ := rpc.CallerOf(r.Context())
	return c.Account + " " + c.AgentID
}

// origin is that by which a request has come.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// serveMetadata says whose tokens are taken (RFC 9728).
func (d *mcpDoor) serveMetadata(w http.ResponseWriter, r *http.Request) {
	doc := map[string]any{
		"resource": origin(r) + mcpPath, "resource_name": "Parley", "bearer_methods_supported": []string{"header"},
	}
	if d.issuer != "" {
		doc["authorization_servers"] = []string{d.issuer}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_ = json.NewEncoder(w).Encode(doc) // a peer that is gone needs no answer
}

// open serves the connections in memory with the hub's door.
func (d *mcpDoor) open(door http.Handler, log *slog.Logger) {
	d.http = newHTTPServer(door, log)
	go func() { d.served <- d.http.Serve(d.listener) }()
}

// stop ends all clients, and with them the calls that wait: it comes before the door shuts down, which waits for those.
func (d *mcpDoor) stop() error {
	d.mu.Lock()
	d.closed = true
	all := d.clients
	d.clients = map[clientID]*mcpClient{}
	d.mu.Unlock()
	d.end()
	var errs []error
	for _, c := range all {
		<-c.ready
		if c.client != nil {
			errs = append(errs, c.client.Close())
		}
	}
	return errors.Join(errs...)
}

// close ends the connections. The door has shut down.
func (d *mcpDoor) close() error {
	d.server.Close()
	err := d.http.Close()
	if ended := <-d.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// connect gives the client of who has made a request.
func (d *mcpDoor) connect(ctx context.Context, from *protocol.RequestExtra) (parley.Client, func(), error) {
	if from == nil {
		return nil, nil, parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	_, token, _ := strings.Cut(from.Header.Get("Authorization"), " ")
	token, agent := strings.TrimSpace(token), from.Header.Get("Parley-Agent")
	id := clientID(sha256.Sum256([]byte(agent + "\x00" + token)))
	c, mine, err := d.use(id)
	if err != nil {
		return nil, nil, err
	}
	if mine {
		go func() { // for whoever waits, also when this caller goes
			defer close(c.ready)
			if c.client, c.err = d.dial(token, agent); c.err != nil {
				d.drop(id, c)
			}
		}()
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		d.release(id, c)
		return nil, nil, ctx.Err()
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	return c.client, func() { d.release(id, c) }, nil
}

// mcpDialTimeout bounds a connection in memory: it takes as long as the token is looked at.
const mcpDialTimeout = 10 * time.Second

func (d *mcpDoor) dial(token, agent string) (parley.Client, error) {
	ctx, cancel := context.WithTimeout(d.life, mcpDialTimeout)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.listener.Dial(ctx) }}
	client, err := sdk.Dial(ctx, defaultURL, &sdk.Options{
		HTTPClient: &http.Client{Transport: transport}, Token: token, AgentID: agent, ClientName: "parley-mcp/" + version(),
	})
	if err != nil {
		return nil, err // not client, which would be no nil
	}
	return client, nil
}

// use gives the client of an id; mine says that the caller is to make it.
func (d *mcpDoor) use(id clientID) (c *mcpClient, mine bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false, parley.Refuse(parley.ErrUnavailable, "the hub is about to stop", "")
	}
	if c = d.clients[id]; c == nil {
		if len(d.clients) >= maxMCPClients && !d.makeRoomLocked() {
			return nil, false, &parley.Error{Err: parley.ErrUnavailable, Message: "too many callers over MCP", RetryAfterMs: 1000}
		}
		c, mine = &mcpClient{ready: make(chan struct{})}, true
		d.clients[id] = c
	}
	if c.users >= maxMCPCalls {
		return nil, false, &parley.Error{Err: parley.ErrRateLimited, Message: "too many calls of this token are under way over MCP", RetryAfterMs: 1000}
	}
	c.users++
	if c.idle != nil {
		c.idle.Stop()
		c.idle = nil
	}
	return c, mine, nil
}

// makeRoomLocked ends a client that nobody uses; it reports false if all are used.
func (d *mcpDoor) makeRoomLocked() bool {
	for id, c := range d.clients {
		if c.users == 0 {
			delete(d.clients, id)
			c.over = true
			c.idle.Reset(0)
			return true
		}
	}
	return false
}

// release gives a client back. One that nobody uses ends after a while.
func (d *mcpDoor) release(id clientID, c *mcpClient) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.users--; c.users == 0 && d.clients[id] == c {
		c.idle = time.AfterFunc(mcpClientIdle, func() { d.expire(id, c) })
	}
}

// expire ends a client that nobody has used for a while.
func (d *mcpDoor) expire(id clientID, c *mcpClient) {
	d.mu.Lock()
	over := c.over
	if c.users == 0 && d.clients[id] == c {
		delete(d.clients, id)
		over = true
	}
	d.mu.Unlock()
	if !over {
		return
	}
	<-c.ready
	if c.client != nil {
		_ = c.client.Close() // nobody uses it
	}
}

// drop forgets a client that could not be made.
func (d *mcpDoor) drop(id clientID, c *mcpClient) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clients[id] == c {
		delete(d.clients, id)
	}
}
