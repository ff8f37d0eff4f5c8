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

// ErrorKind names the kind of an error for [Span.Fail]: its name in Errors, canceled for a context that has ended, and error for any other. It never tells what the error says.
func ErrorKind(err error) string {
	if row := ErrorRowOf(err); row.Err != ErrInternal || errors.Is(err, ErrInternal) {
		return row.Reason()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return kindCanceled
	}
	return kindError
}
