// Package sdktest starts a real hub for tests of agents: the code of production on a loopback port,
// with its log in memory.
//
//	h := sdktest.NewHub(t)
//	id := h.Create(t, "alice", "bob")
//	alice := h.Client(t, "alice")
//
// The hub and its clients end with the test. Then the invariants of the log are checked: seqs
// without gaps, a valid hash chain, and no event after the close of a conversation.
package sdktest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/sdk"
)

// adminToken is valid in the tests of one process only.
const adminToken = "plt_test_sdktest"

// Hub is a hub for one test.
type Hub struct {
	// URL is the address of the hub, which Restart does not change: ws://127.0.0.1:port/rpc.
	URL string
	// Token has the scope admin and may speak as any id.
	Token string

	mu  sync.Mutex // guards the field below
	run *run
}

// run is the hub between two restarts.
type run struct {
	journal *memory.Journal
	hub     *hub.Hub
	rpc     *rpc.Server
	http    *http.Server
	sockets *sockets
	served  chan struct{} // closed when http ends
}

// NewHub starts a hub that ends with the test.
func NewHub(t testing.TB) *Hub {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("sdktest: %v", err)
	}
	h := &Hub{URL: "ws://" + l.Addr().String() + "/rpc", Token: adminToken}
	if h.run, err = start(memory.New(), l); err != nil {
		t.Fatalf("sdktest: %v", err)
	}
	t.Cleanup(func() { h.close(t) })
	return h
}

func start(j *memory.Journal, l net.Listener) (*run, error) {
	hb, err := hub.Open(j, &hub.Options{RootToken: adminToken, Version: "sdktest"})
	if err != nil {
		return nil, err
	}
	r := &run{journal: j, hub: hb, rpc: rpc.NewServer(hb, nil), served: make(chan struct{})}
	r.sockets = &sockets{Listener: l, open: map[net.Conn]bool{}}
	r.http = &http.Server{Handler: r.rpc, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.served)
		_ = r.http.Serve(r.sockets) // it always ends with an error: ErrServerClosed, by kill
	}()
	return r, nil
}

// kill ends a run as kill -9 ends a process: it cuts the connections and discards what is not
// durable. It returns the durable log.
func (r *run) kill() *memory.Journal {
	_ = r.http.Close()
	<-r.served
	r.sockets.cut()
	next := r.journal.Crash()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.rpc.Shutdown(ctx) // no client is connected any more
	_ = r.hub.Close()
	return next
}

// Restart kills the hub and starts it again with the same log and address. Acknowledged events are
// in the log, and all connections are cut.
func (h *Hub) Restart(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.run.kill()
	l, err := listenAgain(h.run.sockets.Addr().String())
	if err != nil {
		t.Fatalf("sdktest: restart: %v", err)
	}
	if h.run, err = start(next, l); err != nil {
		t.Fatalf("sdktest: restart: %v", err)
	}
}

// listenAgain listens on an address that was just closed. An outgoing connection of another program
// may use the port for a while.
func listenAgain(address string) (net.Listener, error) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		l, err := net.Listen("tcp", address)
		if err == nil || time.Now().After(deadline) {
			return l, err
		}
	}
}

// CutConnections cuts all connections. The hub continues.
func (h *Hub) CutConnections() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run.sockets.cut()
}

// InProcess returns a client in the process of the hub that speaks as agentID. Without scopes it
// has the default ones. It ends with the test or Restart.
func (h *Hub) InProcess(t testing.TB, agentID string, scopes ...parley.Scope) parley.Client {
	t.Helper()
	if len(scopes) == 0 {
		scopes = parley.DefaultScopes
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.run.hub.Client(h.run.hub.LocalPrincipal(agentID, scopes...))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// InProcessWith returns a client in the process of the hub with the identity of a token. It ends
// with the test, Restart or the token.
func (h *Hub) InProcessWith(t testing.TB, token string) parley.Client {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	p, err := h.run.hub.Authenticate(t.Context(), token, "")
	if err != nil {
		t.Fatalf("sdktest: %v", err)
	}
	c := h.run.hub.Client(p)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// RegisterAgent adds an agent to listAgents, until Restart.
func (h *Hub) RegisterAgent(t testing.TB, info parley.AgentInfo) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.run.hub.RegisterAgent(info); err != nil {
		t.Fatalf("sdktest: register %s: %v", info.Name, err)
	}
}

// Journal returns the log of the hub, until Restart. A test can make it fail.
func (h *Hub) Journal() *memory.Journal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.run.journal
}

// Failed returns a channel that is closed when the outcome of a commit is unknown. The hub accepts
// no more writes until Restart.
func (h *Hub) Failed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.run.hub.Failed()
}

// Drain stops the hub as SIGTERM does: it notifies the clients, and answers all calls with
// unavailable until Restart.
func (h *Hub) Drain(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.run.rpc.Shutdown(t.Context()); err != nil {
		t.Errorf("sdktest: drain: %v", err)
	}
}

// Client connects as agentID, with a token of the default scopes. It is closed with the test.
func (h *Hub) Client(t testing.TB, agentID string) *sdk.Client {
	t.Helper()
	return h.Dial(t, &sdk.Options{Token: h.NewToken(t, agentID)})
}

// Admin connects as "admin", with the scope admin. It is closed with the test.
func (h *Hub) Admin(t testing.TB) *sdk.Client {
	t.Helper()
	return h.Dial(t, &sdk.Options{Token: h.Token})
}

// Dial connects with options. The client is closed with the test.
func (h *Hub) Dial(t testing.TB, o *sdk.Options) *sdk.Client {
	t.Helper()
	c, err := sdk.Dial(t.Context(), h.URL, o)
	if err != nil {
		t.Fatalf("sdktest: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// NewToken creates a token that speaks as agentID. Without scopes it has the default ones.
func (h *Hub) NewToken(t testing.TB, agentID string, scopes ...parley.Scope) string {
	t.Helper()
	if len(scopes) == 0 {
		scopes = parley.DefaultScopes
	}
	r, err := h.Admin(t).CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: agentID, Scopes: scopes})
	if err != nil {
		t.Fatalf("sdktest: token for %s: %v", agentID, err)
	}
	return r.Token
}

// Create creates a conversation of agents that speak in the given order, and returns its id.
func (h *Hub) Create(t testing.TB, participants ...string) string {
	t.Helper()
	p := &parley.CreateConversationParams{}
	for _, id := range participants {
		p.Participants = append(p.Participants, parley.Participant{ID: id, Kind: parley.KindAgent})
	}
	s, err := h.Admin(t).CreateConversation(t.Context(), p)
	if err != nil {
		t.Fatalf("sdktest: create conversation: %v", err)
	}
	return s.ConversationID
}

func (h *Hub) close(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.run.kill()
	journaltest.CheckInvariants(t, j)
	_ = j.Close()
}

// sockets is a listener that can cut the connections that it accepted, including WebSockets.
type sockets struct {
	net.Listener

	mu   sync.Mutex // guards the field below
	open map[net.Conn]bool
}

func (s *sockets) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = true
	return &socket{Conn: c, of: s}, nil
}

func (s *sockets) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
	clear(s.open)
}

type socket struct {
	net.Conn
	of *sockets
}

func (c *socket) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
