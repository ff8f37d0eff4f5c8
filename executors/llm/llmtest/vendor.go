package llmtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
)

// Func is a provider named "fake" that calls a function.
type Func func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error)

var _ llm.Provider = Func(nil)

// Name returns "fake".
func (f Func) Name() string { return "fake" }

// Call calls the function.
func (f Func) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	return f(ctx, req, emit)
}

// Close does nothing.
func (f Func) Close() error { return nil }

// Vendor returns a provider named "fake" that answers with a script. It conforms without a wire,
// and can be wrapped by another provider.
func Vendor(s *Script) Func {
	return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := s.Take(body(req))
		if err != nil {
			return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryInvalid, Message: err.Error()}
		}
		v := &exchange{Exchange: e, emit: emit}
		return v.answer(ctx)
	}
}

// body returns the request that a vendor would read, without opaque data of other providers.
func body(req *llm.Request) string {
	r := *req
	r.Messages = append([]llm.Message(nil), req.Messages...)
	for i := range r.Messages {
		if o := r.Messages[i].Opaque; o != nil && o.Provider != "fake" {
			r.Messages[i].Opaque = nil
		}
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

type exchange struct {
	*Exchange
	emit func(llm.Chunk) error
}

func (e *exchange) answer(ctx context.Context) (*llm.Response, error) {
	f := e.Fault
	if f == nil {
		f = &Fault{}
	}
	if f.Status != 0 {
		return nil, StatusError("fake", f)
	}
	chunks := e.Chunks
	if f.Break || f.Hang || f.Malformed {
		chunks = chunks[:f.AfterChunks]
	}
	for _, c := range chunks {
		if e.emit == nil {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := e.emit(c); err != nil {
			return nil, err
		}
	}
	switch {
	case f.Hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case f.Break:
		return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryNetwork, Retryable: true,
			Err: io.ErrUnexpectedEOF}
	case f.Malformed:
		return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryMalformed, Message: "no JSON"}
	}
	r := e.Response
	r.Model = e.Request.Model
	r.Metadata = map[string]string{"response_id": "fake-1"}
	if e.Opaque != "" {
		data, err := json.Marshal(e.Opaque)
		if err != nil {
			return nil, err
		}
		r.Opaque = &llm.Opaque{Provider: "fake", Data: data}
	}
	return &r, nil
}

// StatusError returns the error of a provider for an HTTP status.
func StatusError(provider string, f *Fault) *llm.ProviderError {
	category, retryable := CategoryOf(f.Status)
	return &llm.ProviderError{Provider: provider, Category: category, Status: f.Status, Retryable: retryable,
		RetryAfter: f.RetryAfter, Message: f.Message}
}

// CategoryOf returns the category of a status, and whether the call is retryable.
func CategoryOf(status int) (c llm.Category, retryable bool) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.CategoryAuthentication, false
	case http.StatusNotFound:
		return llm.CategoryNotFound, false
	case http.StatusRequestTimeout:
		return llm.CategoryTimeout, true
	case http.StatusTooManyRequests:
		return llm.CategoryRateLimit, true
	case http.StatusConflict:
		return llm.CategoryInvalid, true
	}
	if status >= 500 {
		return llm.CategoryServer, true
	}
	return llm.CategoryInvalid, false
}
