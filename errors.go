package parley

import (
	"errors"
	"net/http"
)

// The sentinel errors. Compare with errors.Is, which also works for errors that crossed the wire.
// [Errors] has the codes.
var (
	// not JSON, not UTF-8, or nested too deeply
	ErrParse          = errors.New("parse_error")
	ErrInvalidRequest = errors.New("invalid_request")  // JSON, but not a request of this protocol
	ErrMethodNotFound = errors.New("method_not_found") // no such method, or this version does not serve it
	ErrInvalidParams  = errors.New("invalid_params")   // wrong JSON type, or a missing, unknown or duplicate param
	ErrInternal       = errors.New("internal")         // an internal error of the hub; nothing was written

	ErrValidationFailed = errors.New("validation_failed") // correct type, but an unacceptable value
	// no match with the parameters_schema: see Error.Validation
	ErrParameters         = errors.New("parameter_validation_failed")
	ErrUnauthenticated    = errors.New("unauthenticated")     // no token, or an invalid one
	ErrForbidden          = errors.New("forbidden")           // the scopes or ids of the token do not allow it
	ErrNotFound           = errors.New("not_found")           // absent, or not visible to the caller
	ErrNotYourTurn        = errors.New("not_your_turn")       // another participant has the floor
	ErrTurnClosed         = errors.New("turn_closed")         // the named turn ended
	ErrConversationClosed = errors.New("conversation_closed") // nothing can be added any more
	// the turn has not started, or another message came after afterSeq
	ErrTurnConflict = errors.New("turn_conflict")
	// the participant has a claim, and the call does not name it
	ErrClaimRequired       = errors.New("claim_required")
	ErrClaimLost           = errors.New("claim_lost")           // the claim is not the current one
	ErrIdempotencyConflict = errors.New("idempotency_conflict") // the key was used with another payload
	ErrAlreadyExists       = errors.New("already_exists")       // the id is taken
	// the approval was answered or timed out, or its turn ended
	ErrAlreadyResolved = errors.New("already_resolved")
	ErrCursorAhead     = errors.New("cursor_ahead") // sinceSeq is after the end of the log
	ErrTooLarge        = errors.New("too_large")    // larger than a limit of the hub
	ErrRateLimited     = errors.New("rate_limited") // too many calls; try again later
	ErrUnavailable     = errors.New("unavailable")  // the hub is draining, stopped or not reachable
	// the append may be in the log: retry with the same key
	ErrOutcomeUnknown = errors.New("outcome_unknown")
	ErrStorageFull    = errors.New("storage_full") // nothing was written; reads still work
)

// ErrorRow is a row of [Errors].
type ErrorRow struct {
	Err       error
	Code      int // JSON-RPC error code
	HTTP      int // HTTP status
	Retryable bool
}

// Reason returns the name on the wire, data.reason.
func (r ErrorRow) Reason() string { return r.Err.Error() }

// Errors maps each sentinel error to its codes on the wire. Negative codes are the codes of
// JSON-RPC for errors of the protocol. Every other code is the HTTP status times ten plus a digit.
var Errors = []ErrorRow{
	{ErrParse, -32700, http.StatusBadRequest, false},
	{ErrInvalidRequest, -32600, http.StatusBadRequest, false},
	{ErrMethodNotFound, -32601, http.StatusNotFound, false},
	{ErrInvalidParams, -32602, http.StatusBadRequest, false},
	{ErrInternal, -32603, http.StatusInternalServerError, true},
	{ErrValidationFailed, 4000, http.StatusBadRequest, false},
	{ErrParameters, 4001, http.StatusBadRequest, false},
	{ErrUnauthenticated, 4010, http.StatusUnauthorized, false},
	{ErrForbidden, 4030, http.StatusForbidden, false},
	{ErrNotFound, 4040, http.StatusNotFound, false},
	{ErrNotYourTurn, 4090, http.StatusConflict, false},
	{ErrTurnClosed, 4091, http.StatusConflict, false},
	{ErrConversationClosed, 4092, http.StatusConflict, false},
	{ErrTurnConflict, 4093, http.StatusConflict, false},
	{ErrClaimRequired, 4094, http.StatusConflict, false},
	{ErrClaimLost, 4095, http.StatusConflict, false},
	{ErrIdempotencyConflict, 4096, http.StatusConflict, false},
	{ErrAlreadyExists, 4097, http.StatusConflict, false},
	{ErrAlreadyResolved, 4098, http.StatusConflict, false},
	{ErrCursorAhead, 4100, http.StatusGone, false},
	{ErrTooLarge, 4130, http.StatusRequestEntityTooLarge, false},
	{ErrRateLimited, 4290, http.StatusTooManyRequests, true},
	{ErrUnavailable, 5030, http.StatusServiceUnavailable, true},
	{ErrOutcomeUnknown, 5031, http.StatusServiceUnavailable, true},
	{ErrStorageFull, 5070, http.StatusInsufficientStorage, true},
}

