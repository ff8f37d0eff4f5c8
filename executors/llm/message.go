package llm

import "encoding/json"

// Role is the author of a message.
type Role string

// The roles. Instructions are not a message; see Request.
const (
	RoleUser      Role = "user"      // input for the model
	RoleAssistant Role = "assistant" // output of the model
	RoleTool      Role = "tool"      // results of tools
)

// Message is one message of an exchange with a model.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Files follow the text of a message with RoleUser.
	Files []File `json:"files,omitempty"`
	// ToolCalls are set in messages of the model.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Results answer all ToolCalls of the message before, in the same order.
	Results []ToolResult `json:"results,omitempty"`
	// Opaque has the parts of a message of the model that the other fields do not have, for example
	// signed thoughts and unknown members. They are sent back unchanged, and only to a provider of
	// the same name.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Opaque is data that only the named provider can read.
type Opaque struct {
	Provider string          `json:"provider"`
	Data     json.RawMessage `json:"data"`
}

// ToolCall is a call of a tool that the model requests.
type ToolCall struct {
	// ID is the id of the vendor. If the vendor sends none, the Runtime creates one that is unique
	// in its response.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the text that the model wrote. It need not be JSON, and may be empty.
	Arguments string `json:"arguments"`
}

// ToolResult is the result of a ToolCall.
type ToolResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	// Files follow the text.
	Files   []File `json:"files,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
}

// ToolSpec describes a tool to the model.
type ToolSpec struct {
	// Name has 1 to 64 characters of A-Z a-z 0-9 _ -.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is a JSON Schema of an object.
	Parameters json.RawMessage `json:"parameters"`
}

// OutputSchema is the JSON Schema of the answer.
type OutputSchema struct {
	// Name follows the rule of ToolSpec.Name.
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	// Strict asks the vendor to enforce the schema. A Runtime sets it only if the model supports
	// it.
	Strict bool `json:"strict,omitempty"`
}
