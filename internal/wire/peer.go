package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/sourcegraph/jsonrpc2"
)

// ErrBroken: the connection ended before the answer came. What was asked may have been done.
var ErrBroken = errors.New("the connection to the hub broke")

// PeerOptions are for NewPeer. All but Logger are needed.
type PeerOptions struct {
	// Notify gets the hub's notifications, on the reading goroutine; it must not block. params is its to keep. An error of it ends
	// the connection.
	Notify func(method string, params json.RawMessage) error
	// Ended is called once, when the reading goroutine has read its last, with the close code that the hub gave; -1 when it gave none.
	Ended func(closeCode int)
	// Logger hears, at level debug, of what the hub should not have sent; nil, nobody.
	Logger *slog.Logger
}

// Peer makes calls over a Stream, any number at once. Requests, results and notifications keep their bytes, which jsonrpc2 alone
// would not do: it encodes requests with <, > and & escaped, and takes the params of notifications apart and sorts their members.
type Peer struct {
	stream *Stream
	o      PeerOptions
	conn   *jsonrpc2.Conn
	ids    atomic.Uint64 // the last id given; never 0, which is what jsonrpc2 reads for null
	born   time.Time
	heard  atomic.Int64 // when the last frame came, in ns since born
}

// NewPeer takes stream over and starts to read it. End it with Close.
func NewPeer(stream *Stream, o PeerOptions) *Peer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Peer{stream: stream, o: o, born: time.Now()}
	f := &frames{peer: p}
	p.conn = jsonrpc2.NewConn(context.Background(), f, nothingToHandle{},
		jsonrpc2.OnSend(f.next), jsonrpc2.OnRecv(f.answered), jsonrpc2.SetLogger(quiet{o.Logger}))
	return p
}

// Silence is how long nothing has come.
func (p *Peer) Silence() time.Duration { return time.Since(p.born) - time.Duration(p.heard.Load()) }

// Ping waits until the hub has answered a ping.
func (p *Peer) Ping(ctx context.Context) error { return p.stream.Ping(ctx) }

// Close ends the connection at once, and every call with ErrBroken. Ended is called soon after.
func (p *Peer) Close() { _ = p.conn.Close() } // again, or after the hub's end, it is closed already

// Answer is that of a call under way.
type Answer struct{ waiter jsonrpc2.Waiter }

