package a2a

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// What can be wrong with a peer. Errors of this package wrap one of them, or one of the library's package a2a for what the peer has refused.
var (
	ErrCard        = errors.New("the card is not one of A2A")
	ErrNoInterface = errors.New("the card offers no interface that is spoken here (JSON-RPC or HTTP+JSON of 1.0 or 0.3)")
	ErrUnreachable = errors.New("the remote agent is not reachable")
	ErrCredentials = errors.New("the remote agent wants other credentials")
	ErrGarbage     = errors.New("the remote agent does not keep to the protocol")
	ErrForeignTask = errors.New("the remote agent tells of a task that is not the one that was asked for")
	ErrTooLarge    = errors.New("the remote agent says more than is taken")
	ErrTaskLost    = errors.New("the remote agent does not know its task any more")
	ErrMaxWait     = errors.New("the remote agent has not answered in time")
)

// StatusError is an answer of HTTP that says no word of A2A.
type StatusError struct {
	Code int
	// Host has answered, and Withheld says that credentials were there but not for it.
	Host     string
	Withheld bool
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s answers %d %s", e.Host, e.Code, http.StatusText(e.Code))
	if e.Withheld {
		text += "; the credentials were not sent, since the card lies elsewhere"
	}
	return text
}

// Is makes a status one of the errors of this package.
func (e *StatusError) Is(target error) bool {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return target == ErrCredentials
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return target == ErrUnreachable
	}
	return target == ErrGarbage
}

// refusals are the answers of the protocol itself.
var refusals = []error{
	a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams, a2a.ErrInternalError,
	a2a.ErrServerError, a2a.ErrTaskNotFound,
	a2a.ErrTaskNotCancelable, a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType, a2a.ErrInvalidAgentResponse,
	a2a.ErrExtensionSupportRequired,
	a2a.ErrVersionNotSupported, a2a.ErrUnauthenticated, a2a.ErrUnauthorized,
}

// ours are the errors that need no further name.
var ours = []error{ErrCard, ErrNoInterface, ErrUnreachable, ErrCredentials, ErrGarbage, ErrForeignTask, ErrTooLarge,
	ErrTaskLost, ErrMaxWait}

// named gives what a call of the library has ended with a name. The address that net/http puts before an error is left out: its path or query may be a secret.
func named(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	switch {
	case err == nil, isAny(err, ours), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isRefusal(err):
		return fmt.Errorf("the remote agent refuses: %w", err)
	case isNetwork(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("%w: %w", ErrGarbage, err)
}

// isRefusal reports whether the peer itself has answered no, in words of A2A.
func isRefusal(err error) bool { return isAny(err, refusals) }

func isAny(err error, of []error) bool {
	for _, e := range of {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// networkError is what the connection has ended with.
type networkError struct{ error }

func (e networkError) Unwrap() error { return e.error }

func isNetwork(err error) bool {
	var n networkError
	return errors.As(err, &n)
}
