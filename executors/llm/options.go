package llm

import (
	"encoding/json"
	"time"

	"github.com/parleyhub/parley"
)

// Definition is what an agent is to a model.
type Definition struct {
	// Model is what the vendor calls it: without the name of the runtime.
	Model        string
	Instructions string
	// UserTemplate makes the first message of the variables of a run; empty, there is none besides Input.Messages.
	UserTemplate string
	Tools        []ToolSpec
	// OutputSchema is a JSON Schema of the answer; nil, it is text.
	OutputSchema json.RawMessage
	Temperature  *float64
	TopP         *float64
	MaxTokens    int
}

// Options are the run options of seed 003. Nil and the zero value are useful.
type Options struct {
	// Deterministic sets the temperature to 0 and top_p to 1 where the model takes them, and Seed goes to models that take one.
	Deterministic bool
	Seed          *int64
	// Lax leaves the output_schema to the check afterwards, also where the model could be held to it.
	Lax                      bool
	ResponsesUseInstructions bool
	Budget                   Budget
	// IdempotencyKey goes with the call where the vendor takes one; TraceID and Metadata likewise.
	// Metadata has at most 16 names of 1 to 64 characters, with values of at most 512, as OpenAI takes them.
	IdempotencyKey string
	TraceID        string
	Metadata       map[string]string
	// MaxRetries is how often a call that may succeed later is made again; Retry pauses between. MaxToolCalls bounds the calls that are taken of one response; 0, all. A response with more
	// is a *BudgetError, or with Budget.Partial a partial result with the first of them.
	MaxRetries   int
	MaxToolCalls int
	ToolChoice   ToolChoice
	Retry        Retry
	Streaming    StreamingOptions
	// Meter counts the run; nil, nobody does.
	Meter *Meter
	// Attributes are told of the span of the run, besides its own.
	Attributes []parley.Attribute
}

// Budget bounds a run. The zero value does not.
type Budget struct {
	// Tokens bounds prompt and completion together, those of streams that broke off and were retried too. The prompt is estimated before there is a call; what is left bounds what the model says. A
	// stream is counted as it comes, and a whole answer by what the vendor tells. Time bounds the whole run, retries and pauses too.
	Tokens int64
	Time   time.Duration
	// Partial has a run that passes its budget end with what has come, marked as such, rather than with ErrBudget: the text of a stream, or an answer that was too long. Where no text has
	// come it is ErrBudget all the same. Such a result has no JSON and no calls of tools, but for those that MaxToolCalls leaves.
	Partial bool
}

// Retry are the pauses between calls: jittered, growing from Min to Max, and at least what the vendor asks for. 0, 500 ms and 20 s. A pause that would pass the deadline of the context or
// Budget.Time, or for which the vendor asks more than MaxRetryAfter, is not waited for: the run fails at once.
type Retry struct{ Min, Max time.Duration }

// StreamingOptions are for RunStream.
type StreamingOptions struct {
	// Every gathers text for as long; 0, each is passed on as it comes.
	Every time.Duration
}

// Input is what a prepared run is given.
type Input struct {
	// Variables are for Definition.UserTemplate.
	Variables map[string]any
	// Messages follow what the template gives.
	Messages []Message
}

// Status says how whole a Result is.
type Status string

// The values of Status.
const (
	StatusComplete Status = "complete"
	StatusPartial  Status = "partial" // the budget was over
)

// Result is what a run has brought: seed 003, AgentRunResult.
type Result struct {
	// Content is what was said, and JSON the same where there is an OutputSchema, which it matches.
	Content   string
	JSON      json.RawMessage
	ToolCalls []ToolCall
	Refusal   string
	Status    Status
	Finish    FinishReason
	// Usage is of all attempts: what a stream has come to that broke off and was retried is estimated, and then so is the whole.
	Usage Usage
	// Model is the one that has answered, as the vendor names it.
	Model            string
	Elapsed          time.Duration
	Timings          Timings
	ProviderMetadata map[string]string
	TraceID          string
	// CostUSD is nil where no price is configured.
	CostUSD *float64
	// Message is for Input.Messages of the next run.
	Message Message
}

// Timings are those of one run.
type Timings struct {
	// FirstToken is how long it took until the first chunk; 0 where nothing was streamed.
	FirstToken time.Duration
	Chunks     int
	Retries    int
}
