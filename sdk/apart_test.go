package sdk_test

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// lostJournal is a journal that others share, and that is out of reach at times.
type lostJournal struct {
	journal.Journal
	lost *atomic.Bool
}

func (j lostJournal) Reached() error {
	if j.lost.Load() {
		return journal.ErrUnavailable
	}
	return nil
}

// lostHub starts a hub whose journal can become unreachable. It returns its address.
func lostHub(t *testing.T, token string, lost *atomic.Bool) (h *hub.Hub, url string) {
	t.Helper()
	h, err := hub.Open(lostJournal{memory.New(), lost}, &hub.Options{RootToken: token, Peers: memory.NewPeers().Join()})
	if err != nil {
		t.Fatal(err)
	}
	door := rpc.NewServer(h, nil)
	web := httptest.NewServer(door)
	t.Cleanup(func() {
		if err := door.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, "ws" + web.URL[len("http"):] + "/rpc"
}

// TestHubThatStays: a reader of a hub that announces the loss of its log continues at another hub,
// after its cursor. A client without another hub stays, and receives events after the log is
// reachable again.
func TestHubThatStays(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	good := sdktest.NewHub(t)
	bad, url := lostHub(t, good.Token, &lost)
	door := newProxy(t, good.URL)
	door.kill() // so that all begin at the bad one
	good1, bad1 := good.InProcess(t, "a"), bad.Client(bad.LocalPrincipal("a"))
	// the two hubs have different logs, so the text shows which one was read
	for _, c := range []parley.Client{good1, bad1} {
		p := &parley.CreateConversationParams{
			ConversationID: "case",
			Participants:   []parley.Participant{{ID: "a", Kind: parley.KindHuman}},
		}
		if _, err := c.CreateConversation(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	several, alone := listen(t, url+","+door.url, good.Token), listen(t, url, good.Token)
	several.hears(t, "")
	alone.hears(t, "")
	door.revive()
	lost.Store(true)
	sayOf(t, good1, "at the good one")
	several.hears(t, "at the good one")
	lost.Store(false)
	sayOf(t, bad1, "at the bad one")
	alone.hears(t, "at the bad one")
}

func sayOf(t *testing.T, c parley.Client, words string) {
	t.Helper()
	if _, err := c.SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: "case", Payload: text(words),
		Finality: parley.FinalityTurn}); err != nil {
		t.Fatal(err)
	}
}

// listener returns the texts of the messages of a conversation.
type listener <-chan string

func listen(t *testing.T, urls, token string) listener {
	t.Helper()
	c, heard := dial(t, urls, eager(token)), make(chan string, 8)
	go func() {
		defer close(heard)
		for e, err := range c.Events(t.Context(), "case", 0) {
			if err != nil {
				heard <- "the loop has ended: " + err.Error()
				return
			}
			m, _ := e.Message() // of another event it is empty
			heard <- m.Text
		}
	}()
	return heard
}

func (l listener) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case got, ok := <-l:
		if !ok || got != want {
			t.Fatalf("heard %q, %v, expected %q", got, ok, want)
		}
	case <-time.After(patience):
		t.Fatalf("%q is not heard", want)
	}
}
