package rpc

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// receive takes in a request with a body of JSON: first its head, then who sent it, then the body.
func (s *Server) receive(p *post, w http.ResponseWriter, r *http.Request) (*hub.Principal, []byte, error) {
	if !isJSON(r) {
		return nil, nil, &statusError{http.StatusUnsupportedMediaType, parley.Refuse(parley.ErrInvalidRequest,
			"the body is not sent as JSON", "Content-Type: application/json and no Content-Encoding")}
	}
	principal, err := s.caller(r)
	if err != nil {
		return nil, nil, err
	}
	body, err := s.readBody(p, w, r)
	return principal, body, err
}

// caller finds who sent a request that must show it.
func (s *Server) caller(r *http.Request) (*hub.Principal, error) { return shown(s.bearer(r)) }

// shown refuses a request that shows no token.
func shown(p *hub.Principal, err error) (*hub.Principal, error) {
	if err == nil && p == nil {
		err = parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	return p, err
}

// bodiless takes in a request that has nothing but a head.
func (s *Server) bodiless(r *http.Request) (*hub.Principal, error) {
	principal, err := s.caller(r)
	if err == nil {
		err = noBody(r)
	}
	return principal, err
}

// noBody refuses a body where everything stands in the head.
func noBody(r *http.Request) error {
	if r.Body != http.NoBody {
		return parley.Refuse(parley.ErrInvalidRequest, "the request has a body", "params in the query")
	}
	return nil
}

// readBody waits for the body until the deadline that ServeHTTP has set, less when the server stops.
func (s *Server) readBody(p *post, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > parley.MaxFrameBytes {
		return nil, errBodyTooLarge // without waiting for it
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, parley.MaxFrameBytes))
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, errBodyTooLarge
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped: // its connection may have been hurried: a call that began now might not be answered
		return nil, errStopping
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &statusError{http.StatusRequestTimeout, parley.Refuse(parley.ErrInvalidRequest, "the body did not come in time", "")}
	case err != nil:
		return nil, parley.Refuse(parley.ErrInvalidRequest, "the body did not come whole", "")
	case !p.body:
		p.body = true
		_ = p.http.SetReadDeadline(time.Time{}) // the connection is watched while the call runs
	}
	return body, nil
}

var errBodyTooLarge = parley.Refuse(parley.ErrTooLarge, "the body is too large", "at most 1 MiB")

// isEncoded reports whether a request says that its body is compressed or encoded in another way.
func isEncoded(r *http.Request) bool { return len(r.Header.Values("Content-Encoding")) > 0 }

func isJSON(r *http.Request) bool {
	kind, params, err := mime.ParseMediaType(strings.Join(r.Header.Values("Content-Type"), ",")) // two are none
	if err != nil || kind != "application/json" || isEncoded(r) {
		return false
	}
	charset, given := params["charset"]
	return !given || charset == "utf-8" || charset == "UTF-8"
}
