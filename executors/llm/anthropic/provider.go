package anthropic

import (
	"context"
	"fmt"
	"net/http"
	"strings"

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
	name     string
	faults   wire.Faults
	life     *wire.Life
	http     *http.Client
	messages anthropic.MessageService
}

var _ llm.Provider = (*Provider)(nil)

// New makes a Provider. It reads nothing from the environment. An error never has the key.
func New(o *Options) (*Provider, error) {
	if o == nil {
		o = &Options{}
	}
	p := &Provider{name: orElse(o.Name, defaultName)}
	base, key := orElse(o.BaseURL, defaultBase), strings.TrimSpace(o.APIKey)
	for _, err := range []error{wire.CheckName(p.name), wire.CheckBase(base), wire.CheckKey(key)} {
		if err != nil {
			return nil, fmt.Errorf("anthropic: %w", err)
		}
	}
	p.faults = wire.Faults{Provider: p.name, Key: key}
	p.life = wire.NewLife(p.faults)
	p.http = wire.Client(o.HTTPClient)
	options := []option.RequestOption{option.WithBaseURL(base), option.WithHTTPClient(p.http), option.WithMaxRetries(0), option.WithoutOpenTelemetry()}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	p.messages = anthropic.NewMessageService(options...)
	return p, nil
}

// FromEnv makes the provider "anthropic" of ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL. It is nil where neither is set.
func FromEnv(getenv func(string) string) (*Provider, error) {
	key, base := strings.TrimSpace(getenv("ANTHROPIC_API_KEY")), strings.TrimSpace(getenv("ANTHROPIC_BASE_URL"))
	if key == "" && base == "" {
		return nil, nil
	}
	return New(&Options{APIKey: key, BaseURL: base})
}

// Name is that of the options.
func (p *Provider) Name() string { return p.name }

// Close ends all calls.
func (p *Provider) Close() error {
	p.life.End()
	p.http.CloseIdleConnections()
	return nil
}

// Call makes one exchange: see llm.Provider.
func (p *Provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	return p.life.Call(ctx, emit, func(ctx context.Context, emit func(llm.Chunk) error) (*llm.Response, error) {
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
		return nil, p.answered(res, err)
	}
	if stream {
		return p.stream(res, emit)
	}
	raw, err := p.faults.Whole(res, requestID(res))
	if err != nil {
		return nil, err
	}
	return p.whole(res, raw)
}

// send gives the answer as it comes. The caller closes its body.
func (p *Provider) send(ctx context.Context, params *anthropic.MessageNewParams, options []option.RequestOption, stream bool) (res *http.Response, err error) {
	if !stream {
		_, err = p.messages.New(ctx, *params, append(options, option.WithResponseBodyInto(&res))...)
		return res, err
	}
	s := p.messages.NewStreaming(ctx, *params, append(options, option.WithResponseInto(&res), option.WithHeader("Accept", "text/event-stream"))...)
	return res, s.Err() // its events are read from the answer itself
}

// options are those of one call: what goes into headers, and parameters by the name that the model has for them.
func (p *Provider) options(req *llm.Request) ([]option.RequestOption, error) {
	var all []option.RequestOption
	for header, value := range map[string]string{"Idempotency-Key": req.IdempotencyKey, "X-Client-Request-Id": req.TraceID} {
		if !wire.Printable(value) {
			return nil, p.faults.Invalid(fmt.Sprintf("what goes into the header %s has to be printable ASCII, 512 bytes at most", header))
		}
		if value != "" {
			all = append(all, option.WithHeader(header, value))
		}
	}
	if name := req.MaxTokensParam; name != "" && name != "max_tokens" && req.MaxTokens > 0 {
		if !wire.IsParameter(name) {
			return nil, p.faults.Invalid(fmt.Sprintf("max_tokens_param: %q is no name of a parameter", name))
		}
		all = append(all, option.WithJSONDel("max_tokens"), option.WithJSONSet(name, req.MaxTokens))
	}
	return all, nil
}

func orElse[T ~string](v, otherwise T) T {
	if v == "" {
		return otherwise
	}
	return v
}
