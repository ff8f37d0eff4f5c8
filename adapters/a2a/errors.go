package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"github.com/parleyhub/parley"
)

// errorRow maps an error of the protocol to the values of its bindings (specification 1.0, section
// 5.4).
type errorRow struct {
	err    error
	code   int    // of JSON-RPC
	http   int    // HTTP status
	status string // of google.rpc
}

var errorRows = []errorRow{
	{a2a.ErrParseError, -32700, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{a2a.ErrInvalidRequest, -32600, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{a2a.ErrMethodNotFound, -32601, http.StatusNotFound, "UNIMPLEMENTED"},
	{a2a.ErrInvalidParams, -32602, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{a2a.ErrTaskNotFound, -32001, http.StatusNotFound, "NOT_FOUND"},
	{a2a.ErrTaskNotCancelable, -32002, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{a2a.ErrPushNotificationNotSupported, -32003, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{a2a.ErrUnsupportedOperation, -32004, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{a2a.ErrUnsupportedContentType, -32005, http.StatusBadRequest, "INVALID_ARGUMENT"},
	{a2a.ErrInvalidAgentResponse, -32006, http.StatusInternalServerError, "INTERNAL"},
	{a2a.ErrExtendedCardNotConfigured, -32007, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{a2a.ErrExtensionSupportRequired, -32008, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{a2a.ErrVersionNotSupported, -32009, http.StatusBadRequest, "FAILED_PRECONDITION"},
	{a2a.ErrUnauthenticated, -31401, http.StatusUnauthorized, "UNAUTHENTICATED"},
	{a2a.ErrUnauthorized, -31403, http.StatusForbidden, "PERMISSION_DENIED"},
	{a2a.ErrServerError, -32000, http.StatusServiceUnavailable, "UNAVAILABLE"},
	{a2a.ErrInternalError, -32603, http.StatusInternalServerError, "INTERNAL"},
}

// hubErrors maps errors of the hub to errors of the protocol.
var hubErrors = map[error]error{
	parley.ErrParse:               a2a.ErrParseError,
	parley.ErrInvalidRequest:      a2a.ErrInvalidRequest,
	parley.ErrMethodNotFound:      a2a.ErrUnsupportedOperation, // an older hub lacks the method; the A2A method exists
	parley.ErrInvalidParams:       a2a.ErrInvalidParams,
	parley.ErrInternal:            a2a.ErrInternalError,
	parley.ErrValidationFailed:    a2a.ErrInvalidParams,
	parley.ErrParameters:          a2a.ErrInvalidParams,
	parley.ErrUnauthenticated:     a2a.ErrUnauthenticated,
	parley.ErrForbidden:           a2a.ErrUnauthorized,
	parley.ErrNotFound:            a2a.ErrTaskNotFound,
	parley.ErrNotYourTurn:         a2a.ErrUnsupportedOperation,
	parley.ErrTurnClosed:          a2a.ErrUnsupportedOperation,
	parley.ErrConversationClosed:  a2a.ErrUnsupportedOperation,
	parley.ErrTurnConflict:        a2a.ErrUnsupportedOperation,
	parley.ErrClaimRequired:       a2a.ErrUnsupportedOperation,
	parley.ErrClaimLost:           a2a.ErrUnsupportedOperation,
	parley.ErrIdempotencyConflict: a2a.ErrInvalidParams,
	parley.ErrAlreadyExists:       a2a.ErrInvalidParams,
	parley.ErrAlreadyResolved:     a2a.ErrUnsupportedOperation,
	parley.ErrCursorAhead:         a2a.ErrInvalidParams,
	parley.ErrTooLarge:            a2a.ErrInvalidParams,
	parley.ErrRateLimited:         a2a.ErrServerError,
	parley.ErrUnavailable:         a2a.ErrServerError,
	parley.ErrOutcomeUnknown:      a2a.ErrServerError,
	parley.ErrStorageFull:         a2a.ErrServerError,
}

// protocolError is an error in the form of the protocol, independent of bindings.
type protocolError struct {
	errorRow
	reason  string
	message string
	info    map[string]string // metadata of the ErrorInfo
	details []any             // besides the ErrorInfo
	retry   time.Duration     // if waiting helps
}

func (f *protocolError) Error() string { return f.message }

func (f *protocolError) Unwrap() error { return f.err }

// newProtocolError returns the error with the row of an error of the protocol.
func newProtocolError(sentinel error, message string) *protocolError {
	for _, row := range errorRows {
		if errors.Is(sentinel, row.err) {
			return &protocolError{errorRow: row, reason: a2a.ErrorReason(row.err), message: message}
		}
	}
	return newProtocolError(a2a.ErrInternalError, message)
}

// defaultRetry is the retry delay if the hub names none.
const defaultRetry = time.Second

// toProtocolError converts any error. It logs errors that belong neither to the protocol nor to the
// hub, and does not reveal their text.
func (f *httpServer) toProtocolError(err error) *protocolError {
	var told *protocolError
	if errors.As(err, &told) {
		return told
	}
	for _, row := range errorRows {
		if errors.Is(err, row.err) {
			return libraryError(row, err)
		}
	}
	for _, row := range parley.Errors {
		if errors.Is(err, row.Err) {
			return f.hubError(row, err)
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		out := newProtocolError(a2a.ErrServerError, "the request ended before its response. A started task "+
			"continues; send the same messageId again")
		out.retry = defaultRetry
		return out
	}
	f.log.Error("request failed with an internal error", "error", err)
	return newProtocolError(a2a.ErrInternalError, "internal error of the agent; see its log")
}

func libraryError(row errorRow, err error) *protocolError {
	out := newProtocolError(row.err, err.Error())
	var e *a2a.Error
	if !errors.As(err, &e) {
		return out
	}
	if len(e.Details) > 0 {
		out.details = append(out.details, errordetails.NewFromStruct(e.Details))
	}
	for _, d := range e.TypedDetails {
		if d.TypeURL != errordetails.ErrorInfoType {
			out.details = append(out.details, d)
			continue
		}
		if m, is := d.Value["metadata"].(map[string]string); is {
			out.info = m
		}
	}
	return out
}

// noTaskMessage is the message for a missing task and for a task of another caller.
const noTaskMessage = "no such task or context"

func (f *httpServer) hubError(row parley.ErrorRow, err error) *protocolError {
	out := newProtocolError(hubErrors[row.Err], parley.ToWire(err).Message)
	out.info = map[string]string{"parley": row.Reason()}
	var e *parley.Error
	if errors.As(err, &e) && e.Expected != "" {
		out.message += " (expected " + e.Expected + ")"
	}
	switch row.Err {
	case parley.ErrNotFound:
		out.message, out.info = noTaskMessage, nil
	case parley.ErrRateLimited:
		out.http, out.status, out.reason = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "RATE_LIMITED"
	case parley.ErrUnavailable, parley.ErrStorageFull:
		out.reason = "UNAVAILABLE"
	case parley.ErrOutcomeUnknown:
		out.reason, out.message = "OUTCOME_UNKNOWN", "the outcome of the message is unknown: send it again with the same "+
			"messageId"
	case parley.ErrInternal:
		f.log.Error("the hub returned an internal error", "error", err)
	}
	if row.Retryable && row.Err != parley.ErrInternal {
		out.retry = defaultRetry
	}
	if e == nil {
		return out
	}
	if e.RetryAfterMs > 0 {
		out.retry = time.Duration(e.RetryAfterMs) * time.Millisecond
	}
	if e.Validation != nil {
		out.details = append(out.details, validationDetails(e.Validation)...)
	}
	return out
}

// validationDetails returns the validation errors of parameters, in the form of google.rpc and in
// that of the hub.
func validationDetails(v *parley.ValidationFailure) []any {
	violations := make([]any, 0, len(v.ValidationErrors))
	for _, e := range v.ValidationErrors {
		violations = append(violations, map[string]any{"field": e.Path, "description": e.Message})
	}
	return []any{
		map[string]any{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations},
		map[string]any{"@type": errordetails.StructType, "agent_name": v.AgentName, "validation_errors": v.ValidationErrors,
			"parameters_schema": v.ParametersSchema},
	}
}

// allDetails returns the details of an error of 1.0.
func (f *protocolError) allDetails() []any {
	all := []any{errordetails.NewErrorInfo(f.reason, a2a.ProtocolDomain, f.info)}
	if f.retry > 0 {
		all = append(all, map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": strconv.FormatFloat(f.retry.Seconds(), 'f', -1, 64) + "s"})
	}
	return append(all, f.details...)
}

// rpcError is the error member of a JSON-RPC response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *protocolError) rpcError(v version) *rpcError {
	e := &rpcError{Code: f.code, Message: f.message}
	switch {
	case v != version03:
		e.Data = f.allDetails()
	case len(f.details) > 0:
		e.Data = map[string]any{"details": f.details} // 0.3 does not define a form
	}
	return e
}

// rpcStatus returns the HTTP status of a JSON-RPC response: 200, except for statuses that clients
// and proxies handle without reading the body.
func (f *protocolError) rpcStatus() int {
	switch f.http {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests,
		http.StatusServiceUnavailable:
		return f.http
	}
	return http.StatusOK
}

// restError is the body of an error of HTTP+JSON: google.rpc.Status according to AIP-193. Clients
// of 0.3 read code and message at the top level.
type restError struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Error   struct {
		Code    int    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []any  `json:"details"`
	} `json:"error"`
}

func (f *protocolError) restError(v version) *restError {
	e := &restError{}
	e.Error.Code, e.Error.Status, e.Error.Message, e.Error.Details = f.http, f.status, f.message, f.allDetails()
	if v == version03 {
		e.Code, e.Message = f.code, f.message
	}
	return e
}

// setHeaders sets the headers of an error.
func (f *protocolError) setHeaders(h http.Header) {
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(f.retry.Seconds())))))
	}
	if f.http == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", cmp.Or(h.Get("WWW-Authenticate"), `Bearer realm="parley"`))
	}
}

// bodyTooLarge returns the error for a body over [MaxBodyBytes].
func bodyTooLarge() error {
	f := newProtocolError(a2a.ErrInvalidParams, fmt.Sprintf("the body has more than %d bytes", MaxBodyBytes))
	f.http, f.status, f.reason = http.StatusRequestEntityTooLarge, "RESOURCE_EXHAUSTED", "REQUEST_TOO_LARGE"
	return f
}

// notJSON returns the error for a body whose Content-Type is not JSON.
func notJSON(contentType string) error {
	f := newProtocolError(a2a.ErrUnsupportedContentType,
		fmt.Sprintf("unsupported Content-Type %.100q (expected: application/json or application/a2a+json)", contentType))
	f.http = http.StatusUnsupportedMediaType
	return f
}
