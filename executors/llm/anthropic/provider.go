package anthropic

import (
	"context"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

const (
	defaultName = "anthropic"
	defaultBase = "https://api.anthropic.com"
)

// DefaultMaxTokens is the max_tokens of a Request without one. All models accept it.
const DefaultMaxTokens = 4096

// Options are the options of New. The zero value calls Anthropic without a key.
type Options struct {
	// Name is the name of the provider, with 1 to 64 characters of a-z 0-9 . _ -. The default is
	// "anthropic".
	Name string
	// BaseURL is the address of the API without its version. The default is Anthropic's.
	BaseURL string
	// APIKey is sent only to the server at BaseURL. It may be empty.
	APIKey string
	// HTTPClient makes the calls. It is copied; the copy follows no redirects and reads at most 64
	// MiB of an answer. It may be nil.
	HTTPClient *http.Client
}

// Provider is the llm.Provider of one server. It is safe for concurrent use.
type Provider struct {
	server   *wire.Server
	messages anthropic.MessageService
}

var _ llm.Provider = (*Provider)(nil)

// New returns a Provider. It does not read the environment. Its errors never have the key.
func New(o *Options) (*Provider, error) {
	if o == nil {
		o = &Options{}
	}
	s, err := wire.NewServer(wire.Options(*o), defaultName, defaultBase, "Request-Id", "X-Request-Id", "Apim-Request-Id")
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{option.WithBaseURL(s.BaseURL), option.WithHTTPClient(s.HTTP),
		option.WithMaxRetries(0), option.WithoutOpenTelemetry()}
	if s.Key != "" {
		options = append(options, option.WithAPIKey(s.Key))
	}
	return &Provider{server: s, messages: anthropic.NewMessageService(options...)}, nil
}

// FromEnv returns the provider "anthropic" for ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL. It returns
// nil if neither is set.
func FromEnv(getenv func(string) string) (*Provider, error) {
	o := wire.FromEnv(getenv, "ANTHROPIC")
	if o == nil {
		return nil, nil
	}
	return New((*Options)(o))
}

// Name returns the name of the provider.
func (p *Provider) Name() string { return p.server.Name }

// Close cancels all calls.
func (p *Provider) Close() error { return p.server.Close() }

// Call makes one exchange. See llm.Provider.
func (p *Provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	return p.server.Call(ctx, emit, func(ctx context.Context, emit func(llm.Chunk) error) (*llm.Response, error) {
		return p.call(ctx, req, emit)
	})
}

func (p *Provider) call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	params, err := p.params(req)
	if err != nil {
		return nil, err
	}
	options, err := p.options(req)
	if err != nil {
		return nil, err
	}
	stream := emit != nil
	if !stream {
		_, err := anthropic.CalculateNonStreamingTimeout(int(params.MaxTokens), params.Model, nil)
		if err != nil { // the answer may exceed the timeout
			stream, emit = true, func(llm.Chunk) error { return nil }
		}
	}
	res, err := p.send(ctx, params, options, stream)
	if err != nil || res == nil || res.StatusCode != http.StatusOK {
		return nil, p.server.Answered(res, err, readError)
	}
	if stream {
		return p.stream(res, emit)
	}
	raw, err := p.server.Whole(res)
	if err != nil {
		return nil, err
	}
	return p.whole(res, raw)
}

// send returns the answer before its body is read. The caller closes the body.
func (p *Provider) send(ctx context.Context, params *anthropic.MessageNewParams, options []option.RequestOption,
	stream bool) (res *http.Response, err error) {
	if !stream {
		_, err = p.messages.New(ctx, *params, append(options, option.WithResponseBodyInto(&res))...)
		return res, err
	}
	s := p.messages.NewStreaming(ctx, *params,
		append(options, option.WithResponseInto(&res), option.WithHeader("Accept", "text/event-stream"))...)
	return res, s.Err() // the events are read from the body of the answer
}

// options returns the options of one call: the headers, and max_tokens under the model's own name.
func (p *Provider) options(req *llm.Request) ([]option.RequestOption, error) {
	all, err := wire.Headers(p.server.Faults, req, option.WithHeader)
	if err != nil {
		return nil, err
	}
	if name := req.MaxTokensParam; name != "" && name != "max_tokens" && req.MaxTokens > 0 {
		if err := p.server.CheckParameter(name); err != nil {
			return nil, err
		}
		all = append(all, option.WithJSONDel("max_tokens"), option.WithJSONSet(name, req.MaxTokens))
	}
	return all, nil
}
