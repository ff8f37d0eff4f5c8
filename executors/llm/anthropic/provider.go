package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
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
	// Headers and Query are added to each call, and replace equal ones. ExtraBody has members that
	// replace those of each request. The values are secret: no error has them.
	Headers, Query map[string]string
	ExtraBody      map[string]json.RawMessage
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
	s, err := wire.NewServer(wire.Options{Name: o.Name, BaseURL: o.BaseURL, APIKey: o.APIKey, HTTPClient: o.HTTPClient,
		Extras: wire.Extras{Headers: o.Headers, Query: o.Query, ExtraBody: o.ExtraBody}},
		defaultName, defaultBase, "Request-Id", "X-Request-Id", "Apim-Request-Id")
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
	return New(&Options{APIKey: o.APIKey, BaseURL: o.BaseURL})
}

// Name returns the name of the provider.
func (p *Provider) Name() string { return p.server.Name }

// Close cancels all calls.
func (p *Provider) Close() error { return p.server.Close() }

// Call makes one exchange. See llm.Provider.
func (p *Provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	call := func(ctx context.Context, emit func(llm.Chunk) error) (*llm.Response, error) {
		c := wire.NewCleaner(emit, p.thinks(req))
		return c.Finish(p.call(ctx, req, c.Emit()))
	}
	return p.server.Call(ctx, req.IdleTimeout, emit, call)
}

// thinks reports whether a leading <think> block is reasoning. The models of Anthropic write none,
// so the default is false for Anthropic's own server.
func (p *Provider) thinks(req *llm.Request) bool {
	if req.ThinkTags != nil {
		return *req.ThinkTags
	}
	return !p.isOwn()
}

// isOwn reports whether the server is Anthropic's.
func (p *Provider) isOwn() bool { return strings.TrimRight(p.server.BaseURL, "/") == defaultBase }

// maxPauses limits the requests that continue one paused turn.
const maxPauses = 16

// call makes the request. If the vendor pauses the turn, call sends the content back, and the answer
// continues.
func (p *Provider) call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	params, err := p.params(req)
	if err != nil {
		return nil, err
	}
	r, err := p.exchange(ctx, req, params, emit)
	for n := 1; err == nil && r.Finish == finishPause; n++ {
		var paused []anthropic.ContentBlockParamUnion
		if m := r.Message(); r.Opaque != nil {
			paused = p.ownBlocks(withoutFinalSpace(m))
		}
		if n > maxPauses || len(paused) == 0 {
			r.Finish = llm.FinishOther
			break
		}
		continued := *params
		continued.Messages = append(slices.Clone(params.Messages), anthropic.NewAssistantMessage(paused...))
		again := *req
		if again.IdempotencyKey != "" {
			again.IdempotencyKey += "." + strconv.Itoa(n)
		}
		var next *llm.Response
		if next, err = p.exchange(ctx, &again, &continued, emit); err != nil {
			return nil, wire.WithUsage(err, r.Usage)
		}
		r, err = p.joinTurns(r, next)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// withoutFinalSpace returns a message whose last block has no space at its end. The vendor refuses
// such space at the end of a request.
func withoutFinalSpace(m llm.Message) *llm.Message {
	var blocks []json.RawMessage
	if json.Unmarshal(m.Opaque.Data, &blocks) != nil || len(blocks) == 0 {
		return &m
	}
	last := &blocks[len(blocks)-1]
	b := wire.Members(*last)
	if wire.Text(b["type"]) != "text" {
		return &m
	}
	*last = wire.WithMembers(*last, b, map[string]any{"text": strings.TrimRight(wire.Text(b["text"]), " \t\r\n")})
	data, err := json.Marshal(blocks)
	if err != nil {
		return &m
	}
	m.Opaque = &llm.Opaque{Provider: m.Opaque.Provider, Data: data}
	return &m
}

// joinTurns returns the answer of a paused turn and of its continuation.
func (p *Provider) joinTurns(paused, next *llm.Response) (*llm.Response, error) {
	var blocks, more []json.RawMessage
	if err := json.Unmarshal(paused.Opaque.Data, &blocks); err != nil {
		return nil, err
	}
	switch {
	case next.Opaque != nil:
		if err := json.Unmarshal(next.Opaque.Data, &more); err != nil {
			return nil, err
		}
	default:
		m := next.Message()
		for _, b := range p.message(&m).Content {
			raw, err := json.Marshal(b)
			if err != nil {
				return nil, err
			}
			more = append(more, raw)
		}
	}
	data, err := json.Marshal(append(blocks, more...))
	if err != nil {
		return nil, err
	}
	joined := *next
	joined.Text, joined.Reasoning = paused.Text+next.Text, paused.Reasoning+next.Reasoning
	joined.Opaque = &llm.Opaque{Provider: p.server.Name, Data: data}
	if paused.Usage != nil && next.Usage != nil {
		sum := *paused.Usage
		sum.Add(*next.Usage)
		joined.Usage = &sum
	}
	return &joined, nil
}

// exchange makes one request.
func (p *Provider) exchange(ctx context.Context, req *llm.Request, params *anthropic.MessageNewParams,
	emit func(llm.Chunk) error) (*llm.Response, error) {
	options, err := p.options(req)
	if err != nil {
		return nil, err
	}
	stream := emit != nil
	if !stream { // the answer may exceed the timeout of the SDK
		_, long := anthropic.CalculateNonStreamingTimeout(int(params.MaxTokens), params.Model, nil)
		stream = long != nil
	}
	res, err := p.send(ctx, params, options, stream)
	if err != nil || res == nil || res.StatusCode != http.StatusOK {
		return nil, p.server.Answered(res, err)
	}
	return p.server.Read(res, emit,
		func(emit func(llm.Chunk) error) (*llm.Response, error) { return p.stream(res, req, emit) },
		func(raw []byte) (*llm.Response, error) { return p.whole(res, req, raw) })
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
