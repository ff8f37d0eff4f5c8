package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// Guest is a handler of another protocol behind the door of the hub. Nothing reaches it whose Host or Origin is not allowed, whose token is not good, or whose body
// has not come whole and in time; and what it has begun for a token ends with the token, or when the hub has stopped. A request that is ended so before
// anything of its answer was written is answered with a problem that says why.
//
// Requests under way are bounded, those of one account too, so that it cannot keep the others out: their number, and the bytes of their bodies. Streams are counted apart.
type Guest struct {
	// Handler gets requests for which CallerOf tells who calls. It returns when the context of its request ends. It may stream: the peer may take nothing for
	// Options.WriteTimeout at most. A text/event-stream gets a comment when nothing was written for Options.KeepAlive and the last message is whole.
	Handler http.Handler
	// Verbs are the methods of HTTP that it takes; nil: POST.
	Verbs []string
	// MaxBody bounds the body of a request; 0: parley.MaxFrameBytes.
	MaxBody int64
	// MaxBodies bounds the bytes of the bodies of all requests under way; 0: 256 MiB. One account has at most an eighth, or one body.
	MaxBodies int64
	// Streams reports by the head of a request whether it is for a stream that stays open; nil: none is.
	Streams func(r *http.Request) bool
	// MaxStreams bounds the streams that are open; 0: 4,000. One account has at most 256 of them.
	MaxStreams int
	// AllowHeaders are headers of requests that pages of other origins may send, and ExposeHeaders those of answers that they may read, besides those of every route.
	AllowHeaders, ExposeHeaders []string
	// Anonymous is the token of requests that show none; empty: they are refused. It is for hubs that nobody but this machine reaches.
	Anonymous string
	// Stop, if not nil, is called when the hub stops while requests are under way. It returns when they can be answered by what the hub had been asked; those that
	// the handler has not answered soon after are ended, and then the streams. nil: all are ended at once.
	Stop func()
	// Challenge gives what WWW-Authenticate says besides, where a request shows no good token; nil: nothing.
	Challenge func(r *http.Request) string
}

// Caller is who calls a Guest.
type Caller struct {
	AgentID string
	// Account is that of the token: requests of one account are of one caller.
	Account string
	// ExpiresAt is when the token ends; zero: never.
	ExpiresAt time.Time
	// From is the address that the request has come from, which a trusted proxy may have told.
	From netip.Addr
}

type callerKey struct{}

// WithCaller gives a context for which CallerOf gives c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf gives who calls a Guest.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// visit is a request of a guest that is under way.
type visit struct {
	server *Server
	lobby  *lobby
	cancel context.CancelCauseFunc
	http   *http.ResponseController
	stream bool // it stays open

	principal *hub.Principal // nil until the token has been looked at; guarded by the mu of the server, as are the next two
	settled   bool           // the body has come
	bytes     int64          // that are counted for its body

	mu     sync.Mutex // guards the fields below
	wrote  bool       // something of the answer
	cutOff bool       // nothing is waited for any more
}

// verbs gives what serves a guest.
func (g *Guest) verbs(s *Server) verbs {
	v, l := verbs{}, newLobby(g, s)
	names := g.Verbs
	if names == nil {
		names = []string{http.MethodPost}
	}
	for _, name := range names {
		v[name] = func(w http.ResponseWriter, r *http.Request) { s.serveGuest(l, w, r) }
	}
	if len(g.AllowHeaders) > 0 {
		v[http.MethodOptions] = g.preflight(s, names)
	}
	return v
}

func (s *Server) serveGuest(l *lobby, w http.ResponseWriter, r *http.Request) {
	g := l.guest
	g.expose(w.Header())
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	v := &visit{server: s, lobby: l, cancel: cancel, http: http.NewResponseController(w), stream: g.Streams != nil && g.Streams(r)}
	if err := s.enterVisit(v); err != nil {
		s.writeProblem(w, err)
		return
	}
	defer s.leaveVisit(v)
	if g.Anonymous != "" && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+g.Anonymous)
	}
	p, body, err := g.receive(v, w, r)
	if err != nil {
		g.refuse(s, w, r, err)
		return
	}
	if !p.ExpiresAt.IsZero() {
		timer := time.AfterFunc(p.ExpiresAt.Sub(s.hub.Now()), func() { cancel(errExpired) })
		defer timer.Stop()
	}
	_ = v.renew()
	q := r.WithContext(WithCaller(s.traced(ctx), Caller{AgentID: p.AgentID, Account: p.Account, ExpiresAt: p.ExpiresAt, From: s.address(r)}))
	q.Body = io.NopCloser(bytes.NewReader(body))
	g.host(v, w, q)
	_ = v.renew() // for what net/http writes yet
	switch cause := context.Cause(ctx); {
	case v.begun() || cause == nil:
	case r.Context().Err() != nil || errors.Is(cause, errPeerGone):
		hangUp()
	default:
		g.refuse(s, w, r, cause)
	}
}

