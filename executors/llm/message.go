package llm

import "encoding/json"

// Role says whose words a message has.
type Role string

// The roles. Instructions are no message: see Request.
const (
	RoleUser      Role = "user"      // what the model is told
	RoleAssistant Role = "assistant" // what the model has said
	RoleTool      Role = "tool"      // what its tools have given
)

// Message is one message of an exchange with a model.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// ToolCalls are in messages of the model.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Results answer all ToolCalls of the message before, in their order.
	Results []ToolResult `json:"results,omitempty"`
	// Opaque is the provider's own form of a message of the model, with what only it reads, as thoughts that are signed. It goes back as it is to a provider of the same name.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Opaque is something that only the provider of a name reads.
type Opaque struct {
	Provider string          `json:"provider"`
	Data     json.RawMessage `json:"data"`
}

// ToolCall is a tool that the model wants to be called.
type ToolCall struct {
	// ID is the provider's; where that gives none the Runtime makes one that is the only one of its response.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are what the model wrote, which need not be JSON; empty where it wrote nothing.
	Arguments string `json:"arguments"`
}

// ToolResult is what came of a ToolCall.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

// ToolSpec is a tool as the model sees it.
type ToolSpec struct {
	// Name is 1 to 64 of A-Z a-z 0-9 _ -.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is a JSON Schema of an object.
	Parameters json.RawMessage `json:"parameters"`
}

// OutputSchema is a JSON Schema that the answer is to match.
type OutputSchema struct {
	// Name is like that of a tool.
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	// Strict asks the vendor to hold the model to it. A Runtime sets it only where the model can.
	Strict bool `json:"strict,omitempty"`
}
