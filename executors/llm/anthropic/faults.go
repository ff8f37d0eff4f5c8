package anthropic

import (
	"net/http"

	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// failed returns the error that a stream, or an answer with status 200, reports.
func (p *Provider) failed(res *http.Response, e *wire.VendorError) error {
	return p.server.Coded(res, *e)
}
