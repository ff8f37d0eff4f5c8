package calls

import (
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"

	"github.com/parleyhub/parley"
)

// Answer is the answer to a request over HTTP.
type Answer struct {
	Status int
	Header http.Header // besides the headers of every answer; may be nil
	Body   []byte      // nil: the peer has left
	// Release releases the room of the body after it has been sent. It may be nil.
	Release func()
}

// StatusError is a refusal with its own HTTP status.
type StatusError struct {
	Status  int
	Refusal *parley.Error
}

func (e *StatusError) Error() string { return e.Refusal.Error() }

// Unwrap returns the refusal.
func (e *StatusError) Unwrap() error { return e.Refusal }

// statusOf returns the HTTP status of a refusal.
func statusOf(err error) int {
	var e *StatusError
	if errors.As(err, &e) {
		return e.Status
	}
	return parley.ErrorRowOf(err).HTTP
}

// Failure returns err as a JSON-RPC answer. id is empty if it is not known.
func Failure(id string, err error) Answer {
	e := parley.ToWire(err)
	return Answer{Status: statusOf(err), Header: withRetryAfter(nil, e.Data.RetryAfterMs), Body: AppendFailure(nil, id, e)}
}

// Problem returns err as an answer over plain HTTP.
func Problem(err error) Answer {
	p := parley.ToProblem(err, statusOf(err))
	h := withRetryAfter(http.Header{"Content-Type": {parley.ProblemType}}, p.RetryAfterMs)
	return Answer{Status: p.Status, Header: h, Body: MustAppendJSON(nil, p)}
}

// withRetryAfter adds Retry-After in whole seconds to a header, which may be nil. It adds nothing for 0.
func withRetryAfter(h http.Header, ms int64) http.Header {
	if ms <= 0 {
		return h
	}
	if h == nil {
		h = http.Header{}
	}
	h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(float64(ms)/1000)), 10))
	return h
}

// WriteTo writes the answer.
func (a Answer) WriteTo(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	SetNoStore(h)
	h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	if a.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	maps.Copy(h, a.Header)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // fails if the peer has left
}

// SetNoStore sets the headers of answers that only their caller may see.
func SetNoStore(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}
