package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/sse"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

const (
	// streamRetryMs is how long a browser waits before it connects again.
	streamRetryMs = 1000
	// streamPiece is how much is written at once. The peer has Options.WriteTimeout for each piece.
	streamPiece = 32 << 10
	// streamBatch is how many items are read at once.
	streamBatch = 64
	// maxStreamBuffer is the largest buffer that a stream keeps.
	maxStreamBuffer = 64 << 10
)

// BrokenSubscription is the reason for the end of a connection whose subscription has failed.
const BrokenSubscription = "a subscription cannot go on: subscribe again from its cursor"

// eventStream is one subscription as an SSE stream. The goroutine of its request writes it; only cut
// is called by others.
type eventStream struct {
	api    *API
	call   *calls.Call
	w      http.ResponseWriter
	http   *http.ResponseController
	cancel context.CancelFunc

	cursor      *hub.Subscription
	release     func() // ends the count among the streams of its account
	params      parley.SubscribeParams
	untilClosed bool
	lastID      int64     // the last seq that was written as an id
	wrote       time.Time // when something was last written
	buf         []byte
	unflushed   bool

	mu     sync.Mutex // guards the field below
	cutOff bool       // nothing more is written
}

// serveEvents serves subscribe as a stream of server-sent events.
func (a *API) serveEvents(w http.ResponseWriter, r *http.Request, rt *route) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &eventStream{api: a, w: w, http: http.NewResponseController(w), cancel: cancel, call: rt.newCall(a, r)}
	if err := a.requests.beginStream(s); err != nil {
		a.writeProblem(w, err)
		return
	}
	defer a.requests.endStream(s)
	defer s.close()
	_ = s.extendWrite()
	if err := s.open(ctx, r, rt); err != nil {
		a.refuseUnanswered(ctx, w, rt.method.Name, err)
		return
	}
	switch over, err := s.isOver(ctx); {
	case err != nil:
		a.refuseUnanswered(ctx, w, rt.method.Name, err)
	case over:
		calls.SetNoStore(w.Header())
		w.WriteHeader(http.StatusNoContent)
	default:
		s.serve(ctx)
	}
}

// open reads the request and subscribes.
func (s *eventStream) open(ctx context.Context, r *http.Request, rt *route) (err error) {
	// This removes a ticket from the URL, so it must come first.
	if s.call.Principal, err = requireCaller(s.api.Admission.AuthenticateWithTicket(r)); err != nil {
		return err
	}
	if err = refuseBody(r); err != nil {
		return err
	}
	if err = s.call.CheckAllowed(); err != nil {
		return err
	}
	if s.call.Params, err = rt.readQuery(r, "until"); err != nil {
		return err
	}
	if err = s.call.DecodeParams(&s.params); err != nil {
		return err
	}
	if s.untilClosed, err = readUntil(r); err != nil {
		return err
	}
	if err = s.readLastID(r); err != nil {
		return err
	}
	if s.release, err = s.api.Admission.Rates.OpenStream(s.call.Principal); err != nil {
		return err
	}
	if s.cursor, err = s.api.Hub.Subscribe(ctx, s.call.Principal, &s.params); err != nil {
		s.release() // before the answer, so that the caller can open another
		s.release = nil
	}
	return err
}

// close releases what open has acquired.
func (s *eventStream) close() {
	if s.cursor != nil {
		s.cursor.Close()
	}
	if s.release != nil {
		s.release()
	}
}

func readUntil(r *http.Request) (closed bool, err error) {
	values, present := r.URL.Query()["until"]
	switch {
	case !present:
		return false, nil
	case len(values) > 1:
		return false, parley.Refuse(parley.ErrInvalidParams, "until is there twice", "")
	case values[0] != string(parley.UntilClosed):
		return false, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("until is %.64q", values[0]), "closed")
	}
	return true, nil
}

const lastIDHeader = "Last-Event-ID"

// readLastID replaces sinceSeq by the header Last-Event-ID, if there is one.
func (s *eventStream) readLastID(r *http.Request) error {
	values := r.Header.Values(lastIDHeader)
	if len(values) == 0 {
		return nil
	}
	seq, ok := sse.ParseSeq(values[0])
	if !ok || len(values) > 1 {
		return parley.Refuse(parley.ErrInvalidParams,
			"the header "+lastIDHeader+" is not an id of this stream", "a seq in decimal")
	}
	s.params.SinceSeq = seq
	return nil
}

// isOver reports whether a stream that ends with the conversation starts at that end.
func (s *eventStream) isOver(ctx context.Context) (bool, error) {
	if !s.untilClosed {
		return false, nil
	}
	q := &parley.GetGuidanceParams{ConversationID: s.params.ConversationID}
	now, err := s.api.Hub.GetGuidance(ctx, s.call.Principal, q)
	return now.Guidance.Kind == parley.Closed && now.LatestSeq == s.params.SinceSeq, err
}

