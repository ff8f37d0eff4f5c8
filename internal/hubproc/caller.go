package hubproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// ErrGone: the connection was not made, or has ended before the answer came. What was asked may have been done.
var ErrGone = errors.New("connection gone")

// Frame is anything that a hub sends: the answer to a call, or, with a method, a notification. P is what is read of the params of one.
type Frame[P any] struct {
	Method string            `json:"method"`
	Params P                 `json:"params"`
	ID     int               `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  *parley.WireError `json:"error"`
}

// Into gives the result of call id in result, unless that is nil. A refusal is one of the sentinels of parley.
func (f *Frame[P]) Into(id int, result any) error {
	switch {
	case f.ID != id || f.Method != "":
		return fmt.Errorf("%q %d came while an answer to call %d was awaited: %.200s", f.Method, f.ID, id, f.Result)
	case f.Error != nil:
		return parley.FromWire(*f.Error)
	case result == nil:
		return nil
	}
	return json.Unmarshal(f.Result, result)
}

// CallerOptions are for Dial; the zero value is useful.
type CallerOptions struct {
	// Token is shown; empty: Token of this package.
	Token string
	// Handshake is how the connection is made; may be nil.
	Handshake *wire.DialOptions
	// DialTimeout bounds the handshake and authenticate, each; 0: 2 min.
	DialTimeout time.Duration
	// CallTimeout is how long a call may take until the connection is ended; 0: as long as it likes.
	CallTimeout time.Duration
}

// Caller makes calls on one socket, one after another. One goroutine uses it; any may close it.
type Caller[P any] struct {
	// Ended is the error of the read that found the end of the connection.
	Ended error

	told    func(*Frame[P])
	stream  *wire.Stream
	timeout time.Duration
	n       int
	buf     []byte
}

// Dial connects to the hub at url and authenticates as agent. A hub that is not reachable is parley.ErrUnavailable and ErrGone. told gets each notification that
// comes while an answer is awaited; if it is nil there must be none.
func Dial[P any](url, agent string, told func(*Frame[P]), o CallerOptions) (*Caller[P], error) {
	if o.Token == "" {
		o.Token = Token
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.DialTimeout)
	defer cancel()
	s, err := wire.DialStream(ctx, url, o.Handshake)
	if errors.Is(err, parley.ErrUnavailable) {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err != nil {
		return nil, err
	}
	c := &Caller[P]{told: told, stream: s, timeout: o.DialTimeout}
	if err := c.Call(methods.Authenticate, parley.AuthenticateParams{Token: o.Token, AgentID: agent}, &parley.AuthenticateResult{}); err != nil {
		c.Close()
		return nil, err
	}
	c.timeout = o.CallTimeout
	return c, nil
}

// Close ends the connection at once.
func (c *Caller[P]) Close() { c.stream.Close() }

// Call makes a call. A refusal is one of the sentinels of parley; ErrGone means that nobody knows. A nil result is not looked at.
func (c *Caller[P]) Call(method string, params, result any) error {
	if c.timeout > 0 {
		late := time.AfterFunc(c.timeout, c.Close)
		defer late.Stop()
	}
	if err := c.Ask(method, params); err != nil {
		return err
	}
	for {
		f, err := c.Read()
		if err != nil {
			return err
		}
		if f.Method == "" || c.told == nil {
			return f.Into(c.n, result)
		}
		c.told(f)
	}
}

// Ask sends a call and does not wait.
func (c *Caller[P]) Ask(method string, params any) error {
	c.n++
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if err := c.stream.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.n, method, p)); err != nil {
		return ErrGone
	}
	return nil
}

// Read gives the next frame.
func (c *Caller[P]) Read() (*Frame[P], error) {
	var err error
	if c.buf, err = c.stream.ReadFrame(c.buf); err != nil {
		c.Ended = err
		return nil, ErrGone
	}
	f := new(Frame[P])
	if err := json.Unmarshal(c.buf, f); err != nil {
		return nil, fmt.Errorf("the hub sent %.200q: %w", c.buf, err)
	}
	return f, nil
}
