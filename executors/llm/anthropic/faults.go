package anthropic

import (
	"encoding/json"
	"errors"
	"io"
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
	return wire.Told{Code: e.Error.Type, Message: e.Error.Message}
}

func requestID(res *http.Response) string { return wire.Header(res, "Request-Id", "X-Request-Id") }

// answered is the error of a call whose answer is res, or nil where there is none. It closes the answer.
func (p *Provider) answered(res *http.Response, err error) error {
	if res == nil {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return p.faults.Unsent(err)
	}
	defer res.Body.Close()
	body, readErr := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if readErr != nil && res.StatusCode < 300 { // a status of failure says enough
		return p.faults.Broken(requestID(res), readErr)
	}
	var e vendorError
	if json.Unmarshal(body, &e) != nil {
		e = vendorError{}
	}
	t := e.told()
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		t = wire.Told{Message: "the server sends elsewhere, and redirects are not followed: is the base URL right?"}
	}
	return p.faults.Status(res, orElse(requestID(res), e.RequestID), t)
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

// failed is the error that a stream, or an answer of status 200, tells. Of a type that is new nobody knows better than that it is the server's, and may go away.
func (p *Provider) failed(res *http.Response, e *vendorError) error {
	c, ok := categories[e.Error.Type]
	if !ok {
		c = llm.CategoryServer
	}
	retryable := c == llm.CategoryServer || c == llm.CategoryRateLimit || c == llm.CategoryTimeout
	return p.faults.Coded(c, retryable, orElse(requestID(res), e.RequestID), e.told())
}

// cut is the error of a stream that ends before its end, or whose connection fails.
func (p *Provider) cut(res *http.Response, err error) error {
	if err == nil {
		err = errors.New("the stream ended in the middle")
	}
	return p.faults.Broken(requestID(res), err)
}