// host runs the handler.
func (g *Guest) host(v *visit, w http.ResponseWriter, r *http.Request) {
	defer func() {
		switch fault := recover(); {
		case fault == nil:
		case fault == http.ErrAbortHandler:
			hangUp()
		default:
			v.server.log.Error("a guest panicked", "path", r.URL.Path, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			if v.begun() {
				hangUp()
			}
			v.cancel(parley.ErrInternal)
		}
	}()
	gw := &guestWriter{ResponseWriter: w, visit: v}
	defer gw.end()
	g.Handler.ServeHTTP(gw, r)
}

// refuse says why a request is not served.
func (g *Guest) refuse(s *Server, w http.ResponseWriter, r *http.Request, err error) {
	a := s.problem(err)
	if g.Challenge != nil && a.status == http.StatusUnauthorized {
		a.header.Set("WWW-Authenticate", `Bearer realm="parley", `+g.Challenge(r))
	}
	writeReply(w, a)
}

// receive finds who calls, and takes the body in.
func (g *Guest) receive(v *visit, w http.ResponseWriter, r *http.Request) (*hub.Principal, []byte, error) {
	p, err := v.server.caller(r)
	if err != nil {
		return nil, nil, err
	}
	if err := v.server.nameVisit(v, p); err != nil { // before its body takes room
		return nil, nil, err
	}
	body, err := g.body(v, w, r)
	return p, body, v.server.settleVisit(v, p, err)
}

// body takes the body in, until the deadline that ServeHTTP has set, less when the server stops.
func (g *Guest) body(v *visit, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	most := g.maxBody()
	tooLarge := parley.Refuse(parley.ErrTooLarge, "the body is too large", fmt.Sprintf("at most %d bytes", most))
	if r.ContentLength > most {
		return nil, tooLarge // without waiting for it
	}
	body, err := io.ReadAll(&countedBody{Reader: http.MaxBytesReader(w, r.Body, most), visit: v, length: r.ContentLength})
	switch refused := (*parley.Error)(nil); {
	case errors.As(err, &refused):
		return nil, refused
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &statusError{http.StatusRequestTimeout, parley.Refuse(parley.ErrInvalidRequest, "the body did not come in time", "")}
	case err != nil:
		return nil, parley.Refuse(parley.ErrInvalidRequest, "the body did not come whole", "")
	}
	return body, v.lobby.hold(v, int64(len(body))-v.bytes) // no more than it has
}

// settleVisit lets a visit go on, now that its body has come, or has not for a reason; it refuses who may not.
func (s *Server) settleVisit(v *visit, p *hub.Principal, failed error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped: // its connection may have been hurried
		return errStopping
	case failed != nil: // what is left of the body has still the time that it had
		return failed
	case p.Revoked():
		return errRevoked
	case !p.ExpiresAt.IsZero() && !s.hub.Now().Before(p.ExpiresAt):
		return errExpired
	}
	v.settled = true
	_ = v.http.SetReadDeadline(time.Time{}) // the connection is watched while the handler runs; fails where there are no deadlines
	return nil
}

var errRevoked = parley.Refuse(parley.ErrUnauthenticated, revokedToken, "another token")

// endVisits ends those for which over gives a reason.
func (s *Server) endVisits(over func(*visit) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.visits {
		if err := over(v); err != nil {
			v.endLocked(err)
		}
	}
}

// stopping is why a visit ends when the server stops; nil: its lobby ends it later. It is called with the mu of the server held.
func (v *visit) stopping() error {
	if !v.settled || v.lobby.guest.Stop == nil {
		return errStopping
	}
	v.lobby.stopLocked()
	return nil
}

// revoked is why a visit ends whose token was revoked.
func (v *visit) revoked() error {
	if v.principal != nil && v.principal.Revoked() {
		return errRevoked
	}
	return nil
}

// endLocked ends v, and waits for no more of its body.
func (v *visit) endLocked(err error) {
	v.cancel(err)
	if !v.settled {
		_ = v.http.SetReadDeadline(past) // fails where there are no deadlines
	}
}

// cut ends v without a word. Its handler has not returned.
func (v *visit) cut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cutOff = true
	v.cancel(errPeerGone)
	_ = v.http.SetReadDeadline(past)
	_ = v.http.SetWriteDeadline(past)
}
