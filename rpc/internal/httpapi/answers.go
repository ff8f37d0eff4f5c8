package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// responder answers requests that are refused, and counts the refusals. API embeds it.
type responder struct {
	calls *calls.Dispatcher
	log   *slog.Logger
}

// WriteFailure answers a JSON-RPC request that did not become a call.
func (o responder) WriteFailure(w http.ResponseWriter, err error) { o.failure("", err).WriteTo(w) }

// failure returns the answer to a JSON-RPC request that did not become a call. id is empty if it is
// not known.
func (o responder) failure(id string, err error) calls.Answer {
	o.calls.CountRefusal(err)
	return calls.Failure(id, err)
}

// problem returns the answer to a request over plain HTTP that did not become a call.
func (o responder) problem(err error) calls.Answer {
	o.calls.CountRefusal(err)
	return calls.Problem(err)
}

func (o responder) writeProblem(w http.ResponseWriter, err error) { o.problem(err).WriteTo(w) }

func (o responder) refuseVerb(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	o.writeProblem(w, &calls.StatusError{
		Status:  http.StatusMethodNotAllowed,
		Refusal: parley.Refuse(parley.ErrMethodNotFound, "this path does not take "+r.Method, allow),
	})
}

// refuseUnanswered answers a request that failed before any part of its answer was written. It logs
// internal errors.
func (o responder) refuseUnanswered(ctx context.Context, w http.ResponseWriter, what string, err error) {
	if ctx.Err() != nil {
		abort()
	}
	if parley.ErrorRowOf(err).Err == parley.ErrInternal {
		o.log.Error("a call failed", "method", what, "error", err)
	}
	o.writeProblem(w, err)
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // fails if the peer has left
}
