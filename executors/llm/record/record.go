// Package record keeps what a turn of an LLM agent does, in traces of its conversation, so that the next attempt of the turn goes on where this one was killed: each answer of a
// model, each tool before it runs and after. What is not in the log has not happened.
package record

import (
	"encoding/json"

	"github.com/parleyhub/parley/executors/llm"
)

// The kinds of traces.
const (
	KindStep        = "llm_step"         // an answer of a model
	KindToolStarted = "llm_tool_started" // durable before a tool runs
	KindToolResult  = "llm_tool_result"  // what came of it
	KindProgress    = "llm_tool_progress"
	KindPlan        = "llm_plan"
	KindCompacted   = "llm_compacted"
	KindUsage       = "llm_usage" // of the whole turn, with timings
)

// Phase says what a model is asked for.
type Phase string

// The phases of a turn.
const (
	PhasePlan    Phase = "plan"
	PhaseExecute Phase = "execute"
	PhaseCompact Phase = "compact"
	PhaseRepair  Phase = "repair" // once more, with what was wrong with the answer
)

// Step is one answer of a model.
type Step struct {
	Phase Phase `json:"phase"`
	// Number counts the steps of a phase from 1. InputHash is of what the model was asked: another question has no answer yet.
	Number    int    `json:"step"`
	InputHash string `json:"input_hash"`
	Model     string `json:"model"`
	// Provider is the runtime that was asked, and ConfigHash says with which agent config: parley.AgentConfigHash of it, or of that of the children where this is one.
	Provider   string           `json:"provider,omitempty"`
	ConfigHash string           `json:"config_sha256,omitempty"`
	Message    llm.Message      `json:"message"`
	Refusal    string           `json:"refusal,omitempty"`
	Finish     llm.FinishReason `json:"finish"`
	Status     llm.Status       `json:"status"`
	Usage      llm.Usage        `json:"usage"`
	CostUSD    *float64         `json:"cost_usd,omitempty"`
	// FirstTokenMs, ElapsedMs, Chunks and Retries are its timings.
	FirstTokenMs float64 `json:"ttft_ms,omitempty"`
	ElapsedMs    float64 `json:"elapsed_ms"`
	Chunks       int     `json:"chunks,omitempty"`
	Retries      int     `json:"retries,omitempty"`
	// Truncated is true where the text was too large for a trace: it ends with CutMark.
	Truncated bool `json:"truncated,omitempty"`
}

// ToolStarted says that a tool runs.
type ToolStarted struct {
	// Key is the tool's in this turn, the same in every attempt: phase, step, and place among the calls of the step.
	Key    string `json:"key"`
	Phase  Phase  `json:"phase"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Arguments are what the tool gets, and InjectedArgs what it does not.
	Arguments    json.RawMessage `json:"arguments"`
	InjectedArgs json.RawMessage `json:"injected_args,omitempty"`
	ApprovalID   string          `json:"approval_id,omitempty"`
}

// ToolEnded is what came of a tool.
type ToolEnded struct {
	Key    string `json:"key"`
	Phase  Phase  `json:"phase"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Text is what the model reads. Success, Error and DurationMs stand beside Metadata as seed 002 keeps them.
	Text       string   `json:"text"`
	Success    bool     `json:"success"`
	Error      string   `json:"error,omitempty"`
	DurationMs float64  `json:"duration_ms"`
	Metadata   Metadata `json:"metadata"`
}

// Metadata is the record of a tool's run: seed 002, section 7.
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

// MetadataStatus is how a tool has ended.
type MetadataStatus string

// The values of MetadataStatus: seed 002, section 7, and interrupted, for a tool that an earlier attempt has started and of which nobody knows the end.
const (
	ToolSuccess     MetadataStatus = "success"
	ToolError       MetadataStatus = "error"
	ToolRejected    MetadataStatus = "rejected"
	ToolTimedOut    MetadataStatus = "timed_out"
	ToolInterrupted MetadataStatus = "interrupted"
)

// ApprovalStatus is how the approval of a tool has ended.
type ApprovalStatus string

// The values of ApprovalStatus.
const (
	NotRequired ApprovalStatus = "not_required"
	Approved    ApprovalStatus = "approved"
	Rejected    ApprovalStatus = "rejected"
	TimedOut    ApprovalStatus = "timed_out"
)
