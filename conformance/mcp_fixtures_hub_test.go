package conformance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/rpc"
)

// fixtureHub starts a hub in this process that serves /mcp as the program does, through the same
// server, with the fixtures of the suite. It accepts hubproc.Token. It returns the base of its
// plain HTTP. The test must drain it.
func fixtureHub(t *testing.T) string {
	t.Helper()
	h, err := hub.Open(memory.New(), &hub.Options{RootToken: hubproc.Token, Version: "fixtures"})
	if err != nil {
		t.Fatal(err)
	}
	dismiss := employ(t, h)
	alice := h.Client(h.LocalPrincipal("alice", parley.DefaultScopes...))
	s := mcp.NewServer(&mcp.Options{Version: "fixtures", Connect: mcp.Client(alice)})
	addFixtures(s.Server)
	door := rpc.NewServer(h, &rpc.Options{Protocols: map[string]*rpc.Protocol{
		"/mcp": {Handler: mcp.NewHandler(s, accountOf), Verbs: mcp.Verbs, MaxBody: mcp.MaxBodyBytes},
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	web := &http.Server{Handler: door, ConnContext: door.ConnContext, ReadHeaderTimeout: 5 * time.Second}
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		dismiss()
		if err := errors.Join(door.Shutdown(ctx), web.Close(), alice.Close(), h.Close()); err != nil {
			t.Errorf("the hub with fixtures: %v", err)
		}
		<-served
	})
	return "http://" + l.Addr().String()
}

// accountOf names who calls, as the program does.
func accountOf(r *http.Request) string {
	c, _ := rpc.CallerOf(r.Context())
	return c.Account + " " + c.AgentID
}
