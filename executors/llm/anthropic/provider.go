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

// DefaultMaxTokens bounds what a model says where a Request does not. All models take it.
const DefaultMaxTokens = 4096

// Options are for New. The zero value reaches Anthropic without a key.
type Options struct {
	// Name is that of the provider, 1 to 64 of a-z 0-9 . _ -; empty, "anthropic".
	Name string
	// BaseURL is where the API is, without its version; empty, Anthropic's.
	BaseURL string
	// APIKey is sent to the server of BaseURL and to nobody else; empty, none is sent.
	APIKey string
	// HTTPClient is what calls are made with: a copy that follows no redirects and takes 64 MiB at most of an answer. Nil, one is made.
	HTTPClient *http.Client
}

// Provider is the llm.Provider of one server. It is safe for concurrent use.
type Provider struct {
	server   *wire.Server
	messages anthropic.MessageService
}

var _ llm.Provider = (*Provider)(nil)

// New makes a Provider. It reads nothing from the environment. An error never has the key.
func New(o *Options) (*Provider, error) {
	if o == nil {
		o = &Options{}
	}
	s, err := wire.NewServer(wire.Options(*o), defaultName, defaultBase, "Request-Id", "X-Request-Id")
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

// FromEnv makes the provider "anthropic" of ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL. It is nil where neither is set.
func FromEnv(getenv func(string) string) (*Provider, error) {
	o := wire.FromEnv(getenv, "ANTHROPIC")
	if o == nil {
		return nil, nil
	}
	return New((*Options)(o))
}

// Name is that of the options.
func (p *Provider) Name() string { return p.server.Name }

// Close ends all calls.
func (p *Provider) Close() error { return p.server.Close() }

// Call makes one exchange: see llm.Provider.
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
		if _, err := anthropic.CalculateNonStreamingTimeout(int(params.MaxTokens), params.Model, nil); err != nil { // it may take longer than one may wait
			stream, emit = true, func(llm.Chunk) error { return nil }
		}
	}
	res, err := p.send(ctx, params, options, stream)
	if err != nil || res == nil || res.StatusCode != http.StatusOK {
		return nil, p.server.Answered(res, err, told)
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

// send gives the answer as it comes. The caller closes its body.
func (p *Provider) send(ctx context.Context, params *anthropic.MessageNewParams, options []option.RequestOption,
	stream bool) (res *http.Response, err error) {
	if !stream {
		_, err = p.messages.New(ctx, *params, append(options, option.WithResponseBodyInto(&res))...)
		return res, err
	}
	s := p.messages.NewStreaming(ctx, *params,
		append(options, option.WithResponseInto(&res), option.WithHeader("Accept", "text/event-stream"))...)
	return res, s.Err() // its events are read from the answer itself
}

// options are those of one call: what goes into headers, and parameters by the name that the model has for them.
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
