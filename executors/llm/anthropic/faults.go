package anthropic

import (
	"encoding/json"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// vendorError is the form of an error in bodies and in streams.
type vendorError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func (e *vendorError) fault() wire.VendorError {
	return wire.VendorError{Code: e.Error.Type, Message: e.Error.Message, RequestID: e.RequestID}
}

// readError parses the error in a body. It returns the zero value if there is none.
func readError(body []byte) wire.VendorError {
	var e vendorError
	if json.Unmarshal(body, &e) != nil {
		return wire.VendorError{}
	}
	return e.fault()
}

// categories maps the error types in streams, which have no HTTP status.
var categories = map[string]llm.Category{
	"invalid_request_error": llm.CategoryInvalid,
	"request_too_large":     llm.CategoryInvalid,
	"billing_error":         llm.CategoryInvalid,
	"authentication_error":  llm.CategoryAuthentication,
	"permission_error":      llm.CategoryAuthentication,
	"not_found_error":       llm.CategoryNotFound,
	"rate_limit_error":      llm.CategoryRateLimit,
	"timeout_error":         llm.CategoryTimeout,
	"api_error":             llm.CategoryServer,
	"overloaded_error":      llm.CategoryServer,
}

// failed returns the error that a stream, or an answer with status 200, reports.
func (p *Provider) failed(res *http.Response, e *vendorError) error {
	return p.server.Coded(res, categories[e.Error.Type], e.fault())
}
