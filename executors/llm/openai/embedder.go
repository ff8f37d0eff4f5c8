package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// EmbedderOptions are the options of NewEmbedder. Model is required.
type EmbedderOptions struct {
	// Name is the name of the server, as Options.Name. The default is "openai".
	Name string
	// BaseURL is the address of the API with its version. The default is OpenAI's.
	BaseURL string
	// APIKey is sent only to the server at BaseURL. It may be empty.
	APIKey string
	// Model is a model of the server, such as text-embedding-3-small: 1 to 128 bytes of printable
	// ASCII.
	Model string
	// Dimensions is the length of the vectors, for models with several. 0 is the default of the
	// model.
	Dimensions int
	// HTTPClient is used as in Options.
	HTTPClient *http.Client
}

// Embedder calls POST /embeddings of an OpenAI-compatible server. It implements
// hub.Options.Embedder, and is safe for concurrent use.
type Embedder struct {
	name       string
	model      string
	dimensions int
	provider   *Provider // for its faults and its lifetime
	service    openai.EmbeddingService
}

const maxModelBytes = 128

// NewEmbedder returns an Embedder without calling the server. Its errors never have the key.
func NewEmbedder(o *EmbedderOptions) (*Embedder, error) {
	if o == nil {
		o = &EmbedderOptions{}
	}
	switch {
	case o.Model == "" || len(o.Model) > maxModelBytes || !wire.Printable(o.Model):
		return nil, fmt.Errorf("openai: invalid model (expected: 1 to %d bytes of printable ASCII)", maxModelBytes)
	case o.Dimensions < 0:
		return nil, errors.New("openai: invalid dimensions (expected: 0 or more)")
	}
	p, err := New(&Options{Name: o.Name, BaseURL: o.BaseURL, APIKey: o.APIKey, HTTPClient: o.HTTPClient})
	if err != nil {
		return nil, err
	}
	e := &Embedder{name: p.server.Name + ":" + o.Model, model: o.Model, dimensions: o.Dimensions, provider: p,
		service: openai.NewEmbeddingService(serviceOptions(p.server)...)}
	if o.Dimensions > 0 {
		e.name += fmt.Sprintf("/%d", o.Dimensions)
	}
	if !p.own { // another server may use the same name for another model
		sum := sha256.Sum256([]byte(strings.TrimRight(o.BaseURL, "/")))
		e.name += "#" + hex.EncodeToString(sum[:4])
	}
	return e, nil
}

// Name returns the names of the server and the model. For servers other than OpenAI's it also has
// the first bytes of the SHA-256 of the base URL.
func (e *Embedder) Name() string { return e.name }

// Close cancels all calls.
func (e *Embedder) Close() error { return e.provider.Close() }

// Embed returns the vectors of texts, with one call without retries.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return [][]float32{}, nil
	}
	ctx, span := e.startSpan(ctx)
	defer span.End()
	vectors, err := e.embed(ctx, texts)
	setSpanResult(span, err)
	return vectors, err
}

// embed makes the call.
func (e *Embedder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	params := openai.EmbeddingNewParams{
		Model: e.model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat,
	}
	if e.dimensions > 0 {
		params.Dimensions = param.NewOpt(int64(e.dimensions))
	}
	var res *http.Response
	_, err := e.service.New(ctx, params, option.WithResponseBodyInto(&res))
	if ctx.Err() != nil && res == nil {
		return nil, ctx.Err()
	}
	if err != nil || res == nil || res.StatusCode != http.StatusOK {
		return nil, e.provider.server.Answered(res, err)
	}
	raw, err := e.provider.server.Whole(res)
	if err != nil {
		return nil, err
	}
	return e.read(res, raw, len(texts))
}

// read parses the answer for n texts: one vector for each, in any order.
func (e *Embedder) read(res *http.Response, raw []byte, n int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	server := e.provider.server
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, server.Malformed(res, "the answer is not JSON of embeddings", err)
	}
	if len(answer.Data) == 0 {
		if said := errorOf(raw); said != nil {
			return nil, e.provider.failed(res, said)
		}
	}
	if len(answer.Data) != n {
		return nil, server.Malformed(res, fmt.Sprintf("the answer has %d vectors for %d texts", len(answer.Data), n), nil)
	}
	out := make([][]float32, n)
	for at, d := range answer.Data {
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || out[at] != nil || len(d.Embedding) == 0 {
			return nil, server.Malformed(res, "the answer does not have one vector for each text", nil)
		}
		out[at] = d.Embedding
	}
	return out, nil
}
