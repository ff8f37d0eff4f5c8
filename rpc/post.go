package rpc

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// post is one POST under way.
type post struct {
	http   *http.ResponseController
	cancel context.CancelFunc // of the call
	body   bool               // has come; guarded by the mu of the server
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

// beginPost makes a POST known. The caller owes an endPost.
func (s *Server) beginPost(w http.ResponseWriter, cancel context.CancelFunc) (*post, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, errStopping
	case len(s.posts) >= s.opts.MaxPosts:
		return nil, tooMany("requests under way")
	}
	p := &post{http: http.NewResponseController(w), cancel: cancel}
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

// servePost serves one request as the body of a POST.
func (s *Server) servePost(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p, err := s.beginPost(w, cancel)
	if err != nil {
		writeRefusal(w, err)
		return
	}
	defer s.endPost(p)
	a, err := s.answer(ctx, p, w, r)
	if err != nil {
		a = refusal(err)
	}
	if a.body == nil {
		return // nobody is there to be answered
	}
	_ = p.http.SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout)) // fails where there are no deadlines
	writeReply(w, a)
	_ = p.http.Flush() // while Shutdown can still cut it
}

// answer gives what a POST is answered with: an error for one that did not become a call, and an empty answer when its caller has gone.
func (s *Server) answer(ctx context.Context, p *post, w http.ResponseWriter, r *http.Request) (answer, error) {
	if !isJSON(r) {
		err := parley.Refuse(parley.ErrInvalidRequest, "the body is not sent as JSON", "Content-Type: application/json and no Content-Encoding")
		return answer{http.StatusUnsupportedMediaType, refusal(err).body}, nil
	}
	principal, err := s.bearer(r)
	if err == nil && principal == nil {
		err = parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	if err != nil {
		return answer{}, err
	}
	body, err := s.readBody(p, w, r)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err := parley.Refuse(parley.ErrInvalidRequest, "the body did not come in time", "")
		return answer{http.StatusRequestTimeout, refusal(err).body}, nil
	}
	if err != nil && !errors.As(err, new(*parley.Error)) {
		err = parley.Refuse(parley.ErrInvalidRequest, "the body did not come whole", "")
	}
	if err != nil {
		return answer{}, err
	}
	req, err := wire.ReadRequest(body)
	if err != nil {
		return answer{parley.ErrorRowOf(err).HTTP, appendFailure(nil, req.ID, parley.ToWire(err))}, nil
	}
	c := &call{server: s, id: req.ID, params: req.Params, principal: principal, reply: make(chan answer, 1)}
	var known bool
	if c.handler, known = handlers[string(req.Method)]; !known || c.handler.socket {
		c.refuse(postless(string(req.Method), known))
	} else {
		c.run(ctx)
	}
	select {
	case a := <-c.reply:
		return a, nil
	case <-ctx.Done():
		return answer{}, nil
	}
}

// readBody waits for the body as long as it may take, less when the server stops.
func (s *Server) readBody(p *post, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := s.expectBody(p); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, parley.MaxFrameBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, parley.Refuse(parley.ErrTooLarge, "the body is too large", "at most 1 MiB")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped { // its connection may have been hurried: a call that began now might not be answered
		return nil, errStopping
	}
	p.body = err == nil
	if p.body {
		_ = p.http.SetReadDeadline(time.Time{}) // the connection is watched while the call runs
	}
	return body, err
}

// expectBody starts the clock of the body.
func (s *Server) expectBody(p *post) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errStopping
	}
	_ = p.http.SetReadDeadline(time.Now().Add(s.opts.BodyTimeout)) // fails where there are no deadlines
	return nil
}

// postless refuses a method that has no place over HTTP.
func postless(method string, known bool) error {
	if known {
		return parley.Refuse(parley.ErrMethodNotFound, method+" needs a socket", "GET /rpc as WebSocket")
	}
	return noSuchMethod(method)
}

func isJSON(r *http.Request) bool {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" || r.Header.Get("Content-Encoding") != "" {
		return false
	}
	charset, given := params["charset"]
	return !given || charset == "utf-8" || charset == "UTF-8"
}

// writeRefusal answers a request that did not become a call.
func writeRefusal(w http.ResponseWriter, err error) {
	writeReply(w, refusal(err))
}

// refusal answers a request whose id is not known.
func refusal(err error) answer {
	return answer{parley.ErrorRowOf(err).HTTP, appendFailure(nil, nil, parley.ToWire(err))}
}

func writeReply(w http.ResponseWriter, a answer) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a peer that is gone needs no answer
}
