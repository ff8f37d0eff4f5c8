package network

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

// errGone: the connection broke. What was asked may have been done.
var errGone = errors.New("connection gone")

// dialTimeout bounds a handshake and authenticate.
const dialTimeout = 20 * time.Second

// token is what peers of this process show.
var token = hubproc.Token

// peer is one socket, read by one goroutine: as little as can be, for there are many.
type peer struct {
	stream *wire.Stream
	n      int
	buf    []byte
	ended  error // of the read that found the end
	// early are notifications that came while an answer was waited for.
	early []note
}

// note is a notification.
type note struct {
	Method string `json:"method"`
	Params struct {
		SubscriptionID string          `json:"subscriptionId"`
		Seq            int64           `json:"seq"`
		Event          json.RawMessage `json:"event"`
		ClaimID        string          `json:"claimId"`
	} `json:"params"`
}

// reply is a frame that may be an answer.
type reply struct {
	ID     int               `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  *parley.WireError `json:"error"`
	note
}

// dial connects and authenticates as somebody.
func dial(url, as string, o *wire.DialOptions) (*peer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	s, err := wire.DialStream(ctx, url, o)
	if err != nil {
		return nil, err
	}
	p := &peer{stream: s}
	stuck := time.AfterFunc(dialTimeout, func() { s.Close() })
	defer stuck.Stop()
	if err := p.call(parley.MethodAuthenticate, parley.AuthenticateParams{Token: token, AgentID: as}, nil); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *peer) close() { p.stream.Close() }

// ask sends a request and does not wait.
func (p *peer) ask(method string, params any) error {
	p.n++
	encoded, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if err := p.stream.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.n, method, encoded)); err != nil {
		return errGone
	}
	return nil
}

// read gives the next frame.
func (p *peer) read() (r reply, err error) {
	if p.buf, err = p.stream.ReadFrame(p.buf); err != nil {
		p.ended = err
		return r, errGone
	}
	if err := json.Unmarshal(p.buf, &r); err != nil {
		return r, fmt.Errorf("the hub sent %.200q: %w", p.buf, err)
	}
	return r, nil
}

// call makes one call. A refusal is one of the sentinels of parley; errGone means that the connection is.
func (p *peer) call(method string, params, result any) error {
	if err := p.ask(method, params); err != nil {
		return err
	}
	for {
		r, err := p.read()
		switch {
		case err != nil:
			return err
		case r.Method != "":
			p.early = append(p.early, r.note)
		case r.ID != p.n:
			return fmt.Errorf("an answer to call %d while %d was waited for: %.200s", r.ID, p.n, p.buf)
		case r.Error != nil:
			return parley.FromWire(*r.Error)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(r.Result, result)
		}
	}
}

// next gives the next notification.
func (p *peer) next() (note, error) {
	if len(p.early) > 0 {
		n := p.early[0]
		p.early = p.early[1:]
		return n, nil
	}
	for {
		r, err := p.read()
		if err != nil || r.Method != "" {
			return r.note, err
		}
	}
}

// subscribe subscribes from the cursor of h.
func (p *peer) subscribe(conversation string, h *history) (id string, err error) {
	var r parley.SubscribeResult
	err = p.call(parley.MethodSubscribe, parley.SubscribeParams{ConversationID: conversation, SinceSeq: h.last()}, &r)
	return r.SubscriptionID, err
}

// passes reports whether an error is one that a restart of the hub or a cut brings: the caller tries again.
func passes(err error) bool {
	return errors.Is(err, errGone) || errors.Is(err, parley.ErrUnavailable) || errors.Is(err, parley.ErrOutcomeUnknown) ||
		errors.Is(err, parley.ErrRateLimited) || errors.Is(err, context.DeadlineExceeded)
}
