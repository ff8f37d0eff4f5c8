package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/parleyhub/parley/internal/sse"
)

// keepAlive is the interval of comments in an idle stream. Proxies close idle connections after 30
// s or more.
const keepAlive = 15 * time.Second

// lastEventID is the header with the id of the last received event.
const lastEventID = "Last-Event-ID"

// item is a value of a stream of the methods.
type item struct {
	update update
	err    error
}

// errEmpty is the error of a stream without events.
var errEmpty = errors.New("the stream ended without an event")

// serveStream answers with a stream. Before its first event, an error is a normal response.
func (x *httpCall) serveStream(req any) {
	ctx, cancel := context.WithCancel(x.r.Context())
	items, wait := x.runStream(ctx, req)
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
	h.Set("X-Accel-Buffering", "no") // otherwise nginx buffers the stream
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

// runStream runs a stream of the methods in a goroutine, so that comments can be sent meanwhile.
// The goroutine ends with the stream or ctx. wait waits for it, and repeats its panic.
func (x *httpCall) runStream(ctx context.Context, req any) (items <-chan item, wait func()) {
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
		for range out { // until the channel is closed
		}
		if panicked != nil {
			panic(panicked)
		}
	}
}

// sendItem reports whether the stream continues. An error ends it with an event without an id, so
// that the client can resume after the last event.
func (x *httpCall) sendItem(it item) bool {
	if it.err == nil {
		var data json.RawMessage
		if data, it.err = x.event(it.update.event); it.err == nil {
			return x.sendMessage(it.update.id, x.wrapResult(data))
		}
	}
	if x.r.Context().Err() != nil {
		return false
	}
	f := x.toProtocolError(it.err)
	x.failSpan(f)
	x.sendMessage("", x.wrapError(f))
	return false
}

func (x *httpCall) sendMessage(id string, v any) bool {
	data, err := json.Marshal(v)
	if err != nil {
		x.log.Error("cannot encode an event", "error", err)
		return false
	}
	return x.sendBytes(sse.Append(nil, sse.Message{ID: id, Data: data}))
}

// sendBytes reports whether the client still reads.
func (x *httpCall) sendBytes(b []byte) bool {
	c := http.NewResponseController(x.w)
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails without support for deadlines
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	err := c.Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}
