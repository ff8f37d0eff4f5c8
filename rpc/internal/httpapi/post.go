package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// servePost serves one JSON-RPC request as the body of a POST.
func (a *API) servePost(w http.ResponseWriter, r *http.Request) {
	refuse := func(err error) calls.Answer { return a.failure("", err) }
	a.serveExchange(w, r, refuse, func(ctx context.Context, e *exchange) (calls.Answer, error) {
		principal, body, err := a.readJSON(e, w, r)
		if err != nil {
			return calls.Answer{}, err
		}
		req, err := wire.ReadRequest(body)
		id := string(req.ID)
		if err != nil {
			return a.failure(id, err), nil
		}
		handler, ok := a.Methods[string(req.Method)]
		switch {
		case !ok:
			return a.failure(id, calls.ErrNoSuchMethod), nil
		case handler.NeedsSocket:
			return a.failure(id, parley.Refuse(parley.ErrMethodNotFound,
				handler.Name+" needs a socket", "GET /rpc as WebSocket")), nil
		}
		return a.Calls.NewCall(calls.Request{
			Handler: handler, ID: id, Params: req.Params, Principal: principal,
			From: a.Admission.Address(r), Traceparent: Traceparent(r),
		}).Await(ctx), nil
	})
}

// serveExchange serves a request with one answer: that of serve, or of refuse if serve fails. It
// aborts if the peer has left.
func (a *API) serveExchange(
	w http.ResponseWriter, r *http.Request, refuse func(error) calls.Answer,
	serve func(context.Context, *exchange) (calls.Answer, error),
) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	e, err := a.requests.beginExchange(w, r, cancel)
	if err != nil {
		refuse(err).WriteTo(w)
		return
	}
	defer a.requests.endExchange(e)
	answer, err := serve(ctx, e)
	if err != nil {
		answer = refuse(err)
	}
	if answer.Release != nil {
		defer answer.Release()
	}
	if answer.Body == nil {
		abort()
	}
	timeout := a.WriteTimeout
	if err != nil {
		timeout += a.BodyTimeout // net/http reads the rest of the body first
	}
	_ = e.http.SetWriteDeadline(time.Now().Add(timeout)) // fails without deadlines
	answer.WriteTo(w)
	_ = e.http.Flush() // while Cut still has an effect
}

// readJSON reads a request with a JSON body: the headers, then the caller, then the body.
func (a *API) readJSON(e *exchange, w http.ResponseWriter, r *http.Request) (*hub.Principal, []byte, error) {
	if !isJSON(r) {
		return nil, nil, &calls.StatusError{
			Status: http.StatusUnsupportedMediaType,
			Refusal: parley.Refuse(parley.ErrInvalidRequest,
				"the body is not sent as JSON", "Content-Type: application/json and no Content-Encoding"),
		}
	}
	principal, err := a.authenticate(r)
	if err != nil {
		return nil, nil, err
	}
	body, err := readBody(w, r.Body, r.ContentLength, parley.MaxFrameBytes, errBodyTooLarge)
	return principal, body, a.requests.setBodyArrived(e, err)
}

// authenticate returns the caller of a request. It refuses a request without a token.
func (a *API) authenticate(r *http.Request) (*hub.Principal, error) {
	return requireCaller(a.Admission.Authenticate(r))
}

func requireCaller(p *hub.Principal, err error) (*hub.Principal, error) {
	if err == nil && p == nil {
		err = parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	return p, err
}

// authenticateBodiless is authenticate for a request that must have no body.
func (a *API) authenticateBodiless(r *http.Request) (*hub.Principal, error) {
	principal, err := a.authenticate(r)
	if err == nil {
		err = refuseBody(r)
	}
	return principal, err
}

func refuseBody(r *http.Request) error {
	if r.Body != http.NoBody {
		return parley.Refuse(parley.ErrInvalidRequest, "the request has a body", "params in the query")
	}
	return nil
}

var errBodyTooLarge = parley.Refuse(parley.ErrTooLarge, "the body is too large", "at most 1 MiB")

// readBody reads a body until the deadline of ServeHTTP, or of Stop. length is that of the headers; -1
// if it is not known. It returns tooLarge for a body of more than a number of bytes.
func readBody(
	w http.ResponseWriter, body io.ReadCloser, length, most int64, tooLarge error,
) ([]byte, error) {
	if length > most {
		return nil, tooLarge // without waiting for the body
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, body, most))
	switch refused := (*parley.Error)(nil); {
	case errors.As(err, &refused):
		return nil, refused
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge
	}
	return data, bodyError(err, "body")
}

// bodyError returns the refusal of a body that was not read to its end.
func bodyError(err error, what string) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &calls.StatusError{
			Status:  http.StatusRequestTimeout,
			Refusal: parley.Refuse(parley.ErrInvalidRequest, "the "+what+" did not come in time", ""),
		}
	case err != nil:
		return parley.Refuse(parley.ErrInvalidRequest, "the "+what+" did not come whole", "")
	}
	return nil
}

// isEncoded reports whether the body is compressed or has another encoding.
func isEncoded(r *http.Request) bool { return len(r.Header.Values("Content-Encoding")) > 0 }

func isJSON(r *http.Request) bool {
	// Two headers are joined, so that they are invalid.
	kind, params, err := mime.ParseMediaType(strings.Join(r.Header.Values("Content-Type"), ","))
	if err != nil || kind != "application/json" || isEncoded(r) {
		return false
	}
	charset, present := params["charset"]
	return !present || charset == "utf-8" || charset == "UTF-8"
}

// Traceparent returns the header of W3C Trace Context. It returns "" for an invalid one, because a
// proxy may have added it.
func Traceparent(r *http.Request) string {
	values := r.Header.Values("Traceparent")
	if len(values) != 1 || !parley.ValidTraceparent(values[0]) {
		return ""
	}
	return values[0]
}
