// Package record records the work of a turn of an LLM agent in traces of its conversation: each
// answer of a model, and the start and the end of each tool call. The next attempt reads the traces
// and continues after them. An action is only taken after its trace is durable.
package record

import (
	"encoding/json"

	"github.com/parleyhub/parley/executors/llm"
)

// The kinds of traces.
const (
	KindStep        = "llm_step"         // an answer of a model
	KindToolStarted = "llm_tool_started" // durable before a tool runs
	KindToolResult  = "llm_tool_result"  // the end of a tool call
	KindProgress    = "llm_tool_progress"
	KindPlan        = "llm_plan"
	KindCompacted   = "llm_compacted"
	KindTools       = "llm_tools"       // what the model does not get of its tools
	KindUsage       = "llm_usage"       // of the whole turn, with timings
	KindCallFailed  = "llm_call_failed" // a call of a model without an answer

	KindServerMissing = "llm_server_missing" // an optional MCP server that cannot be reached
)

// Phase is the purpose of a model call.
type Phase string

// The phases of a turn.
const (
	PhasePlan    Phase = "plan"
	PhaseExecute Phase = "execute"
	PhaseCompact Phase = "compact"
	PhaseRepair  Phase = "repair" // with the errors of the first answer
)

// Step is one answer of a model.
type Step struct {
	Phase Phase `json:"phase"`
	// Number counts the steps of a phase from 1. InputHash identifies the request. A changed
	// request does not match the step.
	Number    int    `json:"step"`
	InputHash string `json:"input_hash"`
	Model     string `json:"model"`
	// Provider is the name of the runtime. ConfigHash is the parley.AgentConfigHash of the agent
	// config, or of that of the children.
	Provider   string           `json:"provider,omitempty"`
	ConfigHash string           `json:"config_sha256,omitempty"`
	Message    llm.Message      `json:"message"`
	Refusal    string           `json:"refusal,omitempty"`
	Finish     llm.FinishReason `json:"finish"`
	Status     llm.Status       `json:"status"`
	Usage      llm.Usage        `json:"usage"`
	CostUSD    *float64         `json:"cost_usd,omitempty"`
	// FirstTokenMs, ElapsedMs, Chunks and Retries are the timings of the call.
	FirstTokenMs float64 `json:"ttft_ms,omitempty"`
	ElapsedMs    float64 `json:"elapsed_ms"`
	Chunks       int     `json:"chunks,omitempty"`
	Retries      int     `json:"retries,omitempty"`
	// ResponseID and RequestID are the ids of the vendor.
	ResponseID string `json:"response_id,omitempty"`
	RequestID  string `json:"request_id,omitempty"`
	// Truncated is true if the text was too large for a trace. It then ends with CutMark.
	Truncated bool `json:"truncated,omitempty"`
}

// CallFailed is an exchange with a model that failed, after all its retries. Its usage counts.
type CallFailed struct {
	Phase Phase `json:"phase"`
	// Number and InputHash are those of the step without an answer.
	Number    int    `json:"step"`
	InputHash string `json:"input_hash"`
	// Model is the name of the model with its runtime.
	Model string `json:"model"`
	// Category is the kind of failure. Status, Code and RequestID are those of the vendor, and Error
	// is its text without keys.
	Category  llm.Category `json:"category"`
	Status    int          `json:"status,omitempty"`
	Code      string       `json:"code,omitempty"`
	RequestID string       `json:"request_id,omitempty"`
	Error     string       `json:"error"`
	// RetryAtMs is the time in Unix milliseconds before which the vendor wants no other call, or 0.
	RetryAtMs int64     `json:"retry_at_ms,omitempty"`
	Usage     llm.Usage `json:"usage"`
	CostUSD   *float64  `json:"cost_usd,omitempty"`
	ElapsedMs float64   `json:"elapsed_ms"`
	Chunks    int       `json:"chunks,omitempty"`
	Retries   int       `json:"retries,omitempty"`
	// Fallback is the model that is asked next, if there is one.
	Fallback string `json:"fallback,omitempty"`
}

// ToolStarted is the start of a tool call.
type ToolStarted struct {
	// Key is the same in every attempt of the turn. It consists of the phase, the step, and the
	// position of the call in the step.
	Key    string `json:"key"`
	Phase  Phase  `json:"phase"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Arguments are passed to the tool. InjectedArgs were removed from the call.
	Arguments    json.RawMessage `json:"arguments"`
	InjectedArgs json.RawMessage `json:"injected_args,omitempty"`
	ApprovalID   string          `json:"approval_id,omitempty"`
}

// ToolEnded is the end of a tool call.
type ToolEnded struct {
	Key    string `json:"key"`
	Phase  Phase  `json:"phase"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Text is the result that the model reads. Success, Error and DurationMs are members of the
	// trace as in seed 002.
	Text string `json:"text"`
	// Files are the images of the result. They are files of the conversation.
	Files      []llm.File `json:"files,omitempty"`
	Success    bool       `json:"success"`
	Error      string     `json:"error,omitempty"`
	DurationMs float64    `json:"duration_ms"`
	Metadata   Metadata   `json:"metadata"`
}

// Metadata is the record of a tool call in seed 002, section 7.
type Metadata struct {
	Status MetadataStatus `json:"status"`
	// StartedAt and CompletedAt are Unix time in seconds.
	StartedAt           float64         `json:"started_at"`
	CompletedAt         float64         `json:"completed_at"`
	ExecutionTimeMs     float64         `json:"execution_time_ms"`
	ApprovalStatus      ApprovalStatus  `json:"approval_status"`
	ApprovalID          *string         `json:"approval_id"`
	InjectedArgs        json.RawMessage `json:"injected_args"`
	OffloadedArtifactID *string         `json:"offloaded_artifact_id"`
}

// MetadataStatus is the final status of a tool call.
type MetadataStatus string

// The values of MetadataStatus are those of seed 002, section 7. In addition, interrupted means
// that an earlier attempt started the tool and its end is unknown.
const (
	ToolSuccess     MetadataStatus = "success"
	ToolError       MetadataStatus = "error"
	ToolRejected    MetadataStatus = "rejected"
	ToolTimedOut    MetadataStatus = "timed_out"
	ToolInterrupted MetadataStatus = "interrupted"
)

// ApprovalStatus is the final status of the approval of a tool call.
type ApprovalStatus string

// The values of ApprovalStatus.
const (
	NotRequired ApprovalStatus = "not_required"
	Approved    ApprovalStatus = "approved"
	Rejected    ApprovalStatus = "rejected"
	TimedOut    ApprovalStatus = "timed_out"
)
