package llm

import (
	"encoding/json"
	"time"

	"github.com/parleyhub/parley"
)

// Definition is the part of an agent that a model sees.
type Definition struct {
	// Model is the vendor's name of the model, without the name of the runtime.
	Model        string
	Instructions string
	// UserTemplate is the template of the first message, filled with the variables of a run. If it
	// is empty, only Input.Messages are sent.
	UserTemplate string
	Tools        []ToolSpec
	// OutputSchema is the JSON Schema of the answer. If it is nil, the answer is text.
	OutputSchema json.RawMessage
	Temperature  *float64
	TopP         *float64
	MaxTokens    int
	Parameters
}

// Options are the run options of seed 003. Nil and the zero value are ready to use.
type Options struct {
	// Deterministic sets the temperature to 0 and top_p to 1 if the model accepts them. Seed is
	// sent to models that accept one.
	Deterministic bool
	Seed          *int64
	// Lax never asks the vendor to enforce the output_schema. The answer is checked after the call.
	Lax                      bool
	ResponsesUseInstructions bool
	Budget                   Budget
	// IdempotencyKey, TraceID and Metadata are sent if the vendor accepts them. Metadata has the
	// limits of OpenAI: at most 16 names of 1 to 64 characters, with values of at most 512.
	IdempotencyKey string
	TraceID        string
	Metadata       map[string]string
	// MaxRetries is the number of retries after errors that are retryable, with the pauses of
	// Retry. MaxToolCalls limits the tool calls of one response; 0 means no limit. A response with
	// more calls is a *BudgetError. With Budget.Partial it is a partial result with the first
	// calls.
	MaxRetries   int
	MaxToolCalls int
	ToolChoice   ToolChoice
	Retry        Retry
	// IdleTimeout limits the time until the first byte of an answer, and between two parts of it.
	// Every byte of the server counts, including comments and pings, because models that think for
	// long send nothing else. 0 means DefaultIdleTimeout for a stream, and no limit otherwise.
	// RequestTimeout limits each whole call; 0 means DefaultRequestTimeout. A call that exceeds a
	// limit fails with CategoryTimeout and is retried.
	IdleTimeout    time.Duration
	RequestTimeout time.Duration
	Streaming      StreamingOptions
	// Meter counts the run. It may be nil.
	Meter *Meter
	// Attributes are added to the span of the run.
	Attributes []parley.Attribute
}

// Budget limits a run. The zero value is no limit.
type Budget struct {
	// Tokens limits the sum of prompt and completion tokens, including broken streams that were
	// retried. The prompt is estimated before the call, and the rest of the budget limits the
	// answer. Streams are counted as they arrive, other answers by the usage that the vendor
	// reports. Time limits the whole run, including retries and pauses.
	Tokens int64
	Time   time.Duration
	// Partial ends a run over budget with a partial result instead of ErrBudget: the text of a
	// stream so far, or an answer that was too long. Without any text it is ErrBudget all the same.
	// A partial result has no JSON, and no tool calls except those within MaxToolCalls.
	Partial bool
}

// Retry sets the pauses between calls. They grow from Min to Max with jitter, and are at least as
// long as the vendor asks for. Zero values mean 500 ms and 20 s. The run fails at once if a pause
// would exceed the deadline of the context or Budget.Time, or if the vendor asks for more than
// MaxRetryAfter.
type Retry struct{ Min, Max time.Duration }

// StreamingOptions are the options of RunStream.
type StreamingOptions struct {
	// Every is how long text is collected before it is sent. 0 sends each piece at once.
	Every time.Duration
}

// Input is the input of one run.
type Input struct {
	// Variables fill Definition.UserTemplate.
	Variables map[string]any
	// Messages follow the message of the template.
	Messages []Message
}

// Status reports whether a Result is complete.
type Status string

// The values of Status.
const (
	StatusComplete Status = "complete"
	StatusPartial  Status = "partial" // the budget was exceeded
)

// Result is the result of a run, the AgentRunResult of seed 003.
type Result struct {
	// Content is the text of the answer. If there is an OutputSchema, JSON is the answer that
	// matches it.
	Content   string
	JSON      json.RawMessage
	ToolCalls []ToolCall
	Refusal   string
	// Reasoning is the readable part of the thoughts of the model. It is not part of Content.
	Reasoning string
	Status    Status
	Finish    FinishReason
	// Usage is the sum of all attempts. It is estimated if a broken stream was retried.
	Usage Usage
	// Model is the model that answered, as the vendor names it.
	Model            string
	Elapsed          time.Duration
	Timings          Timings
	ProviderMetadata map[string]string
	TraceID          string
	// CostUSD is nil if no price is configured.
	CostUSD *float64
	// Message is the answer for Input.Messages of the next run.
	Message Message
}

// Timings are the timings of one run.
type Timings struct {
	// FirstToken is the time until the first chunk. It is 0 without a stream.
	FirstToken time.Duration
	Chunks     int
	Retries    int
}
