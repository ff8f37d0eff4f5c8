package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// Sentinels of what a run may end with. Each is told by type and status, never by words in a message.
var (
	// ErrProvider is a *ProviderError.
	ErrProvider = errors.New("provider_error")
	// ErrSchema is a *SchemaError.
	ErrSchema = errors.New("schema_error")
	// ErrBudget is a *BudgetError.
	ErrBudget = errors.New("budget_exceeded")
	// ErrTool is an error of a tool; what a tool answers is no error.
	ErrTool = errors.New("tool_error")
	// ErrUnknownRuntime and ErrUnknownTool are names that nobody has registered.
	ErrUnknownRuntime = errors.New("unknown_runtime")
	ErrUnknownTool    = errors.New("unknown_tool")
)

// Category says what kind of fault a ProviderError is.
type Category string

// The categories.
const (
	CategoryAuthentication Category = "authentication" // 401, 403
	CategoryRateLimit      Category = "rate_limit"     // 429
	CategoryInvalid        Category = "invalid_request"
	CategoryNotFound       Category = "not_found"
	CategoryServer         Category = "server"    // 5xx, 529
	CategoryTimeout        Category = "timeout"   // 408, or no answer in time
	CategoryNetwork        Category = "network"   // the connection failed, or ended in the middle of a stream
	CategoryMalformed      Category = "malformed" // an answer that is none of this API
)

// ProviderError is a call of a vendor that has failed.
type ProviderError struct {
	Provider string
	Category Category
	// Status is the HTTP status; 0 where there was none.
	Status int
	// Code is the vendor's own name for it, where it has one.
	Code string
	// RequestID is the vendor's, where it has told one.
	RequestID string
	Retryable bool
	// RetryAfter is how long the vendor wants nobody to call; 0 where it has not said.
	RetryAfter time.Duration
	Message    string
	Err        error
}

func (e *ProviderError) Error() string {
	s := e.Provider + ": " + string(e.Category)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Unwrap gives ErrProvider and the cause.
func (e *ProviderError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrProvider}
	}
	return []error{ErrProvider, e.Err}
}

// SchemaError is an answer that does not match the output_schema, or is no JSON.
type SchemaError struct {
	// Faults have the path in the answer and in the schema.
	Faults []parley.ValidationError
	// Text is the answer.
	Text string
}

func (e *SchemaError) Error() string {
	if len(e.Faults) == 0 {
		return ErrSchema.Error()
	}
	return fmt.Sprintf("%s: %s: %s", ErrSchema, e.Faults[0].Path, e.Faults[0].Message)
}

// Unwrap gives ErrSchema.
func (e *SchemaError) Unwrap() error { return ErrSchema }

// BudgetError is a budget that does not suffice.
type BudgetError struct {
	// What is "tokens", "ms", "max_steps" or "max_tool_calls".
	What        string
	Limit, Used int64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s: %s: %d of %d used", ErrBudget, e.What, e.Used, e.Limit)
}

// Unwrap gives ErrBudget.
func (e *BudgetError) Unwrap() error { return ErrBudget }
