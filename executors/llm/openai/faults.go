package openai

import (
	"encoding/json"
	"errors"
	"io"
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

// told is what goes into an error of ours.
func (e *vendorError) told() wire.Told {
	return wire.Told{Code: e.code(), Message: e.Message, Final: e.code() == "insufficient_quota" || e.Type == "insufficient_quota"}
}

func requestID(res *http.Response) string { return wire.Header(res, "X-Request-Id") }

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
	var t wire.Told
	if e := errorOf(body); e != nil {
		t = e.told()
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		t = wire.Told{Message: "the server sends elsewhere, and redirects are not followed: is the base URL right?"}
	}
	return p.faults.Status(res, requestID(res), t)
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

// failed is the error that a stream, or an answer of status 200, tells. Nobody knows better than server, and that it may go away, where the vendor has a code that is new.
func (p *Provider) failed(id string, e *vendorError) error {
	c, ok := categories[e.code()]
	if !ok {
		c, ok = categories[e.Type]
	}
	if !ok {
		c = llm.CategoryServer
	}
	retryable := c == llm.CategoryServer || c == llm.CategoryRateLimit || c == llm.CategoryTimeout
	return p.faults.Coded(c, retryable, id, e.told())
}

// cut is the error of a stream that ends before its end, or whose connection fails.
func (p *Provider) cut(id string, err error) error {
	if err == nil {
		err = errors.New("the stream ended in the middle")
	}
	return p.faults.Broken(id, err)
}

// metadata are the vendor's ids.
func metadata(res *http.Response, id string) map[string]string {
	m := map[string]string{}
	if id != "" {
		m["response_id"] = id
	}
	if r := requestID(res); r != "" {
		m["request_id"] = r
	}
	return m
}
