package openai

import (
	"cmp"
	"context"
	"encoding/json"
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

// Options are the options of New. The zero value calls OpenAI without a key.
type Options struct {
	// Name is the name of the provider, with 1 to 64 characters of a-z 0-9 . _ -. The default is
	// "openai". With the name "ollama", a model is "ollama:llama3".
	Name string
	// BaseURL is the address of the API with its version, such as http://localhost:11434/v1. The
	// default is OpenAI's.
	BaseURL string
	// APIKey is sent only to the server at BaseURL. It may be empty.
	APIKey string
	// API is the API for a Request that does not name one. The default is llm.APIResponses for
	// OpenAI and llm.APIChat for other servers.
	API llm.API
	// HTTPClient makes the calls. It is copied; the copy follows no redirects and reads at most 64
	// MiB of an answer. It may be nil.
	HTTPClient *http.Client
	// Headers and Query are added to each call, and replace equal ones. ExtraBody has members that
	// replace those of each request. The values are secret: no error has them.
	Headers, Query map[string]string
	ExtraBody      map[string]json.RawMessage
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

// New returns a Provider. It does not read the environment. Its errors never have the key.
func New(o *Options) (*Provider, error) {
	if o == nil {
		o = &Options{}
	}
	s, err := wire.NewServer(wire.Options{Name: o.Name, BaseURL: o.BaseURL, APIKey: o.APIKey, HTTPClient: o.HTTPClient,
		Extras: wire.Extras{Headers: o.Headers, Query: o.Query, ExtraBody: o.ExtraBody}},
		defaultName, defaultBase, "X-Request-Id", "Request-Id", "Apim-Request-Id")
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
		return nil, fmt.Errorf("openai: unknown API %q (expected: %s or %s)", p.api, llm.APIResponses, llm.APIChat)
	}
	options := serviceOptions(s)
	p.responses = responses.NewResponseService(options...)
	p.chat = openai.NewChatCompletionService(options...)
	return p, nil
}

// serviceOptions returns the options of all calls.
func serviceOptions(s *wire.Server) []option.RequestOption {
	all := []option.RequestOption{option.WithBaseURL(s.BaseURL), option.WithHTTPClient(s.HTTP), option.WithMaxRetries(0)}
	if s.Key != "" {
		all = append(all, option.WithAPIKey(s.Key))
	}
	return all
}

// IsOwn reports whether a base URL is OpenAI's. The empty URL is.
func IsOwn(base string) bool { return base == "" || strings.TrimRight(base, "/") == defaultBase }

// FromEnv returns the provider "openai" for OPENAI_API_KEY and OPENAI_BASE_URL. It returns nil if
// neither is set.
func FromEnv(getenv func(string) string) (*Provider, error) {
	o := wire.FromEnv(getenv, "OPENAI")
	if o == nil {
		return nil, nil
	}
	return New(&Options{APIKey: o.APIKey, BaseURL: o.BaseURL})
}

// Name returns the name of the provider.
func (p *Provider) Name() string { return p.server.Name }

// Close cancels all calls.
func (p *Provider) Close() error { return p.server.Close() }

// Call makes one exchange. See llm.Provider.
func (p *Provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	call := func(ctx context.Context, emit func(llm.Chunk) error) (*llm.Response, error) {
		asked := *req
		asked.API = cmp.Or(req.API, p.api)
		c := wire.NewCleaner(emit, p.thinks(req))
		switch asked.API {
		case llm.APIResponses:
			return c.Finish(p.callResponses(ctx, &asked, c.Emit()))
		case llm.APIChat:
			return c.Finish(p.callChat(ctx, &asked, c.Emit()))
		}
		return nil, p.server.Invalid(fmt.Sprintf("unknown API %q", asked.API))
	}
	return p.server.Call(ctx, req.IdleTimeout, emit, call)
}

// thinks reports whether a leading <think> block is reasoning. The models of OpenAI write none, so
// the default is false for OpenAI's own server.
func (p *Provider) thinks(req *llm.Request) bool {
	if req.ThinkTags != nil {
		return *req.ThinkTags
	}
	return !p.own
}

// options returns the options of one call: the headers, and max_tokens under the model's own name.
// raw receives the answer.
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

// ownParam returns Request.MaxTokensParam if it is not the standard name. A model has one name for
// both APIs, so the standard name of either API counts as standard.
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
