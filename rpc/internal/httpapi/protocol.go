package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/rpc/internal/admission"
)

// Protocol is a handler of another protocol behind the login of the hub. It gets only requests with
// an allowed Host and Origin, a good token, and a whole body that arrived in time. A request ends with
// its token, and when the hub has stopped. If nothing of its answer was written until then, the answer
// is a problem with the reason.
//
// The number of requests and the bytes of their bodies are bounded, also for each account, so that no
// account can keep the others out. Streams are counted separately.
type Protocol struct {
	// Handler gets requests for which CallerOf returns the caller. It returns when the context of its
	// request ends. It may stream: the peer must take each piece within Options.WriteTimeout. A
	// text/event-stream gets a comment after Options.KeepAlive without a write, between two messages.
	Handler http.Handler
	// Verbs are the HTTP methods of the handler; nil: POST.
	Verbs []string
	// MaxBody bounds the body of a request; 0: parley.MaxFrameBytes.
	MaxBody int64
	// MaxBodies bounds the bytes of the bodies of all requests under way; 0: 256 MiB. One account has
	// at most an eighth of it, or one body.
	MaxBodies int64
	// Streams reports by the headers of a request whether it opens a stream that stays open; nil: none does.
	Streams func(r *http.Request) bool
	// MaxStreams bounds the open streams; 0: 4,000. One account has at most 256.
	MaxStreams int
	// AllowHeaders are further headers that pages of other origins may send, and ExposeHeaders further
	// headers that they may read.
	AllowHeaders, ExposeHeaders []string
	// Anonymous is the token for requests without one; empty: they are refused. It is for hubs that only
	// this machine can reach.
	Anonymous string
	// Stop is called when the hub stops while requests are under way. It returns when the handler can
	// answer them with what the hub has. Requests without an answer soon after are ended, and then the
	// streams. nil: all are ended at once.
	Stop func()
	// Challenge returns more parameters for WWW-Authenticate, for a request without a good token; nil: none.
	Challenge func(r *http.Request) string
}

// Caller is the caller of a request to a Protocol.
type Caller struct {
	AgentID string
	// Account is the account of the token. All requests of one account have the same caller.
	Account string
	// ExpiresAt is when the token ends; zero: never.
	ExpiresAt time.Time
	// From is the address of the client, which a trusted proxy may have reported.
	From netip.Addr
}

type callerKey struct{}

// WithCaller returns a context for which CallerOf returns c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of a request to a Protocol.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// protocolRequest is a request to a protocol under way.
type protocolRequest struct {
	protocol *protocolServer
	cancel   context.CancelCauseFunc
	http     *http.ResponseController
	stream   bool // it stays open

	// The mu of requests guards the next three fields.
	principal *hub.Principal // nil until the token is verified
	settled   bool           // the body has arrived
	bytes     int64          // counted for the body

	mu     sync.Mutex // guards the fields below
	begun  bool       // some of the answer was written
	cutOff bool       // nothing more is read or written
}

// verbs returns the handlers of a protocol.
func (p *protocolServer) verbs() verbs {
	v, names := verbs{}, p.Verbs
	if names == nil {
		names = []string{http.MethodPost}
	}
	for _, name := range names {
		v[name] = p.serve
	}
	if len(p.AllowHeaders) > 0 {
		v[http.MethodOptions] = p.newPreflight(names)
	}
	return v
}

func (p *protocolServer) serve(w http.ResponseWriter, r *http.Request) {
	p.exposeHeaders(w.Header())
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	q := &protocolRequest{
		protocol: p, cancel: cancel, http: http.NewResponseController(w), stream: p.Streams != nil && p.Streams(r),
	}
	if err := p.begin(q); err != nil {
		p.api.writeProblem(w, err)
		return
	}
	defer p.end(q)
	if p.Anonymous != "" && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+p.Anonymous)
	}
	principal, body, err := p.receive(q, w, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	if !principal.ExpiresAt.IsZero() {
		left := principal.ExpiresAt.Sub(p.api.Hub.Now())
		timer := time.AfterFunc(left, func() { cancel(admission.ErrExpired) })
		defer timer.Stop()
	}
	_ = q.extendWrite()
	// The protocol itself finds the parent of its spans, because it may have its own field for it.
	traced := ctx
	if p.api.Tracer != nil {
		traced = parley.WithTracer(ctx, p.api.Tracer)
	}
	inner := r.WithContext(WithCaller(traced, Caller{
		AgentID: principal.AgentID, Account: principal.Account, ExpiresAt: principal.ExpiresAt,
		From: p.api.Admission.Address(r),
	}))
	inner.Body = io.NopCloser(bytes.NewReader(body))
	p.runHandler(q, w, inner)
	_ = q.extendWrite() // for the end of the answer, which net/http writes
	switch cause := context.Cause(ctx); {
	case q.hasBegun() || cause == nil:
	case r.Context().Err() != nil || errors.Is(cause, errPeerGone):
		abort()
	default:
		p.refuse(w, r, cause)
	}
}

