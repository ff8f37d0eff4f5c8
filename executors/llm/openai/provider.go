package openai

import (
	"cmp"
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
	server *wire.Server
	own    bool // the server is OpenAI's
	api    llm.API

	responses responses.ResponseService
	chat      openai.ChatCompletionService
}

var _ llm.Provider = (*Provider)(nil)

// New makes a Provider. It reads nothing from the environment. An error never has the key.
func New(o *Options) (*Provider, error) {
	if o == nil {
		o = &Options{}
	}
	s, err := wire.NewServer(wire.Options{Name: o.Name, BaseURL: o.BaseURL, APIKey: o.APIKey, HTTPClient: o.HTTPClient},
		defaultName, defaultBase, "X-Request-Id")
	if err != nil {
		return nil, err
	}
	p := &Provider{server: s, own: IsOwn(s.BaseURL), api: o.API}
	switch {
	case p.api == "" && p.own:
		p.api = llm.APIResponses
	case p.api == "":
		p.api = llm.APIChat
	case p.api != llm.APIResponses && p.api != llm.APIChat:
		return nil, fmt.Errorf("openai: there is no API %q: it is %s or %s", p.api, llm.APIResponses, llm.APIChat)
	}
	options := serviceOptions(s)
	p.responses = responses.NewResponseService(options...)
	p.chat = openai.NewChatCompletionService(options...)
	return p, nil
}

// serviceOptions are those of all calls.
func serviceOptions(s *wire.Server) []option.RequestOption {
	all := []option.RequestOption{option.WithBaseURL(s.BaseURL), option.WithHTTPClient(s.HTTP), option.WithMaxRetries(0)}
	if s.Key != "" {
		all = append(all, option.WithAPIKey(s.Key))
	}
	return all
}

// IsOwn reports whether a base URL is that of OpenAI; empty is.
func IsOwn(base string) bool { return base == "" || strings.TrimRight(base, "/") == defaultBase }

// FromEnv makes the provider "openai" of OPENAI_API_KEY and OPENAI_BASE_URL. It is nil where neither is set.
func FromEnv(getenv func(string) string) (*Provider, error) {
	o := wire.FromEnv(getenv, "OPENAI")
	if o == nil {
		return nil, nil
	}
	return New(&Options{APIKey: o.APIKey, BaseURL: o.BaseURL})
}

// Name is that of the options.
func (p *Provider) Name() string { return p.server.Name }

// Close ends all calls.
func (p *Provider) Close() error { return p.server.Close() }

// Call makes one exchange: see llm.Provider.
func (p *Provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	return p.server.Call(ctx, emit, func(ctx context.Context, emit func(llm.Chunk) error) (*llm.Response, error) {
		asked := *req
		asked.API = cmp.Or(req.API, p.api)
		switch asked.API {
		case llm.APIResponses:
			return p.callResponses(ctx, &asked, emit)
		case llm.APIChat:
			return p.callChat(ctx, &asked, emit)
		}
		return nil, p.server.Invalid(fmt.Sprintf("there is no API %q", asked.API))
	})
}

// options are those of one call: what goes into headers, and parameters by the name that the model has for them. raw is where the answer comes.
func (p *Provider) options(req *llm.Request, raw **http.Response, stream bool) ([]option.RequestOption, error) {
	all, err := wire.Headers(p.server.Faults, req, option.WithHeader)
	if err != nil {
		return nil, err
	}
	all = append(all, option.WithResponseBodyInto(raw))
	if stream {
		all = append(all, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
	}
	if name := ownParam(req); name != "" && req.MaxTokens > 0 {
		if err := p.server.CheckParameter(name); err != nil {
			return nil, err
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
