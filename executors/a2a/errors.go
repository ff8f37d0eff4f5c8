package a2a

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The failures of a peer. Errors of this package wrap one of them, or an error of the library's
// package a2a if the peer refused a call.
var (
	ErrCard        = errors.New("the card is not an A2A card")
	ErrNoInterface = errors.New("the card offers no supported interface (JSON-RPC or HTTP+JSON of 1.0 or 0.3)")
	ErrUnreachable = errors.New("the remote agent is not reachable")
	ErrCredentials = errors.New("the remote agent refuses the credentials")
	ErrGarbage     = errors.New("the remote agent violates the protocol")
	ErrForeignTask = errors.New("the remote agent sent another task than the requested one")
	ErrTooLarge    = errors.New("the remote agent exceeds a limit")
	ErrTaskLost    = errors.New("the remote agent no longer knows its task")
	ErrMaxWait     = errors.New("the remote agent did not answer in time")
)

// StatusError is an HTTP response without an A2A error.
type StatusError struct {
	Code int
	// Host is the host that answered. Withheld is true if the credentials were not sent to it.
	Host     string
	Withheld bool
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s returned %d %s", e.Host, e.Code, http.StatusText(e.Code))
	if e.Withheld {
		text += "; the credentials were not sent, because the card is on another host"
	}
	return text
}

// Is maps a status to an error of this package.
func (e *StatusError) Is(target error) bool {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return target == ErrCredentials
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return target == ErrUnreachable
	}
	return target == ErrGarbage
}

// refusals are the errors of the protocol.
var refusals = []error{
	a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams, a2a.ErrInternalError,
	a2a.ErrServerError, a2a.ErrTaskNotFound,
	a2a.ErrTaskNotCancelable, a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType, a2a.ErrInvalidAgentResponse,
	a2a.ErrExtensionSupportRequired,
	a2a.ErrVersionNotSupported, a2a.ErrUnauthenticated, a2a.ErrUnauthorized,
}

// ours are the errors that named returns unchanged.
var ours = []error{ErrCard, ErrNoInterface, ErrUnreachable, ErrCredentials, ErrGarbage, ErrForeignTask, ErrTooLarge,
	ErrTaskLost, ErrMaxWait}

// named classifies an error of a call of the library. It removes the address that net/http adds,
// because its path or query may have a secret.
func named(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	switch {
	case err == nil, isAny(err, ours), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isRefusal(err):
		return fmt.Errorf("the remote agent refused the call: %w", err)
	case isNetwork(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("%w: %w", ErrGarbage, err)
}

// isRefusal reports whether the peer answered with an A2A error.
func isRefusal(err error) bool { return isAny(err, refusals) }

func isAny(err error, of []error) bool {
	for _, e := range of {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// networkError is an error of the connection.
type networkError struct{ error }

func (e networkError) Unwrap() error { return e.error }

func isNetwork(err error) bool {
	var n networkError
	return errors.As(err, &n)
}
