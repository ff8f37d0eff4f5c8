package openai

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// vendorError is the form of an error in bodies and in streams. Some servers use a number as code.
type vendorError struct {
	Type    string `json:"type"`
	Code    any    `json:"code"`
	Message string `json:"message"`
}

func (e *vendorError) code() string {
	if c, ok := e.Code.(string); ok && c != "" {
		return c
	}
	return e.Type
}

func (e *vendorError) fault() wire.VendorError {
	return wire.VendorError{Code: e.code(), Message: e.Message, Final: e.code() == "insufficient_quota" ||
		e.Type == "insufficient_quota"}
}

// readError parses the error in a body. It returns the zero value if there is none.
func readError(body []byte) wire.VendorError {
	if e := errorOf(body); e != nil {
		return e.fault()
	}
	return wire.VendorError{}
}

// errorOf parses the error in a body or an event: {"error": {...}} or {"error": "text"}. It returns
// nil if there is none.
func errorOf(raw []byte) *vendorError {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil || len(body.Error) == 0 || string(body.Error) == "null" {
		return nil
	}
	var e vendorError
	var words string
	switch {
	case json.Unmarshal(body.Error, &e) == nil:
	case json.Unmarshal(body.Error, &words) == nil:
		e.Message = words
	}
	return &e
}

// categories maps the codes and types in streams, which have no HTTP status.
var categories = map[string]llm.Category{
	"rate_limit_exceeded":      llm.CategoryRateLimit,
	"rate_limit_error":         llm.CategoryRateLimit,
	"insufficient_quota":       llm.CategoryRateLimit,
	"requests":                 llm.CategoryRateLimit, // type of a rate limit
	"tokens":                   llm.CategoryRateLimit,
	"invalid_api_key":          llm.CategoryAuthentication,
	"authentication_error":     llm.CategoryAuthentication,
	"permission_error":         llm.CategoryAuthentication,
	"model_not_found":          llm.CategoryNotFound,
	"not_found_error":          llm.CategoryNotFound,
	"invalid_request_error":    llm.CategoryInvalid,
	"invalid_prompt":           llm.CategoryInvalid,
	"context_length_exceeded":  llm.CategoryInvalid,
	"string_above_max_length":  llm.CategoryInvalid,
	"data_residency_mismatch":  llm.CategoryInvalid,
	"bio_policy":               llm.CategoryInvalid,
	"cyber_policy":             llm.CategoryInvalid,
	"content_policy_violation": llm.CategoryInvalid,
	"timeout":                  llm.CategoryTimeout,
}

// failed returns the error that a stream, or an answer with status 200, reports.
func (p *Provider) failed(res *http.Response, e *vendorError) error {
	return p.server.Coded(res, cmp.Or(categories[e.code()], categories[e.Type]), e.fault())
}
