package openai

import (
	"net/http"

	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// vendorError is an error in bodies and in streams.
type vendorError = wire.VendorError

// errorOf parses the error in a body or an event. It returns nil if there is none.
func errorOf(raw []byte) *vendorError { return wire.ErrorIn(raw) }

// failed returns the error that a stream, or an answer with status 200, reports.
func (p *Provider) failed(res *http.Response, e *vendorError) error { return p.server.Coded(res, *e) }