// serve writes the stream until it ends.
func (s *eventStream) serve(ctx context.Context) {
	s.api.open.Add(1)
	defer s.api.open.Add(-1)
	defer func() {
		if r := recover(); r != nil {
			s.api.Log.Error("a stream panicked",
				"conversation", s.params.ConversationID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	untilExpiry, cancel := s.call.WithExpiry(ctx)
	defer cancel()
	err := s.writeItems(untilExpiry)
	if err != nil && context.Cause(untilExpiry) == admission.ErrExpired {
		err = admission.ErrExpired
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, errPeerGone) {
		return // the stream is complete, or the peer has left
	}
	_ = s.writeNotification(methods.NotifyClosing, s.closingReason(err)) // fails if the peer has left
	_ = s.flush()
}

// closingReason returns the last message of a stream that ends with err. It logs internal errors.
func (s *eventStream) closingReason(err error) parley.ClosingNotification {
	select {
	case <-s.api.Hub.Done():
		return parley.ClosingNotification{Reason: admission.ErrStopping.Message, RetryAfterMs: admission.RetryMs}
	default:
	}
	if errors.Is(err, parley.ErrUnauthenticated) {
		return parley.ClosingNotification{Reason: parley.ToWire(err).Message}
	}
	s.api.Log.Error("a stream failed", "conversation", s.params.ConversationID, "error", err)
	return parley.ClosingNotification{Reason: BrokenSubscription, RetryAfterMs: admission.RetryMs}
}

// writeItems writes the items of the subscription. It returns nil at the end of the stream.
func (s *eventStream) writeItems(ctx context.Context) error {
	h := s.w.Header()
	h.Set("Content-Type", sse.MediaType)
	h.Set("X-Accel-Buffering", "no")
	calls.SetNoStore(h)
	s.buf = sse.AppendRetry(s.buf, streamRetryMs)
	for {
		if err := s.flush(); err != nil {
			return err
		}
		if err := s.waitForItems(ctx); err != nil {
			return err
		}
		items, err := s.cursor.Poll(ctx, streamBatch) // only after the peer took the last batch
		if err != nil {
			return err
		}
		for i := range items {
			if err := s.writeItem(&items[i]); err != nil {
				return err
			}
			if g := items[i].Guidance; s.untilClosed && g != nil && g.Kind == parley.Closed {
				return s.writeEnd(items[i].Seq)
			}
		}
	}
}

// waitForItems returns when there may be items. Meanwhile it writes comments to keep the stream open.
func (s *eventStream) waitForItems(ctx context.Context) error {
	for {
		quiet, cancel := context.WithDeadline(ctx, s.wrote.Add(s.api.KeepAlive))
		err := s.cursor.Wait(quiet)
		late := quiet.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			return err
		}
		s.buf = sse.AppendComment(s.buf)
		if err := s.flush(); err != nil {
			return err
		}
	}
}

// writeEnd ends the stream with the conversation. It writes the last cursor if no event had it, so
// that the reader does not connect again.
func (s *eventStream) writeEnd(seq int64) error {
	if s.lastID != seq {
		s.buf = sse.Append(s.buf, sse.Message{ID: formatSeq(seq)})
	}
	return s.flush()
}

// writeItem writes one item of the subscription.
func (s *eventStream) writeItem(item *hub.Item) error {
	id := s.params.ConversationID
	switch {
	case item.Event != nil:
		s.lastID = item.Seq
		s.buf = sse.Append(s.buf, sse.Message{ID: formatSeq(item.Seq), Data: item.Event})
		return s.writeBuffer(streamPiece)
	case item.CaughtUp:
		return s.writeNotification(methods.NotifyCaughtUp, parley.CaughtUpNotification{ConversationID: id, Seq: item.Seq})
	case item.Guidance != nil:
		return s.writeNotification(methods.NotifyGuidance,
			parley.GuidanceNotification{ConversationID: id, Seq: item.Seq, Guidance: *item.Guidance})
	}
	return s.writeNotification(methods.NotifyDelta, parley.DeltaNotification{Delta: *item.Delta})
}

func formatSeq(seq int64) string { return strconv.FormatInt(seq, 10) }

func (s *eventStream) writeNotification(name string, params any) error {
	s.buf = sse.Append(s.buf, sse.Message{Name: name, Data: calls.MustAppendJSON(nil, params)})
	return s.writeBuffer(streamPiece)
}

// writeBuffer writes the buffer if it has more than a number of bytes. The peer must take each piece
// in time.
func (s *eventStream) writeBuffer(than int) error {
	if len(s.buf) <= than {
		return nil
	}
	for rest := s.buf; len(rest) > 0; {
		n := min(len(rest), streamPiece)
		if err := s.extendWrite(); err != nil {
			return err
		}
		if _, err := s.w.Write(rest[:n]); err != nil {
			return fmt.Errorf("%w: %w", errPeerGone, err)
		}
		rest = rest[n:]
	}
	s.buf, s.unflushed, s.wrote = s.buf[:0], true, time.Now()
	if cap(s.buf) > maxStreamBuffer {
		s.buf = nil
	}
	return nil
}

// flush writes the buffer to the connection.
func (s *eventStream) flush() error {
	if err := s.writeBuffer(0); err != nil || !s.unflushed {
		return err
	}
	s.unflushed = false
	if err := s.http.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errPeerGone, err)
	}
	return nil
}

// extendWrite sets the deadline of the next write, unless the stream is cut.
func (s *eventStream) extendWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cutOff {
		return errPeerGone
	}
	s.api.extendWrite(s.w)
	return nil
}

// cut ends the stream without a message. Its handler has not returned.
func (s *eventStream) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutOff = true
	s.cancel()
	_ = s.http.SetWriteDeadline(expired)
}
