package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// Guest is a handler of another protocol behind the door of the hub. Nothing reaches it whose Host or Origin is not allowed, whose token is not good, or whose body
// has not come whole and in time; and what it has begun for a token ends with the token, or when the hub is about to stop. A request that is ended so before
// anything of its answer was written is answered with a problem that says why.
type Guest struct {
	// Handler gets requests for which CallerOf tells who calls. It returns when the context of its request ends. It may stream: the peer may take nothing for
	// Options.WriteTimeout at most.
	Handler http.Handler
	// Verbs are the methods of HTTP that it takes; nil: POST.
	Verbs []string
	// MaxBody bounds the body of a request; 0: parley.MaxFrameBytes.
	MaxBody int64
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
}

type callerKey struct{}

// CallerOf gives who calls a Guest.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// maxVisitsOfOne bounds the requests of one account that are under way, so that it cannot keep the others out.
const maxVisitsOfOne = 256

// visit is a request of a guest that is under way.
type visit struct {
	server *Server
	cancel context.CancelCauseFunc
	http   *http.ResponseController

	principal *hub.Principal // nil until the token has been looked at; guarded by the mu of the server, as is the next
	settled   bool           // the body has come

	mu     sync.Mutex // guards the fields below
	wrote  bool       // something of the answer
	cutOff bool       // nothing is waited for any more
}

// verbs gives what serves a guest.
func (g *Guest) verbs(s *Server) verbs {
	v := verbs{}
	names := g.Verbs
	if names == nil {
		names = []string{http.MethodPost}
	}
	for _, name := range names {
		v[name] = func(w http.ResponseWriter, r *http.Request) { s.serveGuest(g, w, r) }
	}
	return v
}

func (s *Server) serveGuest(g *Guest, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	v := &visit{server: s, cancel: cancel, http: http.NewResponseController(w)}
	if err := s.enterVisit(v); err != nil {
		s.writeProblem(w, err)
		return
	}
	defer s.leaveVisit(v)
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
	q := r.WithContext(context.WithValue(ctx, callerKey{}, Caller{AgentID: p.AgentID, Account: p.Account, ExpiresAt: p.ExpiresAt}))
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
	g.Handler.ServeHTTP(&guestWriter{w, v}, r)
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
	body, err := g.body(w, r)
	return p, body, v.server.settleVisit(v, p, err)
}

// body takes the body in, until the deadline that ServeHTTP has set, less when the server stops.
func (g *Guest) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	most := g.MaxBody
	if most == 0 {
		most = parley.MaxFrameBytes
	}
	tooLarge := parley.Refuse(parley.ErrTooLarge, "the body is too large", fmt.Sprintf("at most %d bytes", most))
	if r.ContentLength > most {
		return nil, tooLarge // without waiting for it
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &statusError{http.StatusRequestTimeout, parley.Refuse(parley.ErrInvalidRequest, "the body did not come in time", "")}
	case err != nil:
		return nil, parley.Refuse(parley.ErrInvalidRequest, "the body did not come whole", "")
	}
	return body, nil
}

// enterVisit makes a visit known. The caller owes a leaveVisit.
func (s *Server) enterVisit(v *visit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return errStopping
	case len(s.visits) >= s.opts.MaxPosts:
		return tooMany("requests under way")
	}
	s.visits[v] = struct{}{}
	s.wg.Add(1)
	return nil
}

// nameVisit says whose a visit is. One account has only so many.
func (s *Server) nameVisit(v *visit, p *hub.Principal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.visitsOfLocked(p.Account) >= maxVisitsOfOne {
		return tooMany("requests of this token under way")
	}
	v.principal = p
	return nil
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

func (s *Server) visitsOfLocked(account string) int {
	if len(s.visits) <= maxVisitsOfOne {
		return 0
	}
	n := 0
	for v := range s.visits {
		if v.principal != nil && v.principal.Account == account {
			n++
		}
	}
	return n
}

func (s *Server) leaveVisit(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.visits, v)
	s.wg.Done()
}

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

// stopping is why every visit ends when the server stops.
func (v *visit) stopping() error { return errStopping }

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
