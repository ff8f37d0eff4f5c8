package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley/rpc/internal/admission"
)

// expired is a deadline in the past.
var expired = time.Unix(1, 0)

// errPeerGone is the cause of the end of a stream or request whose peer takes no more.
var errPeerGone = errors.New("the peer takes no more")

// abort ends a request whose peer has left. Its connection ends too: net/http would send success for
// an answer that is not written.
func abort() { panic(http.ErrAbortHandler) }

// requests are the requests under way. API embeds them, so its exported methods are those of API.
type requests struct {
	most int            // of exchanges
	wg   sync.WaitGroup // all requests, and the goroutines that stop protocols
	open atomic.Int64   // SSE streams that are open

	mu        sync.Mutex // guards the fields below, and the fields that name it
	stopped   bool       // no request may be added to wg
	exchanges map[*exchange]struct{}
	streams   map[*eventStream]struct{}
	protocols map[*protocolRequest]struct{}
}

func newRequests(most int) *requests {
	return &requests{
		most: most, exchanges: map[*exchange]struct{}{}, streams: map[*eventStream]struct{}{},
		protocols: map[*protocolRequest]struct{}{},
	}
}

// Counts are the numbers of requests under way.
type Counts struct {
	Requests int64 // without streams
	Streams  int64 // SSE streams that are open
	Opening  int64 // SSE streams that are not open yet, or refused
}

// Counts returns the numbers of requests under way.
func (t *requests) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	open := t.open.Load()
	return Counts{Requests: int64(len(t.exchanges)), Streams: open, Opening: int64(len(t.streams)) - open}
}

// Stop refuses further requests, and those whose body has not arrived. It ends the requests to
// protocols as Protocol.Stop describes. Calls under way continue until Cut.
func (t *requests) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for e := range t.exchanges {
		if !e.hasBody {
			_ = e.http.SetReadDeadline(expired) // fails without deadlines
		}
	}
	t.endProtocolsLocked((*protocolRequest).stopLocked)
}

// Cut ends all requests without an answer.
func (t *requests) Cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := range t.exchanges {
		e.cut()
	}
	for s := range t.streams {
		s.cut()
	}
	for q := range t.protocols {
		q.cut()
	}
}

// EndRevoked ends the requests to protocols whose token was revoked. Streams end by themselves.
func (t *requests) EndRevoked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endProtocolsLocked(func(q *protocolRequest) error {
		if q.principal != nil && q.principal.Revoked() {
			return admission.ErrRevoked
		}
		return nil
	})
}

// Wait returns after the end of all requests. Stop must have been called.
func (t *requests) Wait() { t.wg.Wait() }

// endProtocolsLocked ends the requests to protocols for which reason returns an error.
func (t *requests) endProtocolsLocked(reason func(*protocolRequest) error) {
	for q := range t.protocols {
		if err := reason(q); err != nil {
			q.endLocked(err)
		}
	}
}

// exchange is a request under way with one answer.
type exchange struct {
	http    *http.ResponseController
	cancel  context.CancelFunc // of the call
	hasBody bool               // the body has arrived, or the request has no body; the mu of requests guards it
}

// beginExchange adds a request. The caller must call endExchange.
func (t *requests) beginExchange(w http.ResponseWriter, r *http.Request, cancel context.CancelFunc) (*exchange, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.stopped:
		return nil, admission.ErrStopping
	case len(t.exchanges) >= t.most:
		return nil, admission.TooMany("requests under way")
	}
	e := &exchange{http: http.NewResponseController(w), cancel: cancel, hasBody: r.Body == http.NoBody}
	t.exchanges[e] = struct{}{}
	t.wg.Add(1)
	return e, nil
}

func (t *requests) endExchange(e *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.exchanges, e)
	t.wg.Done()
}

// cut ends e without an answer. It is called with the mu of requests held, so the handler has not
// returned.
func (e *exchange) cut() {
	e.cancel()
	_ = e.http.SetReadDeadline(expired)
	_ = e.http.SetWriteDeadline(expired)
}

// setBodyArrived records the arrival of the body of e. It returns ErrStopping after Stop: the
// connection may have an expired deadline, so the call might not be answered. Otherwise it returns
// failed, the error of the read.
func (t *requests) setBodyArrived(e *exchange, failed error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.stopped:
		return admission.ErrStopping
	case failed != nil:
		return failed
	case !e.hasBody:
		e.hasBody = true
		_ = e.http.SetReadDeadline(time.Time{}) // net/http watches the connection while the call runs
	}
	return nil
}

// extendBody sets the deadline for the next read of the body of e, unless the server stops.
func (t *requests) extendBody(e *exchange, deadline time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return admission.ErrStopping
	}
	_ = e.http.SetReadDeadline(deadline) // fails without deadlines
	return nil
}

// beginStream adds a stream unless the server has stopped. The caller must call endStream.
func (t *requests) beginStream(s *eventStream) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return admission.ErrStopping
	}
	t.streams[s] = struct{}{}
	t.wg.Add(1)
	return nil
}

func (t *requests) endStream(s *eventStream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.streams, s)
	t.wg.Done()
}
