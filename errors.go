package parley

import (
	"errors"
	"net/http"
)

// Sentinel errors. Compare with errors.Is; it works across the wire. Each is in [Errors].
var (
	// Faults of the protocol itself, with JSON-RPC's own codes.
	ErrParse          = errors.New("parse_error")      // not JSON, not UTF-8, or nested deeper than MaxDepth
	ErrInvalidRequest = errors.New("invalid_request")  // JSON, but no request of this protocol
	ErrMethodNotFound = errors.New("method_not_found") // no such method, or one that this version does not serve
	ErrInvalidParams  = errors.New("invalid_params")   // wrong JSON type, missing, unknown or duplicate param
	ErrInternal       = errors.New("internal")         // a fault of the hub; nothing was written

	ErrValidationFailed    = errors.New("validation_failed")           // well-typed but unacceptable
	ErrParameters          = errors.New("parameter_validation_failed") // parameters do not match the agent's parameters_schema: see Error.Validation
	ErrUnauthenticated     = errors.New("unauthenticated")             // no token, or one that is not valid
	ErrForbidden           = errors.New("forbidden")                   // the token's scopes or ids do not allow it
	ErrNotFound            = errors.New("not_found")                   // absent or foreign; the two cannot be told apart
	ErrNotYourTurn         = errors.New("not_your_turn")               // another participant has the floor
	ErrTurnClosed          = errors.New("turn_closed")                 // the turn given has ended
	ErrConversationClosed  = errors.New("conversation_closed")         // nothing is added any more
	ErrTurnConflict        = errors.New("turn_conflict")               // the turn given is not reached, or somebody spoke after afterSeq
	ErrClaimRequired       = errors.New("claim_required")              // a claim stands for the caller's participant, and the call does not name it
	ErrClaimLost           = errors.New("claim_lost")                  // the claim is not, or no longer, the current one
	ErrIdempotencyConflict = errors.New("idempotency_conflict")        // the key was used with another payload
	ErrAlreadyExists       = errors.New("already_exists")              // the id is taken
	ErrAlreadyResolved     = errors.New("already_resolved")            // the approval was answered, has timed out, or its turn has ended
	ErrCursorAhead         = errors.New("cursor_ahead")                // sinceSeq is beyond the log
	ErrTooLarge            = errors.New("too_large")                   // larger than a limit of the hub
	ErrRateLimited         = errors.New("rate_limited")                // too much at once; try again later
	ErrUnavailable         = errors.New("unavailable")                 // the hub is draining, stopped or not reachable
	ErrOutcomeUnknown      = errors.New("outcome_unknown")             // the append may or may not be in the log: retry with the same clientRequestId
	ErrStorageFull         = errors.New("storage_full")                // nothing was written; reads go on
)

// ErrorRow is a row of the one table from sentinels to what the wire says.
type ErrorRow struct {
	Err       error
	Code      int // JSON-RPC error code
	HTTP      int // HTTP status
	Retryable bool
}

// Reason is the name on the wire: data.reason.
func (r ErrorRow) Reason() string { return r.Err.Error() }

// Errors is the table. JSON-RPC's own codes mean faults of the protocol; every other code is the HTTP status times
// ten, plus a digit.
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

// Error is a refusal with what helps to mend it. It wraps a sentinel.
type Error struct {
	// Err is one of the sentinels.
	Err error
	// Message is one sentence for a person.
	Message string
	// Expected says what would have been accepted, where that can be said.
	Expected string
	// RetryAfterMs is set where waiting helps.
	RetryAfterMs int64
	// Guidance is set on refusals that are about whose turn it is.
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

// Unwrap gives the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// Refuse makes an Error; expected may be empty.
func Refuse(sentinel error, message, expected string) *Error {
	return &Error{Err: sentinel, Message: message, Expected: expected}
}

// ErrorRowOf finds the row of an error; an error without a sentinel is ErrInternal.
func ErrorRowOf(err error) ErrorRow {
	for _, r := range Errors {
		if errors.Is(err, r.Err) {
			return r
		}
	}
	return rowOf(ErrInternal)
}

// errorRowByCode returns the row of a code. It returns false if this version does not know the code.
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
	// ValidationData is there with ErrParameters.
	*ValidationData
}

// ValidationData is a ValidationFailure in the very shape of the seed (000, section 6).
type ValidationData struct {
	// Error is the reason, and Message that of the error.
	Error   string `json:"error"`
	Message string `json:"message"`
	ValidationFailure
}

// WireError is an error on the wire: the error member of a JSON-RPC response.
type WireError struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    ErrorData `json:"data"`
}

// ToWire gives the wire form of any error. An error that is no refusal says nothing of its inside.
func ToWire(err error) WireError {
	row := ErrorRowOf(err)
	w := WireError{Code: row.Code, Message: row.Reason(), Data: ErrorData{Reason: row.Reason(), Retryable: row.Retryable}}
	var e *Error
	if !errors.As(err, &e) {
		if row.Err == ErrInternal {
			w.Message = "the hub met a fault of its own; its log says more"
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

// FromWire gives back an error for which errors.Is finds the sentinel. A code that this version does not know
// becomes ErrInternal, with the message kept.
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
