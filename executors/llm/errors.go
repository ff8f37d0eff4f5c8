package llm

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/parleyhub/parley"
)

// Sentinel errors of a run. They are derived from types and codes, never from the text of a message.
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

// The categories. They are the reasons of failed sessions.
const (
	CategoryAuthentication Category = "auth"            // 401, 403: the key, or what it may do
	CategoryRateLimit      Category = "rate_limit"      // 429: a limit for a short time
	CategoryQuota          Category = "quota"           // 402, or a code: the account has no credit
	CategoryInvalid        Category = "invalid_request" // other 4xx
	CategoryContext        Category = "context_length"  // the prompt does not fit into the model
	CategoryFilter         Category = "content_filter"  // a policy of the vendor refuses the request
	CategoryNotFound       Category = "not_found"       // 404: no such model or address
	CategoryServer         Category = "server_error"    // 5xx, 529
	CategoryTimeout        Category = "timeout"         // 408, 504, or no answer in time
	CategoryNetwork        Category = "network"         // the connection failed, or ended in the middle of a stream
	CategoryMalformed      Category = "malformed"       // an answer that does not have the form of this API
)

// UnmarshalText also reads the names that two categories had in earlier scripts and cassettes.
func (c *Category) UnmarshalText(text []byte) error {
	switch *c = Category(text); *c {
	case "authentication":
		*c = CategoryAuthentication
	case "server":
		*c = CategoryServer
	}
	return nil
}

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
	// Usage is what the vendor reported before the failure, or nil.
	Usage   *Usage
	Message string
	Err     error
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

// Detail returns the status, the code and the text of the vendor for a person, such as "HTTP 429,
// insufficient_quota: You exceeded your current quota". It has no keys, and at most 1,000 bytes.
func (e *ProviderError) Detail() string {
	const most = 1000
	var parts []string
	if e.Status != 0 {
		parts = append(parts, fmt.Sprintf("HTTP %d", e.Status))
	}
	if e.Code != "" {
		parts = append(parts, e.Code)
	}
	s := strings.Join(parts, ", ")
	switch text := strings.Join(strings.Fields(e.Message), " "); {
	case text == "":
	case s == "":
		s = text
	default:
		s += ": " + text
	}
	s = strings.ToValidUTF8(HideKeys(s), "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " [cut]"
	}
	return s
}

// keys matches texts that look like a key: those with the prefix of a vendor, those after the name
// of a header or parameter for keys, and JSON Web Tokens.
var keys = regexp.MustCompile(`\b(?:sk|pk|rk|gsk|xai|hf|nvapi|ghp|gho)[-_][A-Za-z0-9_-]{6,}|\bAIza[A-Za-z0-9_-]{20,}|` +
	`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]+|` +
	`(?i:\b(?:bearer|basic) +[A-Za-z0-9._~+/=-]{8,}|` +
	`\b(?:api[-_ ]?key|access[-_]?token|secret|password|authorization)["']?\s*[:=]\s*["']?[^\s"',;&]{4,}|` +
	`[?&](?:key|api[-_]?key|token|sig)=[^&\s"']+)`)

// HideKeys replaces texts that look like a key. A provider also removes its own key.
func HideKeys(s string) string { return keys.ReplaceAllString(s, "[key]") }

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
