package openai

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// vendorError is the form that the vendor gives an error, in bodies and in streams. Some servers have a number for a code.
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

func (e *vendorError) told() wire.Told {
	return wire.Told{Code: e.code(), Message: e.Message, Final: e.code() == "insufficient_quota" ||
		e.Type == "insufficient_quota"}
}

// told reads the error in a body; the zero value where there is none.
func told(body []byte) wire.Told {
	if e := errorOf(body); e != nil {
		return e.told()
	}
	return wire.Told{}
}

// errorOf reads the error in a body or an event: {"error": {...}}, or {"error": "words"}. Nil where there is none.
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

// categories are those of codes and types in streams, which have no status of their own.
var categories = map[string]llm.Category{
	"rate_limit_exceeded":      llm.CategoryRateLimit,
	"rate_limit_error":         llm.CategoryRateLimit,
	"insufficient_quota":       llm.CategoryRateLimit,
	"requests":                 llm.CategoryRateLimit, // the types of rate limits
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

// failed is the error that a stream, or an answer of status 200, reports.
func (p *Provider) failed(res *http.Response, e *vendorError) error {
	return p.server.Coded(res, cmp.Or(categories[e.code()], categories[e.Type]), e.told())
}
