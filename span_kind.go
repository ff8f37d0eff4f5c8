package parley

import (
	"context"
	"errors"
)

// The kinds of errors that have no row in Errors.
const (
	kindCanceled = "canceled"
	kindError    = "error"
)

// ErrorKind returns the kind of an error for [Span.Fail]: its name in Errors, canceled if a context
// ended, and error for any other. It never contains the text of the error.
func ErrorKind(err error) string {
	if row := ErrorRowOf(err); row.Err != ErrInternal || errors.Is(err, ErrInternal) {
		return row.Reason()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return kindCanceled
	}
	return kindError
}
