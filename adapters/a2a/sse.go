package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/parleyhub/parley/internal/sse"
)

// keepAlive is how often a stream in which nothing happens shows that it lives. What lies between closes idle connections after 30 s and more.
const keepAlive = 15 * time.Second

// lastEventID is the header by which a client says how far it has come.
const lastEventID = "Last-Event-ID"

// item is what a stream of the methods yields.
type item struct {
	update update
	err    error
}

// errEmpty is a stream that ended before it began.
var errEmpty = errors.New("a stream had no event")

// serveStream answers with a stream. Until it has begun, an error is an answer like any other.
func (x *visit) serveStream(req any) {
	ctx, cancel := context.WithCancel(x.r.Context())
	items, wait := x.pump(ctx, req)
	defer wait()
	defer cancel()
	begun, ok := <-items
	if !ok {
		begun.err = errEmpty
	}
	if begun.err != nil {
		x.refuse(begun.err)
		return
	}
	h := x.w.Header()
	h.Set("Content-Type", sse.MediaType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep it back
	h.Set("X-Content-Type-Options", "nosniff")
	x.w.WriteHeader(http.StatusOK)
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for goes := x.sendItem(begun); goes; {
		select {
		case it, ok := <-items:
			goes = ok && x.sendItem(it)
			alive.Reset(keepAlive)
		case <-alive.C:
			goes = x.sendBytes(sse.AppendComment(nil))
		}
	}
}

// pump runs a stream of the methods on a goroutine of its own, so that signs of life can be sent meanwhile. It ends with the stream or ctx; wait waits for it, and panics
// as it has.
func (x *visit) pump(ctx context.Context, req any) (items <-chan item, wait func()) {
	out := make(chan item)
	var panicked any
	go func() {
		defer close(out)
		defer func() { panicked = recover() }()
		for u, err := range x.stream(ctx, x.caller, req, x.r.Header.Get(lastEventID)) {
			select {
			case out <- item{u, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out, func() {
		for range out { // until it is closed
		}
		if panicked != nil {
			panic(panicked)
		}
	}
}

// sendItem reports whether the stream goes on. An error ends it, in an event without an id: the last that came is still where to go on.
func (x *visit) sendItem(it item) bool {
	if it.err == nil {
		var data json.RawMessage
		if data, it.err = x.event(it.update.event); it.err == nil {
			return x.sendMessage(it.update.id, x.wrapped(data))
		}
	}
	if x.r.Context().Err() != nil {
		return false
	}
	f := x.faultOf(it.err)
	x.failed(f)
	x.sendMessage("", x.wrappedFault(f))
	return false
}

func (x *visit) sendMessage(id string, v any) bool {
	data, err := json.Marshal(v)
	if err != nil {
		x.log.Error("an event cannot be encoded", "error", err)
		return false
	}
	return x.sendBytes(sse.Append(nil, sse.Message{ID: id, Data: data}))
}

// sendBytes reports whether the peer still takes what is written.
func (x *visit) sendBytes(b []byte) bool {
	c := http.NewResponseController(x.w)
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails where there are no deadlines
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	err := c.Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}
