package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/sse"
)

const (
	// feedRetryMs is how long a browser waits before it comes back.
	feedRetryMs = 1000
	// feedPiece is how much is given to a peer at once: it has the whole of Options.WriteTimeout for each piece.
	feedPiece = 32 << 10
)

// feed is one subscription as an SSE stream. It is written by the goroutine of its request, but for cut.
type feed struct {
	server *Server
	call   *call
	w      http.ResponseWriter
	http   *http.ResponseController
	cancel context.CancelFunc

	cursor      *hub.Subscription
	release     func() // of its place among the streams of its token
	params      parley.SubscribeParams
	untilClosed bool
	named       int64     // the last seq that was given as an id
	wrote       time.Time // when something was written last
	buf         []byte
	waiting     bool // something was written that is not flushed

	mu     sync.Mutex // guards the field below
	cutOff bool       // nothing is waited for any more
}

// serveEvents serves subscribe as a stream of server-sent events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, rt *route) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	f := &feed{server: s, w: w, http: http.NewResponseController(w), cancel: cancel, call: &call{server: s, handler: rt.handler(), plain: true, remote: s.address(r)}}
	if !s.addFeed(f) {
		s.writeProblem(w, errStopping)
		return
	}
	defer s.removeFeed(f)
	defer f.close()
	_ = f.renew()
	if err := f.open(ctx, r, rt); err != nil {
		s.refuseBegun(ctx, w, rt.method.Name, err)
		return
	}
	switch over, err := f.over(ctx); {
	case err != nil:
		s.refuseBegun(ctx, w, rt.method.Name, err)
	case over:
		noStore(w.Header())
		w.WriteHeader(http.StatusNoContent)
	default:
		f.serve(ctx)
	}
}

// open finds out who asks for what, and subscribes.
func (f *feed) open(ctx context.Context, r *http.Request, rt *route) error {
	var err error
	if f.call.principal, err = shown(f.server.bearerOrTicket(r)); err != nil { // a ticket is out of the URL now
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	if err := f.call.allowed(); err != nil {
		return err
	}
	if f.call.params, err = rt.queryParams(r, "until"); err != nil {
		return err
	}
	if err := f.call.decode(&f.params); err != nil {
		return err
	}
	if f.untilClosed, err = readUntil(r); err != nil {
		return err
	}
	if err := f.resume(r); err != nil {
		return err
	}
	if f.release, err = f.server.rates.stream(f.call.principal); err != nil {
		return err
	}
	if f.cursor, err = f.server.hub.Subscribe(ctx, f.call.principal, &f.params); err != nil {
		f.release() // before the caller hears of it and may try another
		f.release = nil
	}
	return err
}

// close gives back what open has taken.
func (f *feed) close() {
	if f.cursor != nil {
		f.cursor.Close()
	}
	if f.release != nil {
		f.release()
	}
}

func readUntil(r *http.Request) (closed bool, err error) {
	values, given := r.URL.Query()["until"]
	switch {
	case !given:
		return false, nil
	case len(values) > 1:
		return false, parley.Refuse(parley.ErrInvalidParams, "until is there twice", "")
	case values[0] != string(parley.UntilClosed):
		return false, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("until is %.64q", values[0]), "closed")
	}
	return true, nil
}

const cursorHeader = "Last-Event-ID"

// resume lets Last-Event-ID win over sinceSeq.
func (f *feed) resume(r *http.Request) error {
	values := r.Header.Values(cursorHeader)
	if len(values) == 0 {
		return nil
	}
	seq, ok := sse.ParseSeq(values[0])
	if !ok || len(values) > 1 {
		return parley.Refuse(parley.ErrInvalidParams, "the header "+cursorHeader+" is not an id of this stream", "a seq in decimal")
	}
	f.params.SinceSeq = seq
	return nil
}

// over reports whether there is nothing to come: the stream is to end with the conversation, and begins there.
func (f *feed) over(ctx context.Context) (bool, error) {
	if !f.untilClosed {
		return false, nil
	}
	now, err := f.server.hub.GetGuidance(ctx, f.call.principal, &parley.GetGuidanceParams{ConversationID: f.params.ConversationID})
	return now.Guidance.Kind == parley.Closed && now.LatestSeq == f.params.SinceSeq, err
}

// serve writes the stream until it ends.
func (f *feed) serve(ctx context.Context) {
	f.server.counters.streams.Add(1)
	defer f.server.counters.streams.Add(-1)
	defer func() {
		if r := recover(); r != nil {
			f.server.log.Error("a stream panicked", "conversation", f.params.ConversationID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	allowed, cancel := f.call.untilExpiry(ctx)
	defer cancel()
	err := f.pump(allowed)
	if err != nil && context.Cause(allowed) == errExpired {
		err = errExpired
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, errPeerGone) {
		return // it has said all, or nobody is there to be told
	}
	_ = f.say(parley.NotifyClosing, f.farewell(err)) // the peer may be gone
	_ = f.flush()
}

// farewell says why the stream ends; it logs a fault of the hub's own.
func (f *feed) farewell(err error) parley.ClosingNotification {
	switch {
	case f.server.draining():
		return parley.ClosingNotification{Reason: errStopping.Message, RetryAfterMs: closingRetryMs}
	case errors.Is(err, parley.ErrUnauthenticated):
		return parley.ClosingNotification{Reason: parley.ToWire(err).Message}
	}
	f.server.log.Error("a stream failed", "conversation", f.params.ConversationID, "error", err)
	return parley.ClosingNotification{Reason: brokenSubscription, RetryAfterMs: closingRetryMs}
}

// pump writes what the subscription tells; it gives nil when the stream has come to its end.
func (f *feed) pump(ctx context.Context) error {
	h := f.w.Header()
	h.Set("Content-Type", sse.MediaType)
	h.Set("X-Accel-Buffering", "no")
	noStore(h)
	f.buf = sse.AppendRetry(f.buf, feedRetryMs)
	for {
		if err := f.flush(); err != nil {
			return err
		}
		if err := f.await(ctx); err != nil {
			return err
		}
		items, err := f.cursor.Poll(ctx, pumpBatch) // read only now that the peer has taken what was before
		if err != nil {
			return err
		}
		for i := range items {
			if err := f.tell(&items[i]); err != nil {
				return err
			}
			if g := items[i].Guidance; f.untilClosed && g != nil && g.Kind == parley.Closed {
				return f.end(items[i].Seq)
			}
		}
	}
}

// await returns when there may be something to tell. While there is nothing it gives signs of life.
func (f *feed) await(ctx context.Context) error {
	for {
		quiet, cancel := context.WithDeadline(ctx, f.wrote.Add(f.server.opts.KeepAlive))
		err := f.cursor.Wait(quiet)
		late := quiet.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			return err
		}
		f.buf = sse.AppendComment(f.buf)
		if err := f.flush(); err != nil {
			return err
		}
	}
}

// end ends the stream after the conversation. A reader that was not shown its last event is given the cursor, so that it does not come again.
func (f *feed) end(seq int64) error {
	if f.named != seq {
		f.buf = sse.Append(f.buf, sse.Message{ID: seqID(seq)})
	}
	return f.flush()
}
