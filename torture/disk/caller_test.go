//go:build linux

package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/torture/hubproc"
)

// errGone: the connection has ended before the answer.
var errGone = errors.New("connection gone")

// dialTimeout bounds a handshake.
const dialTimeout = 30 * time.Second

// admin is the agent of a caller that writes nothing.
const admin = "auditor"

// caller makes calls on one socket, one after another, and keeps the events of its subscriptions.
type caller struct {
	stream *wire.Stream
	n      int
	buf    []byte
	shown  []shown
}

// shown is an event that a subscriber was told.
type shown struct {
	conversation string
	seq          int64
	raw          string
}

// frame is anything that a hub sends.
type frame struct {
	ID     int                      `json:"id"`
	Result json.RawMessage          `json:"result"`
	Error  *parley.WireError        `json:"error"`
	Method string                   `json:"method"`
	Params parley.EventNotification `json:"params"`
}

// dial connects as an agent.
func dial(h *hubproc.Hub, agent string) (*caller, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	s, err := wire.DialStream(ctx, h.URL, nil)
	if err != nil {
		return nil, err
	}
	c := &caller{stream: s}
	if err := c.call(parley.MethodAuthenticate, parley.AuthenticateParams{Token: hubproc.Token, AgentID: agent}, &parley.AuthenticateResult{}); err != nil {
		s.Close()
		return nil, err
	}
	return c, nil
}

// mustDial connects as admin until the end of the test.
func mustDial(t *testing.T, h *hubproc.Hub) *caller {
	t.Helper()
	c, err := dial(h, admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stream.Close() })
	return c
}

// call makes a call. A refusal is one of the sentinels of parley; errGone means that nobody knows.
func (c *caller) call(method string, params, result any) error {
	if err := c.ask(method, params); err != nil {
		return err
	}
	return c.answer(result)
}

// ask sends a call.
func (c *caller) ask(method string, params any) error {
	c.n++
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if err := c.stream.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.n, method, p)); err != nil {
		return errGone
	}
	return nil
}

// answer waits for the answer to the last call.
func (c *caller) answer(result any) error {
	for {
		f, err := c.next()
		switch {
		case err != nil:
			return err
		case f.Method != "":
			continue
		case f.ID != c.n:
			return fmt.Errorf("answer to call %d while %d was waited for", f.ID, c.n)
		case f.Error != nil:
			return parley.FromWire(*f.Error)
		}
		return json.Unmarshal(f.Result, result)
	}
}

// next reads a frame, and keeps the event in it.
func (c *caller) next() (*frame, error) {
	var err error
	if c.buf, err = c.stream.ReadFrame(c.buf); err != nil {
		return nil, errGone
	}
	f := new(frame)
	if err := json.Unmarshal(c.buf, f); err != nil {
		return nil, err
	}
	if f.Method == parley.NotifyEvent {
		c.shown = append(c.shown, shown{f.Params.ConversationID, f.Params.Event.Seq, string(f.Params.Event.Raw())})
	}
	return f, nil
}

// must makes a call that is answered.
func (c *caller) must(t *testing.T, method string, params, result any) {
	t.Helper()
	if err := c.call(method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// tail reads all events of a conversation after a seq.
func (c *caller) tail(t *testing.T, conversation string, since int64) []parley.Event {
	t.Helper()
	var events []parley.Event
	for {
		var page parley.TailResult
		c.must(t, parley.MethodTail, parley.TailParams{ConversationID: conversation, SinceSeq: since, Limit: parley.MaxPage}, &page)
		events = append(events, page.Events...)
		if since = page.NextSeq; since >= page.LatestSeq {
			return events
		}
	}
}
