package sdk_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/memnet"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/sdk"
)

// memoryHub is a hub whose connections are in memory, so that it works in a bubble of synctest.
type memoryHub struct {
	listener *memnet.Listener

	mu    sync.Mutex // guards the field below
	conns []net.Conn
}

// newMemoryHub starts a hub that ends with the test.
func newMemoryHub(t *testing.T, o *rpc.Options) *memoryHub {
	t.Helper()
	j := memory.New()
	opened, err := hub.Open(j, &hub.Options{RootToken: "root"})
	if err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &rpc.Options{}
	}
	h, door := &memoryHub{listener: memnet.Listen()}, rpc.NewServer(opened, o)
	server := &http.Server{Handler: door}
	go server.Serve(h.listener) // ends with Close
	t.Cleanup(func() {
		if err := errors.Join(door.Shutdown(context.Background()), server.Close(), opened.Close()); err != nil {
			t.Error(err)
		}
		journaltest.CheckInvariants(t, j)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// dial connects a client that closes with the test.
func (h *memoryHub) dial(t *testing.T, token, agentID string) *sdk.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := h.listener.DialContext(ctx, network, address)
		if err == nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.conns = append(h.conns, conn)
		}
		return conn, err
	}}
	o := eager(token)
	o.AgentID, o.HTTPClient = agentID, &http.Client{Transport: transport}
	c := dial(t, "ws://127.0.0.1/rpc", o)
	t.Cleanup(transport.CloseIdleConnections)
	return c
}

// cut closes all connections that there are.
func (h *memoryHub) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		_ = c.Close() // its client notices
	}
	h.conns = nil
}
