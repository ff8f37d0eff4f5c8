package openai

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

const (
	defaultName = "openai"
	defaultBase = "https://api.openai.com/v1"
)

// Options are for New. The zero value reaches OpenAI without a key.
type Options struct {
	// Name is that of the provider, 1 to 64 of a-z 0-9 . _ -; empty, "openai". Compatible servers have names of their own, such as "ollama": a model is then "ollama:llama3".
	Name string
	// BaseURL is where the API is, with its version, as http://localhost:11434/v1; empty, OpenAI's.
	BaseURL string
	// APIKey is sent to the server of BaseURL and to nobody else; empty, none is sent.
	APIKey string
	// API is how the server is asked where a Request does not say it; empty, llm.APIResponses of OpenAI and llm.APIChat of others.
	API llm.API
	// HTTPClient is what calls are made with: a copy that follows no redirects and takes 64 MiB at most of an answer. Nil, one is made.
	HTTPClient *http.Client
}

// Provider is the llm.Provider of one server. It is safe for concurrent use.
type Provider struct {
	name   string
	own    bool // the server is OpenAI's
	api    llm.API
	faults wire.Faults
	life   *wire.Life
	http   *http.Client

	responses responses.ResponseService
	chat      openai.ChatCompletionService
}

var _ llm.Provider = (*Provider)(nil)

// New makes a Provider. It reads nothing from the environment. An error never has the key.
func New(o *Options) (*Provider, error) {
	if o == nil {
		o = &Options{}
	}
	p := &Provider{name: orElse(o.Name, defaultName), api: o.API}
	base, key := orElse(o.BaseURL, defaultBase), strings.TrimSpace(o.APIKey)
	for _, err := range []error{wire.CheckName(p.name), wire.CheckBase(base), wire.CheckKey(key)} {
		if err != nil {
			return nil, fmt.Errorf("openai: %w", err)
		}
	}
	p.own = IsOwn(base)
	switch {
	case p.api == "" && p.own:
		p.api = llm.APIResponses
	case p.api == "":
		p.api = llm.APIChat
	case p.api != llm.APIResponses && p.api != llm.APIChat:
		return nil, fmt.Errorf("openai: there is no API %q: it is %s or %s", p.api, llm.APIResponses, llm.APIChat)
	}
	p.faults = wire.Faults{Provider: p.name, Key: key}
	p.life = wire.NewLife(p.faults)
	p.http = wire.Client(o.HTTPClient)
	options := []option.RequestOption{option.WithBaseURL(base), option.WithHTTPClient(p.http), option.WithMaxRetries(0)}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	p.responses = responses.NewResponseService(options...)
	p.chat = openai.NewChatCompletionService(options...)
	return p, nil
}

// IsOwn reports whether a base URL is that of OpenAI; empty is.
func IsOwn(base string) bool { return base == "" || strings.TrimRight(base, "/") == defaultBase }

// FromEnv makes the provider "openai" of OPENAI_API_KEY and OPENAI_BASE_URL. It is nil where neither is set.
func FromEnv(getenv func(string) string) (*Provider, error) {
	key, base := strings.TrimSpace(getenv("OPENAI_API_KEY")), strings.TrimSpace(getenv("OPENAI_BASE_URL"))
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
		asked := *req
		asked.API = orElse(req.API, p.api)
		switch asked.API {
		case llm.APIResponses:
			return p.callResponses(ctx, &asked, emit)
		case llm.APIChat:
			return p.callChat(ctx, &asked, emit)
		}
		return nil, p.faults.Invalid(fmt.Sprintf("there is no API %q", asked.API))
	})
}

// options are those of one call: what goes into headers, and parameters by the name that the model has for them. raw is where the answer comes.
func (p *Provider) options(req *llm.Request, raw **http.Response, stream bool) ([]option.RequestOption, error) {
	all := []option.RequestOption{option.WithResponseBodyInto(raw)}
	if stream {
		all = append(all, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
	}
	for header, value := range map[string]string{"Idempotency-Key": req.IdempotencyKey, "X-Client-Request-Id": req.TraceID} {
		if !wire.Printable(value) {
			return nil, p.faults.Invalid(fmt.Sprintf("what goes into the header %s has to be printable ASCII, 512 bytes at most", header))
		}
		if value != "" {
			all = append(all, option.WithHeader(header, value))
		}
	}
	if name := ownParam(req); name != "" && req.MaxTokens > 0 {
		if !wire.IsParameter(name) {
			return nil, p.faults.Invalid(fmt.Sprintf("max_tokens_param: %q is no name of a parameter", name))
		}
		all = append(all, option.WithJSONSet(name, req.MaxTokens))
	}
	return all, nil
}

// ownParam is Request.MaxTokensParam where it is a name that this API does not have by itself. A model is described once for both APIs: the name that one has means that of the other.
func ownParam(req *llm.Request) string {
	switch req.MaxTokensParam {
	case "max_output_tokens":
		return ""
	case "max_tokens", "max_completion_tokens":
		if req.API != llm.APIChat {
			return ""
		}
	}
	return req.MaxTokensParam
}

func orElse[T ~string](v, otherwise T) T {
	if v == "" {
		return otherwise
	}
	return v
}
