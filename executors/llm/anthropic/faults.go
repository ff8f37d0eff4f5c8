package anthropic

import (
	"encoding/json"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// vendorError is the form that the vendor gives an error, in bodies and in streams.
type vendorError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func (e *vendorError) told() wire.Told {
	return wire.Told{Code: e.Error.Type, Message: e.Error.Message, RequestID: e.RequestID}
}

// told reads the error in a body; the zero value where there is none.
func told(body []byte) wire.Told {
	var e vendorError
	if json.Unmarshal(body, &e) != nil {
		return wire.Told{}
	}
	return e.told()
}

// categories are those of types in streams, which have no status of their own.
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

// failed is the error that a stream, or an answer of status 200, reports.
func (p *Provider) failed(res *http.Response, e *vendorError) error {
	return p.server.Coded(res, categories[e.Error.Type], e.told())
}
