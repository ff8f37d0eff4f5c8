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

// ErrGone means that the connection failed, or ended before the response. The call may have had an
// effect.
var ErrGone = errors.New("connection gone")

// Frame is a frame of the hub: a response to a call, or, with a method, a notification. P is the
// type for the params of a notification.
type Frame[P any] struct {
	Method string            `json:"method"`
	Params P                 `json:"params"`
	ID     int               `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  *parley.WireError `json:"error"`
}

// Into decodes the result of call id into result, unless result is nil. A refusal is one of the
// sentinels of parley.
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

// CallerOptions configures Dial. The zero value is ready to use.
type CallerOptions struct {
	// Token authenticates the caller. The default is Token of this package.
	Token string
	// Handshake configures the connection; may be nil.
	Handshake *wire.DialOptions
	// DialTimeout limits the handshake and authenticate, each. 0 means 2 min.
	DialTimeout time.Duration
	// CallTimeout is the time after which a call ends the connection. 0 means no limit.
	CallTimeout time.Duration
}

// Caller makes calls over one socket, one at a time. Only one goroutine may use it, but any may
// close it.
type Caller[P any] struct {
	// Ended is the error of the read that detected the end of the connection.
	Ended error

	notify  func(*Frame[P])
	stream  *wire.Stream
	timeout time.Duration
	n       int
	buf     []byte
}

// Dial connects to the hub at url and authenticates as agent. If the hub cannot be reached, the
// error is both parley.ErrUnavailable and ErrGone. notify receives the notifications that arrive
// before a response. If notify is nil, a notification is an error.
func Dial[P any](url, agent string, notify func(*Frame[P]), o CallerOptions) (*Caller[P], error) {
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
	c := &Caller[P]{notify: notify, stream: s, timeout: o.DialTimeout}
	if err := c.Call(methods.Authenticate, parley.AuthenticateParams{Token: o.Token, AgentID: agent},
		&parley.AuthenticateResult{}); err != nil {
		c.Close()
		return nil, err
	}
	c.timeout = o.CallTimeout
	return c, nil
}

// Close ends the connection at once.
func (c *Caller[P]) Close() { c.stream.Close() }

// Call makes a call. A refusal is one of the sentinels of parley. ErrGone means an unknown outcome.
// A nil result is ignored.
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
		if f.Method == "" || c.notify == nil {
			return f.Into(c.n, result)
		}
		c.notify(f)
	}
}

// Ask sends a call without waiting.
func (c *Caller[P]) Ask(method string, params any) error {
	c.n++
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if err := c.stream.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.n, method,
		p)); err != nil {
		return ErrGone
	}
	return nil
}

// Read returns the next frame.
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
