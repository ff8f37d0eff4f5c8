package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// Sentinel errors of a run. They are derived from types and status codes, never from the text of a
// message.
var (
	// ErrProvider matches every *ProviderError.
	ErrProvider = errors.New("provider_error")
	// ErrSchema matches every *SchemaError.
	ErrSchema = errors.New("schema_error")
	// ErrBudget matches every *BudgetError.
	ErrBudget = errors.New("budget_exceeded")
	// ErrTool is a failure of a tool. An error result that a tool returns to the model is not one.
	ErrTool = errors.New("tool_error")
	// ErrUnknownRuntime and ErrUnknownTool report names that are not registered.
	ErrUnknownRuntime = errors.New("unknown_runtime")
	ErrUnknownTool    = errors.New("unknown_tool")
)

// Category is the kind of failure of a ProviderError.
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
	CategoryMalformed      Category = "malformed" // an answer that does not have the form of this API
)

// ProviderError is a failed call to a vendor.
type ProviderError struct {
	Provider string
	Category Category
	// Status is the HTTP status, or 0 if there was no response.
	Status int
	// Code is the error code of the vendor, if it sent one.
	Code string
	// RequestID is the request id of the vendor, if it sent one.
	RequestID string
	Retryable bool
	// RetryAfter is the pause that the vendor asks for, or 0.
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

// Unwrap returns ErrProvider and the cause.
func (e *ProviderError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrProvider}
	}
	return []error{ErrProvider, e.Err}
}

// SchemaError reports an answer that is not JSON or does not match the output_schema.
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

// Unwrap returns ErrSchema.
func (e *SchemaError) Unwrap() error { return ErrSchema }

// BudgetError reports that a run exceeds its budget.
type BudgetError struct {
	// What is "tokens", "ms", "max_steps" or "max_tool_calls".
	What        string
	Limit, Used int64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s: %s: %d of %d used", ErrBudget, e.What, e.Used, e.Limit)
}

// Unwrap returns ErrBudget.
func (e *BudgetError) Unwrap() error { return ErrBudget }
