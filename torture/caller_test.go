package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/torture/hubproc"
)

var program hubproc.Program

func TestMain(m *testing.M) {
	if id := os.Getenv(envReplica); id != "" {
		if err := runReplica(id); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}

// errGone: the connection broke.
var errGone = errors.New("connection gone")

// caller makes calls on one socket, one after another.
type caller struct {
	stream *wire.Stream
	n      int
	buf    []byte
}

// dial connects and authenticates as agent.
func dial(h *hubproc.Hub, agent string) (*caller, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := wire.DialStream(ctx, h.URL, nil)
	if err != nil {
		return nil, err
	}
	c := &caller{stream: s}
	var r parley.AuthenticateResult
	if err := c.call(parley.MethodAuthenticate, parley.AuthenticateParams{Token: hubproc.Token, AgentID: agent}, &r); err != nil {
		s.Close()
		return nil, err
	}
	return c, nil
}

// call makes one call. A refusal is one of the sentinels of parley; errGone means that the connection is.
func (c *caller) call(method string, params, result any) error {
	c.n++
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if err := c.stream.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.n, method, p)); err != nil {
		return errGone
	}
	if c.buf, err = c.stream.ReadFrame(c.buf); err != nil {
		return errGone
	}
	var reply struct {
		ID     int               `json:"id"`
		Result json.RawMessage   `json:"result"`
		Error  *parley.WireError `json:"error"`
	}
	if err := json.Unmarshal(c.buf, &reply); err != nil {
		return err
	}
	switch {
	case reply.ID != c.n:
		return fmt.Errorf("reply to call %d while %d was waited for: %.200s", reply.ID, c.n, c.buf)
	case reply.Error != nil:
		return parley.FromWire(*reply.Error)
	}
	return json.Unmarshal(reply.Result, result)
}
