package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/torture/hubproc"
)

// errGone: the connection has ended before the answer, or was not made.
var errGone = errors.New("connection gone")

// stuck is how long one call may take. A hub that does not answer is one that is gone.
const stuck = 60 * time.Second

// caller makes calls on one socket, one after another.
type caller struct {
	stream *wire.Stream
	life   int // of the hub that it is connected to
	n      int
	buf    []byte
}

// dial connects to a hub as agent.
func dial(url, agent string) (*caller, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stuck)
	defer cancel()
	s, err := wire.DialStream(ctx, url, nil)
	if errors.Is(err, parley.ErrUnavailable) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	c := &caller{stream: s}
	err = c.call(parley.MethodAuthenticate, parley.AuthenticateParams{Token: hubproc.Token, AgentID: agent}, &parley.AuthenticateResult{})
	if err != nil {
		s.Close()
		return nil, err
	}
	return c, nil
}

func (c *caller) close() { c.stream.Close() }

// call makes one call. A refusal is one of the sentinels of parley; errGone means that nobody knows.
func (c *caller) call(method string, params, result any) error {
	c.n++
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	late := time.AfterFunc(stuck, func() { c.stream.Close() })
	defer late.Stop()
	if err := c.stream.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.n, method, p)); err != nil {
		return errGone
	}
	for {
		if c.buf, err = c.stream.ReadFrame(c.buf); err != nil {
			return errGone
		}
		a := answer{}
		if err := json.Unmarshal(c.buf, &a); err != nil {
			return err
		}
		if a.Method == "" {
			return a.into(c.n, result)
		}
	}
}

// answer is a frame of a hub: the answer to a call, or, with a method, a notification.
type answer struct {
	Method string            `json:"method"`
	ID     int               `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  *parley.WireError `json:"error"`
}

// into gives the result of call n, or its refusal.
func (a *answer) into(n int, result any) error {
	switch {
	case a.ID != n:
		return fmt.Errorf("the answer is to call %d, expected one to %d", a.ID, n)
	case a.Error != nil:
		return parley.FromWire(*a.Error)
	}
	return json.Unmarshal(a.Result, result)
}
