package a2a

// The extensions by which metadata of tasks, messages and updates is named.
const (
	extensions = "https://github.com/parleyhub/parley/a2a/"
	// CursorExtension names {"seq": n}: how far in the log of the conversation a task or an update is.
	CursorExtension = extensions + "cursor/v1"
	// AuthorExtension names {"participant": id, "seq": n}: who has said a message.
	AuthorExtension = extensions + "author/v1"
	// TraceExtension names the payload of a trace. Traces are sent to who asks for this extension and may see them.
	TraceExtension = extensions + "trace/v1"
)

// payloadKey is the member of a message's payload that this package keeps what has no other place in: see payload.
const payloadKey = "a2a"

// payload is that member. What a caller sends has messageId always; participants may give state, parts, artifact and message.
type payload struct {
	// MessageID, TaskID, Metadata, Extensions and ReferenceTasks are as the caller gave them. A message without TaskID begins a task.
	MessageID      string         `json:"messageId,omitempty"`
	TaskID         string         `json:"taskId,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	Extensions     []string       `json:"extensions,omitempty"`
	ReferenceTasks []string       `json:"referenceTaskIds,omitempty"`
	// AcceptedOutputModes are those of the request.
	AcceptedOutputModes []string `json:"acceptedOutputModes,omitempty"`
	// Parts are the parts of the message in the order of A2A, where text, data and attachments of the payload do not give them back: see parts.go.
	Parts []part `json:"parts,omitempty"`
	// State is what a participant says that the task is now: input-required, auth-required, rejected, failed or completed.
	State string `json:"state,omitempty"`
	// Message answers with a message and no task, where that is still possible: to SendMessage, and as the first of a stream.
	Message bool `json:"message,omitempty"`
}

// tagInputRequired on a message says, without a word of A2A, that its author asks the caller for something and that the task goes on with the answer.
const tagInputRequired = "input_required"
