package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// from is a request with a token.
func from(token, agent string) *protocol.RequestExtra {
	return &protocol.RequestExtra{Header: http.Header{"Authorization": {"Bearer " + token}, "Parley-Agent": {agent}}}
}

// TestMCPClientsAreShared: calls with one token as one participant share a client, others do not,
// and a client without users makes room.
func TestMCPClientsAreShared(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	d := h.door
	const root = "plt_root_of_this_test"
	ann, release, err := d.connect(t.Context(), from(root, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	again, releaseAgain, err := d.connect(t.Context(), from(root, "ann"))
	if err != nil || again != ann || ann.AgentID() != "ann" {
		t.Errorf("the second of ann is another client, as %s: %v", again.AgentID(), err)
	}
	releaseAgain()
	bob, releaseBob, err := d.connect(t.Context(), from(root, "bob"))
	if err != nil || bob == ann || bob.AgentID() != "bob" {
		t.Errorf("bob has ann's client: %v", err)
	}
	closed := make(chan struct{})
	close(closed)
	for i := range maxPooledClients - 2 {
		d.mu.Lock()
		d.clients[clientID{person: personID{byte(i), byte(i >> 8), 1}}] = &pooledClient{users: 1, ready: closed}
		d.mu.Unlock()
	}
	if _, _, err := d.connect(t.Context(), from(root, "carol")); !errors.Is(err, parley.ErrUnavailable) {
		t.Errorf("one too many: %v", err)
	}
	releaseBob()
	_, releaseCarol, err := d.connect(t.Context(), from(root, "carol"))
	if err != nil {
		t.Fatalf("carol has no place, and nobody uses bob's client: %v", err)
	}
	for end := time.Now().Add(clitest.Patience); !errors.Is(ping(bob),
		parley.ErrUnavailable); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the client that made room is not ended")
		}
	}
	if err := ping(ann); err != nil {
		t.Errorf("a client that is used: %v", err)
	}
	release()
	releaseCarol()
}

func ping(c parley.Client) error {
	_, err := c.ListConversations(context.Background(), &parley.ListConversationsParams{})
	return err
}

// TestMCPClientThatFails is not kept: the next call dials again.
func TestMCPClientThatFails(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	for _, ctx := range []func() context.Context{
		t.Context,
		func() context.Context { // one that goes before it is dialed
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		},
	} {
		if _, _, err := h.door.connect(ctx(), from("plt_wrong", "")); err == nil {
			t.Error("a wrong token has a client")
		}
	}
	for end := time.Now().Add(clitest.Patience); ; time.Sleep(time.Millisecond) {
		h.door.mu.Lock()
		left := len(h.door.clients)
		h.door.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d clients are left", left)
		}
	}
}

// TestMCPDoorClosesWhileItIsDialed: an adapter in memory that does not answer blocks no caller.
func TestMCPDoorClosesWhileItIsDialed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMCPAdapter(nil, &mcpOptions{})
		d.open(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			slog.New(slog.DiscardHandler))
		ended := make(chan error, 3)
		for i := range 3 {
			go func() {
				_, _, err := d.connect(t.Context(), from(fmt.Sprint("token", i), ""))
				ended <- err
			}()
		}
		synctest.Wait()
		begin := time.Now()
		if err := d.close(); err != nil || time.Since(begin) != 0 {
			t.Errorf("closed after %s: %v", time.Since(begin), err)
		}
		for range 3 {
			if err := <-ended; err == nil {
				t.Error("a client of a door that is closed")
			}
		}
		if _, _, err := d.connect(t.Context(), from("token", "")); !errors.Is(err, parley.ErrUnavailable) {
			t.Errorf("after the end: %v", err)
		}
	})
}