func (p *protocolServer) runHandler(q *protocolRequest, w http.ResponseWriter, r *http.Request) {
	defer func() {
		switch fault := recover(); {
		case fault == nil:
		case fault == http.ErrAbortHandler:
			abort()
		default:
			p.api.Log.Error("a protocol handler panicked",
				"path", r.URL.Path, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			if q.hasBegun() {
				abort()
			}
			q.cancel(parley.ErrInternal)
		}
	}()
	out := &protocolWriter{ResponseWriter: w, request: q}
	defer out.end()
	p.Handler.ServeHTTP(out, r)
}

// refuse answers a request that is not served.
func (p *protocolServer) refuse(w http.ResponseWriter, r *http.Request, err error) {
	answer := p.api.problem(err)
	if p.Challenge != nil && answer.Status == http.StatusUnauthorized {
		answer.Header.Set("WWW-Authenticate", `Bearer realm="parley", `+p.Challenge(r))
	}
	answer.WriteTo(w)
}

// receive verifies the caller and reads the body.
func (p *protocolServer) receive(
	q *protocolRequest, w http.ResponseWriter, r *http.Request,
) (*hub.Principal, []byte, error) {
	principal, err := p.api.authenticate(r)
	if err != nil {
		return nil, nil, err
	}
	if err := p.setPrincipal(q, principal); err != nil { // before the body is in memory
		return nil, nil, err
	}
	most := p.maxBody()
	tooLarge := parley.Refuse(parley.ErrTooLarge, "the body is too large", fmt.Sprintf("at most %d bytes", most))
	counted := &countedBody{ReadCloser: r.Body, request: q, length: r.ContentLength}
	body, err := readBody(w, counted, r.ContentLength, most, tooLarge)
	if err == nil {
		err = p.countBody(q, int64(len(body))-q.bytes) // no more than the body has
	}
	return principal, body, p.settle(q, principal, err)
}

// settle lets a request continue after its body has arrived, or returns why it may not. failed is the
// error of the body.
func (p *protocolServer) settle(q *protocolRequest, principal *hub.Principal, failed error) error {
	p.api.requests.mu.Lock()
	defer p.api.requests.mu.Unlock()
	switch {
	case p.api.requests.stopped: // the connection may have an expired deadline
		return admission.ErrStopping
	case failed != nil: // the rest of the body keeps its deadline
		return failed
	case principal.Revoked():
		return admission.ErrRevoked
	case !principal.ExpiresAt.IsZero() && !p.api.Hub.Now().Before(principal.ExpiresAt):
		return admission.ErrExpired
	}
	q.settled = true
	_ = q.http.SetReadDeadline(time.Time{}) // net/http watches the connection while the handler runs
	return nil
}

// stopLocked returns the reason to end a request when the server stops; nil: its protocol ends it
// later. The mu of requests is held.
func (q *protocolRequest) stopLocked() error {
	if !q.settled || q.protocol.Stop == nil {
		return admission.ErrStopping
	}
	q.protocol.stopLocked()
	return nil
}

// endLocked ends q, and the wait for its body. The mu of requests is held.
func (q *protocolRequest) endLocked(err error) {
	q.cancel(err)
	if !q.settled {
		_ = q.http.SetReadDeadline(expired) // fails without deadlines
	}
}

// cut ends q without an answer. Its handler has not returned.
func (q *protocolRequest) cut() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cutOff = true
	q.cancel(errPeerGone)
	_ = q.http.SetReadDeadline(expired)
	_ = q.http.SetWriteDeadline(expired)
}

// exposeHeaders lets pages of other origins that may read the answer read the headers of the protocol.
func (p *protocolServer) exposeHeaders(h http.Header) {
	if granted := h.Get(exposeHeaders); granted != "" {
		h.Set(exposeHeaders, appendNames(granted, p.ExposeHeaders))
	}
}

// newPreflight returns the handler for the preflight requests of browsers.
func (p *protocolServer) newPreflight(verbs []string) http.HandlerFunc {
	allow := joinSorted(verbs)
	return func(w http.ResponseWriter, r *http.Request) {
		if p.api.Admission.Origins.IsCross(r) {
			writePreflight(w, allow, p.AllowHeaders...)
			return
		}
		p.api.refuseVerb(w, r, allow)
	}
}
