package rpc

import (
	"context"
	"net/http"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// post is one request over HTTP under way: a POST, or one of plain HTTP that is no stream.
type post struct {
	http   *http.ResponseController
	cancel context.CancelFunc // of the call
	body   bool               // has come, or there is none; guarded by the mu of the server
}

// past is a deadline that has expired.
var past = time.Unix(1, 0)

// hurry waits for no more of the body. It is called with the mu of the server held, as cut is: so the handler has not returned.
func (p *post) hurry() {
	if !p.body {
		_ = p.http.SetReadDeadline(past) // fails where there are no deadlines
	}
}

// cut ends p without a word.
func (p *post) cut() {
	p.cancel()
	_ = p.http.SetReadDeadline(past)
	_ = p.http.SetWriteDeadline(past)
}

// beginPost makes a request known, which may have a body that is still to come. The caller owes an endPost.
func (s *Server) beginPost(w http.ResponseWriter, cancel context.CancelFunc, body bool) (*post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, errStopping
	case len(s.posts) >= s.opts.MaxPosts:
		return nil, tooMany("requests under way")
	}
	p := &post{http: http.NewResponseController(w), cancel: cancel, body: !body}
	s.posts[p] = struct{}{}
	s.wg.Add(1)
	return p, nil
}

func (s *Server) endPost(p *post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.posts, p)
	s.wg.Done()
}

// servePost serves one JSON-RPC request as the body of a POST.
func (s *Server) servePost(w http.ResponseWriter, r *http.Request) {
	refused := func(err error) answer { return s.refusal("", err) }
	s.exchange(w, r, refused, func(ctx context.Context, p *post) (answer, error) {
		principal, body, err := s.receive(p, w, r)
		if err != nil {
			return answer{}, err
		}
		req, err := wire.ReadRequest(body)
		if err != nil {
			return s.refusal(string(req.ID), err), nil
		}
		c := &call{server: s, id: string(req.ID), params: req.Params, principal: principal, remote: s.address(r), traceparent: traceparentOf(r)}
		var known bool
		if c.handler, known = handlers[string(req.Method)]; !known || c.handler.socket {
			return s.refusal(string(req.ID), postless(string(req.Method), known)), nil
		}
		return c.answered(ctx), nil
	})
}

// exchange serves a request that has one answer: of serve, or, where that fails, of refused. It hangs up when its caller has gone.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, refused func(error) answer, serve func(context.Context, *post) (answer, error)) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p, err := s.beginPost(w, cancel, r.Body != http.NoBody)
	if err != nil {
		writeReply(w, refused(err))
		return
	}
	defer s.endPost(p)
	a, err := serve(ctx, p)
	if err != nil {
		a = refused(err)
	}
	if a.release != nil {
		defer a.release()
	}
	if a.body == nil {
		hangUp()
	}
	patience := s.opts.WriteTimeout
	if err != nil {
		patience += s.opts.BodyTimeout // what is left of the body is read first
	}
	_ = p.http.SetWriteDeadline(time.Now().Add(patience)) // fails where there are no deadlines
	writeReply(w, a)
	_ = p.http.Flush() // while Shutdown can still cut it
}

// postless refuses a method that has no place over HTTP.
func postless(method string, known bool) error {
	if known {
		return parley.Refuse(parley.ErrMethodNotFound, method+" needs a socket", "GET /rpc as WebSocket")
	}
	return errNoSuchMethod
}
