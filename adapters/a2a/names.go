package a2a

// The extensions that name metadata of tasks, messages and updates.
const (
	extensions = "https://github.com/parleyhub/parley/a2a/"
	// CursorExtension has {"seq": n}: the position of a task or an update in the log.
	CursorExtension = extensions + "cursor/v1"
	// AuthorExtension has {"participant": id, "seq": n}: the author of a message.
	AuthorExtension = extensions + "author/v1"
	// TraceExtension has the payload of a trace. Traces are sent to callers that activate this
	// extension and may see them.
	TraceExtension = extensions + "trace/v1"
)

// payloadKey is the member of a message payload with the data of this package: see payload.
const payloadKey = "a2a"

// payload is that member. Messages of callers always have messageId. Participants may set state,
// parts and message.
type payload struct {
	// MessageID, TaskID, Metadata, Extensions and ReferenceTasks are as the caller sent them. A
	// message without TaskID begins a task.
	MessageID      string         `json:"messageId,omitempty"`
	TaskID         string         `json:"taskId,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	Extensions     []string       `json:"extensions,omitempty"`
	ReferenceTasks []string       `json:"referenceTaskIds,omitempty"`
	// AcceptedOutputModes are those of the request.
	AcceptedOutputModes []string `json:"acceptedOutputModes,omitempty"`
	// Parts are the parts of the message in the order of A2A, if they cannot be derived from text,
	// data and attachments of the payload: see parts.go.
	Parts []part `json:"parts,omitempty"`
	// State is the task state that a participant names: input-required, auth-required, rejected,
	// failed or completed.
	State string `json:"state,omitempty"`
	// Message asks to answer with a message instead of a task, if that is still possible: to
	// SendMessage, and as the first event of a stream.
	Message bool `json:"message,omitempty"`
}

// tagInputRequired on a message means that its author asks the caller for something, and that the
// task continues with the answer. It serves agents that do not know A2A.
const tagInputRequired = "input_required"
