package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Every error of the hub has a row.
func TestEveryErrorIsMapped(t *testing.T) {
	f := &httpServer{log: newTestLog()}
	for _, row := range parley.Errors {
		got := f.toProtocolError(fmt.Errorf("send: %w", row.Err))
		if hubErrors[row.Err] == nil || !errors.Is(got, hubErrors[row.Err]) {
			t.Errorf("%s is told as %v", row.Reason(), got)
		}
		if (got.http == http.StatusInternalServerError) != (row.Err == parley.ErrInternal) {
			t.Errorf("%s is told with HTTP %d", row.Reason(), got.http)
		}
	}
	if len(hubErrors) != len(parley.Errors) {
		t.Errorf("%d rows for %d errors of the hub", len(hubErrors), len(parley.Errors))
	}
}

func TestErrors(t *testing.T) {
	w := newFrontWorld(t, nil)
	for _, c := range []struct {
		err    error
		code   int
		http   int
		status string
		reason string
		rpc    int // HTTP status of JSON-RPC
		words  string
	}{
		{a2a.ErrTaskNotFound, -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", 200, "task not found"},
		{parley.Refuse(parley.ErrNotFound, "conversation cnv_secret is another's", ""), -32001, 404, "NOT_FOUND",
			"TASK_NOT_FOUND", 200, noTaskMessage},
		{a2a.ErrTaskNotCancelable, -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", 200, ""},
		{a2a.ErrPushNotificationNotSupported, -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", 200, ""},
		{fmt.Errorf("%w: it works, wait or subscribe", a2a.ErrUnsupportedOperation), -32004, 400, "FAILED_PRECONDITION",
			"UNSUPPORTED_OPERATION", 200, "wait or subscribe"},
		{parley.ErrConversationClosed, -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", 200, ""},
		{parley.ErrNotYourTurn, -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", 200, ""},
		{a2a.ErrUnsupportedContentType, -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", 200, ""},
		{a2a.ErrInvalidAgentResponse, -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE", 200, ""},
		{a2a.ErrExtendedCardNotConfigured, -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 200, ""},
		{a2a.ErrExtensionSupportRequired, -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED", 200, ""},
		{a2a.ErrVersionNotSupported, -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", 200, ""},
		{parley.Refuse(parley.ErrValidationFailed, "text is empty", "words"), -32602, 400, "INVALID_ARGUMENT",
			"INVALID_PARAMS", 200, "text is empty (expected words)"},
		{parley.ErrIdempotencyConflict, -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", 200, ""},
		{parley.ErrUnauthenticated, -31401, 401, "UNAUTHENTICATED", "UNAUTHENTICATED", 401, ""},
		{parley.ErrForbidden, -31403, 403, "PERMISSION_DENIED", "UNAUTHORIZED", 403, ""},
		{&parley.Error{Err: parley.ErrRateLimited, RetryAfterMs: 2500}, -32000, 429, "RESOURCE_EXHAUSTED", "RATE_LIMITED",
			429, ""},
		{parley.ErrUnavailable, -32000, 503, "UNAVAILABLE", "UNAVAILABLE", 503, ""},
		{parley.ErrOutcomeUnknown, -32000, 503, "UNAVAILABLE", "OUTCOME_UNKNOWN", 503, "same messageId"},
		{context.Canceled, -32000, 503, "UNAVAILABLE", "SERVER_ERROR", 503, "same messageId"},
		{errors.New("open /var/secret: no"), -32603, 500, "INTERNAL", "INTERNAL_ERROR", 200, "see its log"},
	} {
		w.methods.answer = func(context.Context, any) (any, error) { return nil, c.err }
		r := w.rpc("GetTask", `{"id":"t"}`)
		if r.code(t) != c.code || r.status != c.rpc || r.json(t, "error.data.0.reason") != c.reason ||
			r.json(t, "error.data.0.domain") != "a2a-protocol.org" ||
			r.json(t, "error.data.0.@type") != "type.googleapis.com/google.rpc.ErrorInfo" {
			t.Errorf("%v: HTTP %d %s", c.err, r.status, r.body)
		}
		if !strings.Contains(r.body, c.words) || strings.Contains(r.body, "secret") {
			t.Errorf("%v: the words are %s", c.err, r.body)
		}
		if r := w.rpc("tasks/get", `{"id":"t"}`); r.code(t) != c.code || r.json(t, "error.data") != nil {
			t.Errorf("%v in 0.3: %s", c.err, r.body)
		}
		r = w.do(http.MethodGet, w.url+"/tasks/t", "")
		if r.status != c.http || r.json(t, "error.code") != float64(c.http) || r.json(t, "error.status") != c.status ||
			r.json(t, "error.details.0.reason") != c.reason {
			t.Errorf("%v: HTTP %d %s", c.err, r.status, r.body)
		}
		if (c.http == 401) != (r.header.Get("WWW-Authenticate") != "") ||
			(c.http == 429 || c.http == 503) != (r.header.Get("Retry-After") != "") {
			t.Errorf("%v: headers %v", c.err, r.header)
		}
		r = w.do(http.MethodGet, w.url+"/v1/tasks/t", "")
		if r.status != c.http || r.json(t, "code") != float64(c.code) || r.json(t, "message") != r.json(t, "error.message") {
			t.Errorf("%v in 0.3: HTTP %d %s", c.err, r.status, r.body)
		}
	}
	w.methods.answer = func(context.Context, any) (any, error) {
		return nil, &parley.Error{Err: parley.ErrRateLimited, RetryAfterMs: 2500}
	}
	if r := w.rpc("GetTask", `{"id":"t"}`); r.header.Get("Retry-After") != "3" || !strings.Contains(r.body,
		`"retryDelay":"2.5s"`) {
		t.Errorf("when to come back: %v %s", r.header, r.body)
	}
	if !strings.Contains(w.log.String(), "/var/secret") {
		t.Error("a fault of the adapter is not in the log")
	}
}

// Validation errors of parameters have all details.
func TestValidationErrors(t *testing.T) {
	w := newFrontWorld(t, nil)
	w.methods.answer = func(context.Context, any) (any, error) {
		return nil, &parley.Error{Err: parley.ErrParameters, Validation: &parley.ValidationFailure{AgentName: "echo",
			ValidationErrors: []parley.ValidationError{{Path: "$.n", Message: "is a text",
				SchemaPath: "properties.n.type"}}, ParametersSchema: json.RawMessage(`{"type":"object"}`)}}
	}
	for method, at := range map[string]string{"GetTask": "error.data.2", "tasks/get": "error.data.details.1"} {
		r := w.rpc(method, `{"id":"t"}`)
		if r.code(t) != -32602 || r.json(t, at+".validation_errors.0.path") != "$.n" ||
			r.json(t, at+".parameters_schema.type") != "object" {
			t.Errorf("%s: %s", method, r.body)
		}
	}
}

// Bodies that are too large or too deeply nested are refused before they are parsed.
func TestBodies(t *testing.T) {
	w := newFrontWorld(t, nil)
	large := `{"x":"` + strings.Repeat("a", MaxBodyBytes) + `"}`
	if r := w.do(http.MethodPost, w.url, large); r.status != http.StatusRequestEntityTooLarge || r.code(t) != -32602 {
		t.Errorf("JSON-RPC: HTTP %d %s", r.status, r.body)
	}
	if r := w.do(http.MethodPost, w.url+"/message:send", large); r.status != http.StatusRequestEntityTooLarge ||
		r.json(t, "error.code") != 413.0 {
		t.Errorf("HTTP+JSON: HTTP %d %s", r.status, r.body)
	}
	deep := `{"metadata":` + strings.Repeat("[", limits.MaxDepth) + strings.Repeat("]", limits.MaxDepth) + `}`
	if r := w.do(http.MethodPost, w.url+"/message:send", deep); r.status != http.StatusBadRequest ||
		!strings.Contains(r.body, "PARSE_ERROR") {
		t.Errorf("deep: HTTP %d %s", r.status, r.body)
	}
}

// A failed connect is reported before anything else.
func TestConnectFails(t *testing.T) {
	w := newFrontWorld(t, func(o *Options) {
		o.Connect = func(*http.Request) (parley.Client, func(), error) { return nil, nil, parley.ErrUnauthenticated }
	})
	for _, r := range []*reply{w.rpc("GetTask", `{"id":"t"}`), w.do(http.MethodPost, w.url, `nonsense`),
		w.do(http.MethodGet, w.url+"/tasks/t", ""), w.do(http.MethodGet, w.url+"/extendedAgentCard", "")} {
		if r.status != http.StatusUnauthorized || !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("HTTP %d %v %s", r.status, r.header, r.body)
		}
	}
	if r := w.do(http.MethodGet, w.url+cardPath, ""); r.status != http.StatusOK {
		t.Errorf("the public card: HTTP %d", r.status)
	}
}

// A client is released once for each request that received one.
func TestRelease(t *testing.T) {
	taken, released := 0, 0
	w := newFrontWorld(t, func(o *Options) {
		o.Connect = func(*http.Request) (parley.Client, func(), error) {
			taken++
			return noClient{}, func() { released++ }, nil
		}
	})
	for _, path := range []string{"/tasks/t", "/tasks/t?historyLength=-1", "/tasks/t:subscribe",
		"/tasks/t?A2A-Version=99.0", "/nonsense"} {
		w.front.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a2a/echo"+path, nil))
	}
	if taken != 4 || released != 4 {
		t.Errorf("%d taken, %d given back", taken, released)
	}
}
