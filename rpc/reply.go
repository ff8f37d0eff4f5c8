package rpc

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"

	"github.com/parleyhub/parley"
)

// answer is what a request over HTTP is answered with.
type answer struct {
	status int
	header http.Header // besides what every answer has; may be nil
	body   []byte      // nil: nobody is there to be answered
	// release gives back the room that the body takes up, once it has gone out; may be nil.
	release func()
}

// statusError is a refusal with an HTTP status of its own.
type statusError struct {
	status  int
	refusal *parley.Error
}

func (e *statusError) Error() string { return e.refusal.Error() }

// Unwrap gives the refusal.
func (e *statusError) Unwrap() error { return e.refusal }

// statusOf is the HTTP status of a refusal.
func statusOf(err error) int {
	var e *statusError
	if errors.As(err, &e) {
		return e.status
	}
	return parley.ErrorRowOf(err).HTTP
}

// refusal answers a JSON-RPC request that did not become a call; id is empty where it is not known.
func (s *Server) refusal(id string, err error) answer {
	s.counters.refused(err)
	return failure(id, err)
}

// failure is what err looks like as JSON-RPC.
func failure(id string, err error) answer {
	told := parley.ToWire(err)
	return answer{status: statusOf(err), header: comeBack(nil, told.Data.RetryAfterMs), body: appendFailure(nil, id, told)}
}

// problem answers a request over plain HTTP that did not become a call.
func (s *Server) problem(err error) answer {
	s.counters.refused(err)
	return problemOf(err)
}

// problemOf is what err looks like over plain HTTP.
func problemOf(err error) answer {
	p := parley.ToProblem(err, statusOf(err))
	h := comeBack(http.Header{"Content-Type": {parley.ProblemType}}, p.RetryAfterMs)
	return answer{status: p.Status, header: h, body: appendWire(nil, p)}
}

// comeBack adds Retry-After, in whole seconds, to a header, which may be nil, where there is something to say.
func comeBack(h http.Header, ms int64) http.Header {
	if ms <= 0 {
		return h
	}
	if h == nil {
		h = http.Header{}
	}
	h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(float64(ms)/1000)), 10))
	return h
}

// hangUp ends a request whose peer is not there to be answered. Its connection ends with it: an answer that nobody wrote would be a success.
func hangUp() { panic(http.ErrAbortHandler) }

// writeRefusal answers a JSON-RPC request that did not become a call.
func (s *Server) writeRefusal(w http.ResponseWriter, err error) { writeReply(w, s.refusal("", err)) }

// writeProblem answers a request over plain HTTP that is refused.
func (s *Server) writeProblem(w http.ResponseWriter, err error) { writeReply(w, s.problem(err)) }

// refuseBegun answers a request over plain HTTP that failed before anything of its answer was written. It logs a fault of the hub's own.
func (s *Server) refuseBegun(ctx context.Context, w http.ResponseWriter, what string, err error) {
	if ctx.Err() != nil {
		hangUp()
	}
	if parley.ErrorRowOf(err).Err == parley.ErrInternal {
		s.log.Error("a call failed", "method", what, "error", err)
	}
	s.writeProblem(w, err)
}

func writeReply(w http.ResponseWriter, a answer) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	noStore(h)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	maps.Copy(h, a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a peer that is gone needs no answer
}

// noStore sets what every answer has that may hold what only its caller may see.
func noStore(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}
