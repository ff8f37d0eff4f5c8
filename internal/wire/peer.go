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

// ErrBroken means that the connection ended before the response. The call may have had an effect.
var ErrBroken = errors.New("the connection to the hub broke")

// PeerOptions configures NewPeer. Only Logger is optional.
type PeerOptions struct {
	// Notify receives the notifications of the hub on the reading goroutine. It must not block, and
	// may keep params. An error ends the connection.
	Notify func(method string, params json.RawMessage) error
	// Ended is called once after the last read, with the close code of the hub, or -1 if there is
	// none.
	Ended func(closeCode int)
	// Logger receives unexpected frames at level debug; nil discards them.
	Logger *slog.Logger
}

// Peer makes calls over a Stream, any number at once. It keeps the bytes of requests, results and
// notifications. jsonrpc2 does not: it escapes <, > and & in requests, and decodes and sorts the
// params of notifications.
type Peer struct {
	stream *Stream
	o      PeerOptions
	conn   *jsonrpc2.Conn
	ids    atomic.Uint64 // the last id; never 0, which jsonrpc2 reads as null
	born   time.Time
	heard  atomic.Int64 // time of the last frame, in ns since born
}

// NewPeer takes over stream and starts to read it. Call Close to end it.
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

// Silence returns the time since the last frame.
func (p *Peer) Silence() time.Duration { return time.Since(p.born) - time.Duration(p.heard.Load()) }

// Ping waits until the hub has answered a ping.
func (p *Peer) Ping(ctx context.Context) error { return p.stream.Ping(ctx) }

// Close ends the connection at once, and every call with ErrBroken. Ended is called soon after.
func (p *Peer) Close() { _ = p.conn.Close() } // again, or after the hub's end, it is closed already

// Answer is the response to a running call.
type Answer struct{ waiter jsonrpc2.Waiter }

// Start sends a call with the given JSON params. It refuses calls that the hub could only answer
// without an id or by closing the socket, with the error of the hub. If the connection does not
// accept the call, it is closed, and the error is ErrBroken. answered, if not nil, receives the
// result of a successful call on the reading goroutine, before later frames of the hub are read.
func (p *Peer) Start(ctx context.Context, method string, params []byte, answered func(result json.RawMessage)) (Answer,
	error) {
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

// Wait returns the exact bytes of the result. It fails with the refusal of the hub, ErrBroken, or
// the error of ctx. After the last one, it may be called again.
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
			_ = json.Unmarshal(unsheltered(*e.Data), &w.Data) // the code alone is sufficient
		}
		return nil, parley.FromWire(w)
	case errors.Is(err, jsonrpc2.ErrClosed):
		return nil, ErrBroken
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	}
	return nil, fmt.Errorf("%w: the hub's answer: %w", parley.ErrInternal, err)
}

// request is the encoded request inside a jsonrpc2.Request.
type request struct {
	frame    []byte
	answered func(result json.RawMessage)
}

// requestOf returns the request inside a jsonrpc2.Request.
func requestOf(r *jsonrpc2.Request) *request {
	if r == nil || len(r.ExtraFields) != 1 {
		return nil
	}
	q, _ := r.ExtraFields[0].Value.(*request)
	return q
}

// frames is the stream for jsonrpc2.
type frames struct {
	peer *Peer
	out  *request // the next request for WriteObject; jsonrpc2 sends one at a time
	buf  []byte   // of the last read frame
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
	f.out.frame, f.out = nil, nil // the response may take long
	return f.peer.stream.WriteFrame(frame)
}

// answered is called by jsonrpc2 on the reading goroutine for each response, before its caller
// receives it.
func (f *frames) answered(r *jsonrpc2.Request, resp *jsonrpc2.Response) {
	if q := requestOf(r); q != nil && q.answered != nil && resp != nil && resp.Result != nil {
		q.answered(unsheltered(*resp.Result))
	}
}

// ReadObject forwards notifications, and returns the next response to jsonrpc2. It is not called
// again after an error.
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
			f.buf = nil // do not keep a large buffer after one large page
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

// decode decodes a frame for jsonrpc2.
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

// notification returns method and params of a notification. The method is empty if the frame is a
// response.
func notification(frame []byte) (string, json.RawMessage, error) {
	if bytes.HasPrefix(frame, replyHead) {
		return "", nil, nil // our hub begins a response so; any other order is valid, but must be parsed
	}
	var n struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(frame, &n)
	return n.Method, n.Params, err
}

// requestFrame encodes a request, unless it exceeds a limit of the protocol.
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
		return nil, parley.Refuse(parley.ErrParse, "the request nests too deep", fmt.Sprintf("at most %d levels",
			limits.MaxDepth))
	}
	return b, nil
}

// nothingToHandle is the handler. The hub sends no requests, and frames removes notifications
// before jsonrpc2 sees them.
type nothingToHandle struct{}

func (nothingToHandle) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

// quiet forwards log lines of jsonrpc2 to the logger.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, v ...any) {
	q.log.Debug("connection to the hub: " + fmt.Sprintf(format, v...))
}