// Error is a refusal with the information that helps to correct the call. It wraps a sentinel.
type Error struct {
	// Err is one of the sentinels.
	Err error
	// Message is one sentence for a person.
	Message string
	// Expected describes what the hub would have accepted. It may be empty.
	Expected string
	// RetryAfterMs is when to retry, in milliseconds. It is 0 if waiting does not help.
	RetryAfterMs int64
	// Guidance is set if the refusal depends on whose turn it is.
	Guidance *Guidance
	// Validation is set with ErrParameters.
	Validation *ValidationFailure
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Err.Error()
	}
	s := e.Err.Error() + ": " + e.Message
	if e.Expected != "" {
		s += " (expected " + e.Expected + ")"
	}
	return s
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// Refuse returns an Error. expected may be empty.
func Refuse(sentinel error, message, expected string) *Error {
	return &Error{Err: sentinel, Message: message, Expected: expected}
}

// ErrorRowOf returns the row of the sentinel that err wraps, or the row of ErrInternal.
func ErrorRowOf(err error) ErrorRow {
	for _, r := range Errors {
		if errors.Is(err, r.Err) {
			return r
		}
	}
	return rowOf(ErrInternal)
}

// errorRowByCode returns the row of a code. It returns false if this version does not know the
// code.
func errorRowByCode(code int) (ErrorRow, bool) {
	for _, r := range Errors {
		if r.Code == code {
			return r, true
		}
	}
	return ErrorRow{}, false
}

func rowOf(sentinel error) ErrorRow {
	for _, r := range Errors {
		if r.Err == sentinel {
			return r
		}
	}
	panic("parley: sentinel without a row: " + sentinel.Error())
}

// ErrorData is the data member of a JSON-RPC error.
type ErrorData struct {
	Reason       string    `json:"reason"`
	Retryable    bool      `json:"retryable"`
	RetryAfterMs int64     `json:"retryAfterMs,omitempty"`
	Expected     string    `json:"expected,omitempty"`
	Guidance     *Guidance `json:"guidance,omitempty"`
	// ValidationData is present with ErrParameters.
	*ValidationData
}

// ValidationData is a ValidationFailure in the form of the seed (000, section 6).
type ValidationData struct {
	// Error is the reason, and Message is the message of the error.
	Error   string `json:"error"`
	Message string `json:"message"`
	ValidationFailure
}

// WireError is the error member of a JSON-RPC response.
type WireError struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    ErrorData `json:"data"`
}

// ToWire returns the wire form of any error. An error without a sentinel becomes ErrInternal,
// without its text.
func ToWire(err error) WireError {
	row := ErrorRowOf(err)
	w := WireError{Code: row.Code, Message: row.Reason(), Data: ErrorData{Reason: row.Reason(), Retryable: row.Retryable}}
	var e *Error
	if !errors.As(err, &e) {
		if row.Err == ErrInternal {
			w.Message = "internal error of the hub; see its log"
		}
		return w
	}
	if e.Message != "" {
		w.Message = e.Message
	}
	w.Data.RetryAfterMs, w.Data.Expected, w.Data.Guidance = e.RetryAfterMs, e.Expected, e.Guidance
	if e.Validation != nil {
		w.Data.ValidationData = &ValidationData{Error: row.Reason(), Message: w.Message, ValidationFailure: *e.Validation}
	}
	return w
}

// FromWire returns the error of a wire form. errors.Is finds its sentinel. A code that this version
// does not know becomes ErrInternal, with the same message.
func FromWire(w WireError) error {
	row, ok := errorRowByCode(w.Code)
	if !ok {
		row = rowOf(ErrInternal)
	}
	e := &Error{
		Err: row.Err, Message: w.Message, Expected: w.Data.Expected,
		RetryAfterMs: w.Data.RetryAfterMs, Guidance: w.Data.Guidance,
	}
	if v := w.Data.ValidationData; v != nil {
		e.Validation = &v.ValidationFailure
	}
	return e
}
