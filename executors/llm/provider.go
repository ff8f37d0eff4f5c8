package llm

import "context"

// Provider makes exchanges with the models of one vendor. Its methods may be called from any goroutine. It does not retry: a Runtime does.
type Provider interface {
	// Name is that of the runtime, as it stands before the colon of a model name.
	Name() string
	// Call makes one exchange. With emit it is streamed: emit is called for each chunk, in order and from one goroutine, and the Response holds the whole all the same; an error of
	// emit ends the call with that error. It fails with *ProviderError, or with ctx's error when ctx has ended; in both cases chunks may have been emitted before.
	Call(ctx context.Context, req *Request, emit func(Chunk) error) (*Response, error)
	// Close ends what the provider has under way.
	Close() error
}

// Request is one exchange, with parameters that the model takes.
type Request struct {
	// Model is what the vendor calls it.
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
	// MaxTokens bounds what the model says; 0, the vendor's bound, or Capabilities.DefaultMaxTokens where that needs one. MaxTokensParam is the name that the model has for it;
	// empty, the vendor's usual one.
	MaxTokens      int    `json:"max_tokens,omitempty"`
	MaxTokensParam string `json:"max_tokens_param,omitempty"`
	// UseInstructions sends Instructions beside the messages where the API has a place for them; else they are the first message.
	UseInstructions bool              `json:"use_instructions,omitempty"`
	IdempotencyKey  string            `json:"idempotency_key,omitempty"`
	TraceID         string            `json:"trace_id,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
}

// API is one of several ways of a vendor to be asked.
type API string

// The APIs of openai. Absent is the vendor's usual one.
const (
	APIResponses API = "responses"
	APIChat      API = "chat" // chat completions, as compatible servers speak it
)

// ToolChoice says whether the model may call tools.
type ToolChoice string

// The values of ToolChoice.
const (
	ToolsAuto     ToolChoice = "" // as it likes
	ToolsNone     ToolChoice = "none"
	ToolsRequired ToolChoice = "required"
)

// Response is what came of an exchange.
type Response struct {
	Text      string     `json:"text,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Refusal is set where the model has declined, in its words.
	Refusal string       `json:"refusal,omitempty"`
	Finish  FinishReason `json:"finish"`
	// Usage is nil where the vendor has told none.
	Usage *Usage `json:"usage,omitempty"`
	// Model is the one that has answered, as the vendor names it.
	Model string `json:"model,omitempty"`
	// Metadata are ids of the vendor: response_id, request_id and such.
	Metadata map[string]string `json:"metadata,omitempty"`
	Opaque   *Opaque           `json:"opaque,omitempty"`
}

// Message is the Response as a message of the model.
func (r *Response) Message() Message {
	return Message{Role: RoleAssistant, Text: r.Text, ToolCalls: r.ToolCalls, Opaque: r.Opaque}
}

// FinishReason says why a model has stopped.
type FinishReason string

// The reasons, for all vendors.
const (
	FinishStop      FinishReason = "stop"       // it was done
	FinishToolCalls FinishReason = "tool_calls" // it wants tools
	FinishLength    FinishReason = "length"     // MaxTokens or the context was reached
	FinishRefusal   FinishReason = "refusal"    // it, or a filter of the vendor, has declined
	FinishOther     FinishReason = "other"
)

// Chunk is a piece of a stream: exactly one field is set.
type Chunk struct {
	// Text is a piece of Response.Text, and Refusal one of Response.Refusal.
	Text    string
	Refusal string
	// ToolCall is the beginning of a call (ID and Name), or a piece of its Arguments; Index is which call it is, from 0.
	ToolCall *ToolCallChunk
}

// ToolCallChunk is a piece of a ToolCall.
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
	// CacheReadTokens and CacheWriteTokens are of the prompt, and ReasoningTokens of the completion.
	CacheReadTokens  int64 `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  int64 `json:"reasoning_tokens,omitempty"`
	// Estimated is true where the vendor has told none: then they are counted by CountTokens.
	Estimated bool `json:"estimated,omitempty"`
}

// Add adds v.
func (u *Usage) Add(v Usage) {
	u.PromptTokens += v.PromptTokens
	u.CompletionTokens += v.CompletionTokens
	u.TotalTokens += v.TotalTokens
	u.CacheReadTokens += v.CacheReadTokens
	u.CacheWriteTokens += v.CacheWriteTokens
	u.ReasoningTokens += v.ReasoningTokens
	u.Estimated = u.Estimated || v.Estimated
}