// Start sends a call; params is its JSON. What the hub could only answer without an id, or by closing the socket, is refused with the
// error that the hub would give; a connection that does not take the call is closed, and the error is ErrBroken. answered, if
// not nil, gets the result of a call that succeeds, on the reading goroutine before anything is read that the hub sent after it.
func (p *Peer) Start(ctx context.Context, method string, params []byte, answered func(result json.RawMessage)) (Answer, error) {
	id := p.ids.Add(1)
	frame, err := requestFrame(id, method, params)
	if err != nil {
		return Answer{}, err
	}
	w, err := p.conn.DispatchCall(ctx, method, nil,
		jsonrpc2.PickID(jsonrpc2.ID{Num: id}), jsonrpc2.ExtraField("request", &request{frame, answered}))
	if err != nil {
		p.Close()
		return Answer{}, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return Answer{w}, nil
}

// Wait gives the result: exact bytes. It fails with the hub's refusal, ErrBroken, or ctx's error, after which it may be called
// again.
func (a Answer) Wait(ctx context.Context) (json.RawMessage, error) {
	var raw json.RawMessage
	err := a.waiter.Wait(ctx, &raw)
	var e *jsonrpc2.Error
	switch {
	case err == nil:
		return unsheltered(raw), nil
	case errors.As(err, &e):
		w := parley.WireError{Code: int(e.Code), Message: e.Message}
		if e.Data != nil {
			_ = json.Unmarshal(unsheltered(*e.Data), &w.Data) // data only adds to what the code says
		}
		return nil, parley.FromWire(w)
	case errors.Is(err, jsonrpc2.ErrClosed):
		return nil, ErrBroken
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	}
	return nil, fmt.Errorf("%w: the hub's answer: %w", parley.ErrInternal, err)
}

// request is what a jsonrpc2.Request carries of ours: it is encoded already.
type request struct {
	frame    []byte
	answered func(result json.RawMessage)
}

// requestOf finds the request in what jsonrpc2 made of it.
func requestOf(r *jsonrpc2.Request) *request {
	if r == nil || len(r.ExtraFields) != 1 {
		return nil
	}
	q, _ := r.ExtraFields[0].Value.(*request)
	return q
}

// frames is the stream that jsonrpc2 sees.
type frames struct {
	peer *Peer
	out  *request // what WriteObject is about to write; jsonrpc2 sends one at a time
	buf  []byte   // of the last frame read
}

var _ jsonrpc2.ObjectStream = (*frames)(nil)

// next is called by jsonrpc2 before WriteObject, on the same goroutine.
func (f *frames) next(r *jsonrpc2.Request, _ *jsonrpc2.Response) { f.out = requestOf(r) }

// WriteObject sends the frame of the request.
func (f *frames) WriteObject(any) error {
	if f.out == nil {
		return errors.New("wire: only requests are sent to a hub")
	}
	frame := f.out.frame
	f.out.frame, f.out = nil, nil // the answer may be long in coming
	return f.peer.stream.WriteFrame(frame)
}

// answered is called by jsonrpc2 on the reading goroutine for each response, before its caller has it.
func (f *frames) answered(r *jsonrpc2.Request, resp *jsonrpc2.Response) {
	if q := requestOf(r); q != nil && q.answered != nil && resp != nil && resp.Result != nil {
		q.answered(unsheltered(*resp.Result))
	}
}

// ReadObject passes notifications on and gives the next response to jsonrpc2. After an error it is not called again.
func (f *frames) ReadObject(v any) error {
	err := f.read(v)
	if err != nil {
		f.peer.o.Ended(CloseCode(err))
	}
	return err
}

func (f *frames) read(v any) error {
	for {
		frame, err := f.peer.stream.ReadFrame(f.buf)
		if err != nil {
			return err
		}
		f.buf = frame
		if cap(frame) > keptBytes {
			f.buf = nil // one large page is no reason to hold on to its buffer
		}
		f.peer.heard.Store(int64(time.Since(f.peer.born)))
		method, params, err := notification(frame)
		if err == nil && method == "" {
			return f.decode(frame, v)
		}
		if err == nil {
			err = f.peer.o.Notify(method, params)
		}
		if err != nil {
			return fmt.Errorf("a frame of the hub: %w", err)
		}
	}
}

// decode gives a frame to jsonrpc2.
func (f *frames) decode(frame []byte, v any) error {
	err := json.Unmarshal(frame, v)
	if err == nil {
		return nil
	}
	other, failed := sheltered(frame)
	if failed != nil {
		return err
	}
	return json.Unmarshal(other, v)
}

// Close ends the connection.
func (f *frames) Close() error { return f.peer.stream.Close() }

// notification gives method and params of a notification; the method is empty when the frame is a response.
func notification(frame []byte) (string, json.RawMessage, error) {
	if bytes.HasPrefix(frame, replyHead) {
		return "", nil, nil // how our hub begins a response; any other order is as good, but must be looked at
	}
	var n struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(frame, &n)
	return n.Method, n.Params, err
}

// requestFrame builds a request, unless it would pass a bound of the protocol.
func requestFrame(id uint64, method string, params []byte) ([]byte, error) {
	b := make([]byte, 0, len(params)+96)
	b = append(b, replyHead...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	b = append(b, '}')
	switch {
	case len(b) > parley.MaxFrameBytes:
		return nil, parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("the request has %d bytes", len(b)),
			fmt.Sprintf("at most %d", parley.MaxFrameBytes))
	case !utf8.Valid(b):
		return nil, parley.Refuse(parley.ErrParse, "the request is not UTF-8", "UTF-8")
	case deeperThan(b, limits.MaxDepth):
		return nil, parley.Refuse(parley.ErrParse, "the request nests too deep", fmt.Sprintf("at most %d levels", limits.MaxDepth))
	}
	return b, nil
}

// nothingToHandle is the handler: the hub sends no requests, and frames takes notifications out before jsonrpc2 sees them.
type nothingToHandle struct{}

func (nothingToHandle) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

// quiet gives jsonrpc2's remarks to the logger.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, v ...any) {
	q.log.Debug("connection to the hub: " + fmt.Sprintf(format, v...))
}
