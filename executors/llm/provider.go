package llm

import (
	"context"
	"strings"
	"time"
)

// Provider makes exchanges with the models of one vendor. Its methods are safe for concurrent use.
// It does not retry; a Runtime does.
type Provider interface {
	// Name is the name of the runtime, the part before the colon of a model name.
	Name() string
	// Call makes one exchange. If emit is not nil, the answer is streamed: Call calls emit for each
	// chunk, in order and from one goroutine, and still returns the whole Response. An error of
	// emit ends the call with that error. Otherwise Call fails with a *ProviderError, or with the
	// error of ctx if ctx is done. Chunks may have been emitted before a failure.
	Call(ctx context.Context, req *Request, emit func(Chunk) error) (*Response, error)
	// Close cancels the calls in progress.
	Close() error
}

// Request is one exchange, with parameters that the model accepts.
type Request struct {
	// Model is the vendor's name of the model.
	Model        string        `json:"model"`
	API          API           `json:"api,omitempty"`
	Instructions string        `json:"instructions,omitempty"`
	Messages     []Message     `json:"messages"`
	Tools        []ToolSpec    `json:"tools,omitempty"`
	ToolChoice   ToolChoice    `json:"tool_choice,omitempty"`
	Output       *OutputSchema `json:"output,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Seed         *int64        `json:"seed,omitempty"`
	Parameters
	// MaxTokens limits the output. 0 means the limit of the vendor. MaxTokensParam is the model's
	// name for the parameter; empty means the vendor's usual name.
	MaxTokens      int    `json:"max_tokens,omitempty"`
	MaxTokensParam string `json:"max_tokens_param,omitempty"`
	// ThinkTags means that a <think> block at the beginning of an answer is reasoning. Nil is the
	// default of the provider: true for all servers except those of OpenAI and Anthropic.
	ThinkTags *bool `json:"think_tags,omitempty"`
	// UseInstructions sends Instructions in a field of its own if the API has one. Otherwise they
	// are the first message.
	UseInstructions bool `json:"use_instructions,omitempty"`
	// IdleTimeout limits the time until the first byte of the answer, and between two parts of it. A
	// provider that calls a server ends the call then with CategoryTimeout, and Retryable. 0 is no
	// limit.
	IdleTimeout    time.Duration     `json:"-"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	TraceID        string            `json:"trace_id,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
}

// API selects one of several APIs of a vendor.
type API string

// The APIs of OpenAI. Empty is the default of the vendor.
const (
	APIResponses API = "responses"
	APIChat      API = "chat" // chat completions, which compatible servers support
)

// ToolChoice controls whether the model may call tools.
type ToolChoice string

// The values of ToolChoice.
const (
	ToolsAuto     ToolChoice = "" // the model decides
	ToolsNone     ToolChoice = "none"
	ToolsRequired ToolChoice = "required"
)

// ToolNamed returns the choice of one tool, which the model must call.
func ToolNamed(name string) ToolChoice { return ToolChoice("tool:" + name) }

// Tool returns the name of the tool of a choice by ToolNamed.
func (c ToolChoice) Tool() (name string, ok bool) { return strings.CutPrefix(string(c), "tool:") }

// Parameters are further parameters of a call. A Runtime refuses those that the model does not
// support.
type Parameters struct {
	// ReasoningEffort is one of Efforts, or empty for the default of the model.
	ReasoningEffort string `json:"reasoning_effort,omitempty"`
	// ThinkingTokens is the budget of thoughts, or 0. Only the models of Anthropic have it.
	ThinkingTokens int `json:"thinking_tokens,omitempty"`
	// Stop are the texts at which the model stops. They are not part of the answer.
	Stop []string `json:"stop,omitempty"`
	// ParallelTools is false if the model may call one tool at a time. nil is the default of the
	// model.
	ParallelTools *bool `json:"parallel_tool_calls,omitempty"`
	// PromptCaching marks the stable beginning of the prompt for the cache of Anthropic. nil means
	// that the provider decides.
	PromptCaching *bool `json:"prompt_caching,omitempty"`
}

// Efforts are the values of ReasoningEffort. Not every model has all of them.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Response is the result of an exchange.
type Response struct {
	Text      string     `json:"text,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Refusal is the model's explanation if it refused.
	Refusal string       `json:"refusal,omitempty"`
	Finish  FinishReason `json:"finish"`
	// Usage is nil if the vendor reported none.
	Usage *Usage `json:"usage,omitempty"`
	// Model is the model that answered, as the vendor names it.
	Model string `json:"model,omitempty"`
	// Metadata has the ids of the vendor under MetadataResponseID and MetadataRequestID.
	Metadata map[string]string `json:"metadata,omitempty"`
	Opaque   *Opaque           `json:"opaque,omitempty"`
	// Reasoning is the readable part of the thoughts of the model. It is not part of Text.
	Reasoning string `json:"reasoning,omitempty"`
}

// The members of Response.Metadata.
const (
	MetadataResponseID = "response_id" // the vendor's id of the answer
	MetadataRequestID  = "request_id"  // the vendor's id of the HTTP request
)

// Message returns the Response as a message of the model.
func (r *Response) Message() Message {
	return Message{Role: RoleAssistant, Text: r.Text, ToolCalls: r.ToolCalls, Opaque: r.Opaque}
}

// FinishReason is the reason why a model stopped.
type FinishReason string

// The reasons, common to all vendors.
const (
	FinishStop      FinishReason = "stop"       // the answer is complete
	FinishToolCalls FinishReason = "tool_calls" // the model calls tools
	FinishLength    FinishReason = "length"     // MaxTokens or the context window was reached
	FinishRefusal   FinishReason = "refusal"    // the model or a filter of the vendor refused
	FinishOther     FinishReason = "other"
)

// Chunk is a piece of a stream. Exactly one field is set.
type Chunk struct {
	// Text is a piece of Response.Text, Refusal of Response.Refusal, and Reasoning of
	// Response.Reasoning.
	Text      string
	Refusal   string
	Reasoning string
	// ToolCall is the start of a call (with ID and Name), or a piece of its Arguments.
	ToolCall *ToolCallChunk
}

// ToolCallChunk is a piece of a ToolCall.
// Index is the position of the call in the response, from 0.
type ToolCallChunk struct {
	Index     int
	ID, Name  string
	Arguments string
}

// Usage counts tokens.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	// CacheReadTokens and CacheWriteTokens are part of the prompt, and ReasoningTokens of the
	// completion.
	CacheReadTokens  int64 `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  int64 `json:"reasoning_tokens,omitempty"`
	// Estimated is true if the vendor reported no usage and CountTokens counted it.
	Estimated bool `json:"estimated,omitempty"`
}

// Add adds the counts of v.
func (u *Usage) Add(v Usage) {
	u.PromptTokens += v.PromptTokens
	u.CompletionTokens += v.CompletionTokens
	u.TotalTokens += v.TotalTokens
	u.CacheReadTokens += v.CacheReadTokens
	u.CacheWriteTokens += v.CacheWriteTokens
	u.ReasoningTokens += v.ReasoningTokens
	u.Estimated = u.Estimated || v.Estimated
}
