package rpc

import (
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// servePost serves one request as the body of a POST.
func (s *Server) servePost(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		writeRefusal(w, errStopping)
		return
	}
	defer s.wg.Done()
	if !isJSON(r) {
		refusal := parley.Refuse(parley.ErrInvalidRequest, "the body is not sent as JSON", "Content-Type: application/json and no Content-Encoding")
		writeReply(w, answer{http.StatusUnsupportedMediaType, appendFailure(nil, nil, parley.ToWire(refusal))})
		return
	}
	p, err := s.bearer(r)
	if err == nil && p == nil {
		err = parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	if err != nil {
		writeRefusal(w, err)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, parley.MaxFrameBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeRefusal(w, parley.Refuse(parley.ErrTooLarge, "the body is too large", "at most 1 MiB"))
		return
	case err != nil:
		return // the peer is gone
	}
	req, err := wire.ReadRequest(body)
	if err != nil {
		writeReply(w, answer{parley.ErrorRowOf(err).HTTP, appendFailure(nil, req.ID, parley.ToWire(err))})
		return
	}
	c := &call{server: s, id: req.ID, params: req.Params, principal: p, reply: make(chan answer, 1)}
	var known bool
	if c.handler, known = handlers[string(req.Method)]; !known || c.handler.socket {
		c.refuse(postless(string(req.Method), known))
	} else {
		c.run(r.Context())
	}
	select {
	case a := <-c.reply:
		writeReply(w, a)
	case <-r.Context().Done(): // nobody is there to be answered
	}
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
	writeReply(w, answer{parley.ErrorRowOf(err).HTTP, appendFailure(nil, nil, parley.ToWire(err))})
}

func writeReply(w http.ResponseWriter, a answer) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if a.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a peer that is gone needs no answer
}
