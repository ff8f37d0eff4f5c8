package conv

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// testCaller may do everything that its seat may.
type testCaller string

func (c testCaller) ParticipantID() string    { return string(c) }
func (c testCaller) Viewer() eventdata.Viewer { return eventdata.Viewer{ID: string(c)} }
func (testCaller) Has(parley.Scope) bool      { return true }
func (testCaller) Reads(*fold.State) bool     { return true }
func (testCaller) Ended() <-chan struct{}     { return nil }
func (testCaller) Valid(time.Time) error      { return nil }

// allowAll authorizes every request.
type allowAll struct{}

func (allowAll) Authorize(*Request, *fold.State) *Refusal { return nil }

// newConversation returns an engine on a memory journal and a pinned conversation of the agent a.
func newConversation(t *testing.T) (*Engine, *Conversation) {
	t.Helper()
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	e := New(Options{
		Journal: j, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		MaxLoaded: 10, MaxLoadedBytes: 1 << 20, IdleEvict: time.Minute,
	})
	e.Connect(Parts{
		Authorizer: allowAll{},
		Guide:      func(s *fold.State, id string) parley.Guidance { return s.Guidance(id, false) },
	})
	e.Start()
	t.Cleanup(e.Close)
	c, err := e.Pin("x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Unpin(c) })
	create := fold.Command{
		Do: &fold.Create{Params: &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}},
		}},
		From: "a",
	}
	if _, _, err := c.Ask(context.Background(), &Request{By: testCaller("a"), Cmd: create}); err != nil {
		t.Fatal(err)
	}
	return e, c
}
