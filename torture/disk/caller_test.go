//go:build linux

package disk

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
)

// admin is the agent of a caller that writes nothing.
const admin = "auditor"

// caller makes calls on one socket, one after another, and keeps the events of its subscriptions.
type caller struct {
	*hubproc.Caller[parley.EventNotification]
	shown []shown
}

// frame is anything that a hub sends.
type frame = hubproc.Frame[parley.EventNotification]

// shown is an event that a subscriber received.
type shown struct {
	conversation string
	seq          int64
	raw          string
}

// dial connects as an agent.
func dial(h *hubproc.Hub, agent string) (*caller, error) {
	c := &caller{}
	below, err := hubproc.Dial(h.URL, agent, c.keep, hubproc.CallerOptions{})
	if err != nil {
		return nil, err
	}
	c.Caller = below
	return c, nil
}

// mustDial connects as admin until the end of the test.
func mustDial(t *testing.T, h *hubproc.Hub) *caller {
	t.Helper()
	c, err := dial(h, admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// next reads a frame, and keeps the event in it.
func (c *caller) next() error {
	f, err := c.Read()
	if err == nil {
		c.keep(f)
	}
	return err
}

func (c *caller) keep(f *frame) {
	if f.Method == methods.NotifyEvent {
		c.shown = append(c.shown, shown{f.Params.ConversationID, f.Params.Event.Seq, string(f.Params.Event.Raw())})
	}
}

// must makes a call that is answered.
func (c *caller) must(t *testing.T, method string, params, result any) {
	t.Helper()
	if err := c.Call(method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// tail reads all events of a conversation after a seq.
func (c *caller) tail(t *testing.T, conversation string, since int64) []parley.Event {
	t.Helper()
	var events []parley.Event
	for {
		var page parley.TailResult
		c.must(t, methods.Tail, parley.TailParams{ConversationID: conversation, SinceSeq: since, Limit: parley.MaxPage},
			&page)
		events = append(events, page.Events...)
		if since = page.NextSeq; since >= page.LatestSeq {
			return events
		}
	}
}
